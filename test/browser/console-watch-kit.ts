// Watch kit: a room with a stream, a guest in its video, and a page that plays it.
import assert from 'node:assert/strict';
import type { Browser, Page } from 'playwright-core';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { byId, type ConsolePage, tabTo, tileOf } from './console-kit.ts';
import { openPart } from './console-views.ts';
import { type Guest, hostOn, joinAs, openGuest } from './guest-kit.ts';

/** Starting a composer next to a browser is slow on a busy machine. */
export const timeoutMs = 60_000;
/** Cheap to compose. */
export const small = { width: 320, height: 180, framerate: 15 };

export type Show = {
  url: string;
  api: ReturnType<typeof apiClient>;
  /** Starts a stream. @returns the id of its component */
  stream: () => Promise<string>;
  /** Adds a guest with a camera, who is independent of API tokens. */
  publish: (browser: Browser) => Promise<Guest>;
};

/** Starts a stream by keyboard, and retries while the server rejects it as too busy. */
export async function startByKeys(page: Page): Promise<void> {
  const started = page.locator(byId('watch-not-yet'));
  const refused = page.locator('.not-streamed .problem').filter({ hasText: 'too busy' });
  const start = async () => {
    if ((await started.count()) > 0) return true;
    await tabTo(page, 'start-stream');
    await page.keyboard.press('Enter');
    await started.or(refused).first().waitFor();
    return (await started.count()) > 0;
  };
  await eventually('the node accepts a stream', start, { within: 2 * timeoutMs, every: 1_000 });
}

/** Creates a room named `show` on the node. */
export async function makeShow(node: { url: string }, token = apiToken): Promise<Show> {
  const api = apiClient(node.url, token);
  const hosted = await hostOn(node, api, 'show');
  return {
    url: node.url,
    api,
    stream: async () => {
      const start = async () => {
        const { status, body } = await api.post('/room/show/component', { type: 'hls', options: small });
        if (status === 201) return body.data.id as string;
        // A busy machine rejects a stream until the previous one is finished.
        assert.equal(status, 503, JSON.stringify(body));
        return undefined;
      };
      return eventually('the node accepts a stream', start, { within: timeoutMs, every: 500 });
    },
    publish: async (browser) => {
      const guest = await openGuest(browser, hosted);
      await joinAs(guest.page, 'Ada');
      return guest;
    },
  };
}

export const watch = (browser: Browser, url: string, token = apiToken): Promise<ConsolePage> =>
  openPart(browser, { url, token, hash: '#/watch/show' });

export async function phase(page: Page, name: string): Promise<void> {
  await page.waitForSelector(`${byId('stream')}[data-phase="${name}"]`, { timeout: timeoutMs });
}

/** Resolves when the video of the stream advances and contains the green camera of Chromium. */
export async function plays(page: Page): Promise<void> {
  await phase(page, 'playing');
  // Another stream starts at another time.
  await page.evaluate('delete window.__shown');
  await eventuallyIn(
    page,
    `(() => {
      const video = document.querySelector('${byId('stream-video')}');
      const before = Math.min(window.__shown ?? video.currentTime, video.currentTime);
      window.__shown = before;
      if (video.videoWidth !== ${small.width} || video.currentTime < before + 1) return false;
      const canvas = Object.assign(document.createElement('canvas'), { width: 64, height: 36 });
      const context = canvas.getContext('2d');
      context.drawImage(video, 0, 0, 64, 36);
      const { data } = context.getImageData(0, 0, 64, 36);
      let green = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i + 1] - data[i] > 60) green += 1;
      return green / (data.length / 4) > 0.3;
    })()`,
  );
}

/** Resolves when Ada is visible next to the stream. */
export async function seesAda(page: Page): Promise<void> {
  await page.waitForSelector(`${tileOf('Ada')} ${byId('tile-received')}`, { timeout: timeoutMs });
}
