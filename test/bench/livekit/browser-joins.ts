// LiveKit's unmodified client in Chromium, for the comparison of joins.
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { startBrowser } from '../../kit/browser/browser.ts';
import { makeBundle } from '../../kit/browser/plain-page.ts';
import { eventually } from '../../kit/eventually.ts';
import { type Join, type JoinClients, readyTimeoutMs } from './client-joins.ts';
import { address, type ServerNetwork } from './servers.ts';

/** A secure context, which Playwright serves. */
const origin = 'http://localhost';

/** A page that publishes, and one that joins. */
export async function openBrowserClients(t: TestContext, network: ServerNetwork): Promise<JoinClients> {
  const browser = await startBrowser(t, { wrap: (program) => network.wrap(program) });
  const script = await makeBundle('livekit-page.ts');
  const pages: Page[] = [];
  for (let index = 0; index < 2; index += 1) {
    const page = await browser.newPage(undefined, { permissions: ['local-network-access'] });
    await page.route(`${origin}/**`, (route) => route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }));
    await page.goto(origin);
    await page.addScriptTag({ content: script, type: 'module' });
    pages.push(page);
  }
  const [publisher, receiver] = pages as [Page, Page];
  return { publish: (token) => publish(publisher, token), join: (token) => joinOnce(receiver, token) };
}

async function publish(page: Page, token: string): Promise<void> {
  // The server may still start.
  await eventually('the publisher connects', () => page.evaluate(connectPublisher, [`ws://${address}`, token] as const), {
    within: readyTimeoutMs,
    every: 500,
  });
  await page.evaluate(async () => {
    const local = livekit.rooms.main?.room.localParticipant;
    await local?.publishTrack(kit.pattern('rgb(200, 30, 30)'), { source: livekit.Track.Source.Camera });
    await local?.publishTrack(kit.tone(440), { source: livekit.Track.Source.Microphone, dtx: false });
  });
}

async function connectPublisher([url, token]: readonly [string, string]): Promise<boolean> {
  livekit.rooms.main = new livekit.LiveKitRoom();
  return livekit.rooms.main.room.connect(url, token).then(
    () => true,
    () => false,
  );
}

/** Times since connect() is called: its result, and the first frame that is shown. */
function joinOnce(page: Page, token: string): Promise<Join> {
  return page.evaluate(
    async ([url, signed]) => {
      const { room } = new livekit.LiveKitRoom();
      const shown = Promise.withResolvers<number>();
      const timer = setTimeout(() => shown.reject(new Error('no frame within 15 s')), 15_000);
      const began = performance.now();
      room.on('trackSubscribed', (track) => {
        const [video] = track.attachedElements;
        if (video instanceof HTMLVideoElement) video.requestVideoFrameCallback(() => shown.resolve(performance.now() - began));
      });
      try {
        await room.connect(url, signed);
        const connected = performance.now() - began;
        return { connected, firstFrame: await shown.promise };
      } finally {
        clearTimeout(timer);
        await room.disconnect();
      }
    },
    [`ws://${address}`, token] as const,
  );
}
