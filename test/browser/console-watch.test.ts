// The Watch page: starts a stream, plays it with low latency next to the live room, and recovers.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText, tileOf } from './console-kit.ts';
import { checkPage } from './console-views.ts';
import { makeShow, phase, plays, seesAda, startByKeys, watch } from './console-watch-kit.ts';

const readToken = `read-${apiToken}`;
/** Milliseconds. Generous: it detects a wrong clock, not a slow machine. */
const latencyBound = 60_000;

test('a stream is started, played next to the live room, and played again after a restart of the stream', async (t) => {
  const { url, api, stream, publish } = await makeShow(await startNode(t, { SVC_COMPONENTS_USED: 'hls' }));
  const browser = await launch(t);
  const { page, complaints } = await watch(browser, url);
  await page.waitForSelector(byId('watch-no-stream'));
  await checkPage(page, 'watch-nothing');
  await startByKeys(page);
  const [started] = (await api.get('/room/show')).body.data.components;
  assert.equal(started.type, 'hls');
  await api.delete(`/room/show/component/${started.id}`);
  await page.waitForSelector(byId('watch-no-stream'));

  const first = await stream();
  await publish(browser);
  await plays(page);
  // In one expression: during a stall there is no value.
  const isPlaying = `(window.__latency = Number(document.querySelector('${byId('latency')}').dataset.milliseconds)) > 0`;
  await eventuallyIn(page, isPlaying);
  const latency = await page.evaluate<number>('window.__latency');
  t.diagnostic(`latency ${latency} ms`);
  assert.ok(latency < latencyBound, `${latency} ms`);
  await page.click(byId('live-join'));
  await seesAda(page);
  const watcher = (await api.get('/room/show')).body.data.peers.find(
    (each: { metadata: { name: string } }) => each.metadata.name !== 'Ada',
  );
  assert.deepEqual([watcher.permissions.publish, watcher.tracks], [[], []]);
  await checkPage(page, 'watch-playing');
  await page.click(byId('live-leave'));
  await page.waitForSelector(tileOf('Ada'), { state: 'detached' });

  await api.delete(`/room/show/component/${first}`);
  await seeText(page, 'stream-ended', 'The stream has ended.');
  await phase(page, 'ended');
  await checkPage(page, 'watch-ended');
  await stream();
  await plays(page);
  await page.waitForSelector(byId('stream-ended'), { state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('playback with a read-only token resumes after a network cut', async (t) => {
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'hls', SVC_SERVER_API_READ_TOKEN: readToken });
  const { stream, publish } = await makeShow(node);
  const proxy = await startTcpProxy(t, node.port);
  const browser = await launch(t);
  await stream();
  await publish(browser);
  const { page, complaints } = await watch(browser, `http://127.0.0.1:${proxy.port}`, readToken);
  await plays(page);
  assert.equal(await page.getAttribute(byId('live-join'), 'aria-disabled'), 'true');
  proxy.cut();
  await page.waitForSelector(`${byId('status')}[data-state="lost"]`);
  await phase(page, 'retrying');
  proxy.restore();
  await plays(page);
  await page.waitForSelector(`${byId('status')}[data-state="live"]`);
  assert.deepEqual(complaints, []);
});
