// The stream of a room in the console: started there, played with little delay beside the room as it is, honest while there is nothing to play.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { apiClient } from '../kit/api-client.ts';
import { apiToken, startNode } from '../kit/start-node.ts';
import { startTcpProxy } from '../kit/tcp-proxy.ts';
import { byId, comesToHold, enter, launch, openConsole, seeText, tabTo, tileOf } from './console-kit.ts';
import { lookAt, openPart } from './console-views.ts';

/** Starting a composer beside a browser takes its time on a busy machine. */
const patience = 60_000;
const readToken = `read-${apiToken}`;
/** Milliseconds: beyond it would be another time than that of the picture; how fast a machine is decides nothing. */
const latencyBound = 60_000;
const small = { width: 640, height: 360, framerate: 15 };

const watch = (browser: Browser, url: string, token = apiToken) => openPart(browser, { url, token, hash: '#/watch/show' });
const phase = (page: Page, name: string) => page.waitForSelector(`${byId('stream')}[data-phase="${name}"]`, { timeout: patience });

/** Somebody whose camera is in the picture. */
async function publish(browser: Browser, url: string, token = apiToken): Promise<Page> {
  const { page } = await openConsole(browser, `${url}/#/room/show`);
  await page.fill(byId('login-token'), token);
  await page.click(byId('login-submit'));
  await enter(page, 'Ada');
  return page;
}

/** Resolves when the picture of the stream moves on and is Chromium's green camera somewhere. */
async function plays(page: Page): Promise<void> {
  await phase(page, 'playing');
  await comesToHold(
    page,
    `(() => {
      const video = document.querySelector('${byId('stream-video')}');
      // Another stream begins at another time.
      const before = Math.min(window.__shown ?? video.currentTime, video.currentTime);
      window.__shown = before;
      if (video.videoWidth !== 640 || video.currentTime < before + 1) return false;
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

async function startShow(t: TestContext, env: Record<string, string> = {}) {
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'hls', ...env });
  const api = apiClient(node.url, apiToken);
  await api.post('/room', { roomId: 'show' });
  const stream = async (): Promise<string> => {
    const { status, body } = await api.post('/room/show/component', { type: 'hls', options: small });
    assert.equal(status, 201, JSON.stringify(body));
    return body.data.id;
  };
  return { node, api, stream };
}

test('a room is streamed, watched beside itself, and again after the stream was ended and started anew', async (t) => {
  const { node, api, stream } = await startShow(t);
  const browser = await launch(t);
  const { page, complaints } = await watch(browser, node.url);
  await page.waitForSelector(byId('watch-no-stream'));
  await lookAt(page, 'watch-nothing');
  await tabTo(page, 'start-stream');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('watch-not-yet'));
  const [started] = (await api.get('/room/show')).body.data.components;
  assert.equal(started.type, 'hls');
  await api.delete(`/room/show/component/${started.id}`);
  await page.waitForSelector(byId('watch-no-stream'));

  const first = await stream();
  await publish(browser, node.url);
  await plays(page);
  await comesToHold(page, `Number(document.querySelector('${byId('latency')}').dataset.milliseconds) > 0`);
  const latency = Number(await page.getAttribute(byId('latency'), 'data-milliseconds'));
  t.diagnostic(`latency ${latency} ms`);
  assert.ok(latency < latencyBound, `${latency} ms`);
  await page.click(byId('live-join'));
  await page.waitForSelector(`${tileOf('Ada')} ${byId('tile-received')}`);
  const watcher = (await api.get('/room/show')).body.data.peers.find(
    (each: { metadata: { name: string } }) => each.metadata.name !== 'Ada',
  );
  assert.deepEqual([watcher.permissions.publish, watcher.tracks], [[], []]);
  await lookAt(page, 'watch-playing');
  await page.click(byId('live-leave'));
  await page.waitForSelector(tileOf('Ada'), { state: 'detached' });

  await api.delete(`/room/show/component/${first}`);
  await seeText(page, 'stream-ended', 'The stream has ended.');
  await phase(page, 'ended');
  await lookAt(page, 'watch-ended');
  await stream();
  await page.evaluate('delete window.__shown');
  await plays(page);
  await page.waitForSelector(byId('stream-ended'), { state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('a network that is cut, and a token that may only read: it plays on when it can', async (t) => {
  const { node, stream } = await startShow(t, { SVC_SERVER_API_READ_TOKEN: readToken });
  const proxy = await startTcpProxy(t, node.port);
  const browser = await launch(t);
  await stream();
  await publish(browser, node.url);
  const { page, complaints } = await watch(browser, `http://127.0.0.1:${proxy.port}`, readToken);
  await plays(page);
  assert.equal(await page.getAttribute(byId('live-join'), 'aria-disabled'), 'true');
  proxy.cut();
  await page.waitForSelector(`${byId('status')}[data-state="lost"]`);
  await phase(page, 'retrying');
  proxy.mend();
  await page.evaluate('delete window.__shown');
  await plays(page);
  await page.waitForSelector(`${byId('status')}[data-state="live"]`);
  assert.deepEqual(complaints, []);
});
