// Recovery of the Watch page from a restart, a drain and a revoked token; and its use by keyboard.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, logInByKeys, openConsole, seeText, tabTo, tileOf } from './console-kit.ts';
import { checkPage, tokenFile } from './console-views.ts';
import { makeShow, phase, plays, seesAda, small, startByKeys, timeoutMs, watch } from './console-watch-kit.ts';

const streams = { SVC_COMPONENTS_USED: 'hls' };

const video = `document.querySelector('${byId('stream-video')}')`;
const focused = (page: Page) => page.evaluate<string>('document.activeElement?.dataset.testid ?? document.activeElement?.tagName ?? ""');
/** Milliseconds of latency from which "Go live" seeks forward by seconds, even after a stall, which raises the target latency. */
const wellBehind = 12_000;

test('after a restart the Watch page reports the end of the room, and plays the stream of the recreated room', async (t) => {
  const first = await startNodeProcess(t, { ...streams, ...(await stablePort()) });
  const before = await makeShow(first);
  await before.stream();
  const browser = await launch(t);
  await before.publish(browser);
  const { page, complaints } = await watch(browser, first.url);
  await plays(page);
  await page.click(byId('live-join'));
  await seesAda(page);
  first.kill('SIGKILL');
  await first.ended;
  await page.waitForSelector(`${byId('status')}[data-state="lost"]`);
  await seeText(page, 'live-status', 'Disconnected. Reconnecting…');
  await phase(page, 'retrying');
  const second = await startNodeProcess(t, { ...streams, SVC_PORT: String(first.port) });
  await seeText(page, 'stream-ended', 'The room and its stream ended.');
  await seeText(page, 'live-status', 'The room has ended. It will appear here if it is recreated.');
  await page.waitForSelector(`${byId('status')}[data-state="live"]`);
  await phase(page, 'ended');
  assert.equal(await page.evaluate(`${video}.readyState >= 2 && ${video}.videoWidth`), small.width, 'the last frame stays');
  await checkPage(page, 'watch-room-ended');
  const after = await makeShow(second);
  await after.stream();
  await after.publish(browser);
  await plays(page);
  await page.waitForSelector(byId('stream-ended'), { state: 'detached' });
  await seesAda(page);
  assert.deepEqual(complaints, []);
});

test('a revoked token leads to the log-in page with a message, and back to the stream when it is valid again', async (t) => {
  const [good, other] = [`${apiToken}-one`, `${apiToken}-two`];
  const tokens = await tokenFile(t, good);
  const { url, stream, publish } = await makeShow(
    await startNode(t, { ...streams, SVC_SERVER_API_TOKEN: undefined, SVC_CONFIG_FILES: tokens.path }),
    good,
  );
  await stream();
  const browser = await launch(t);
  await publish(browser);
  const { page, complaints } = await watch(browser, url, good);
  await plays(page);
  await tokens.replace(other);
  await page.waitForSelector(byId('login-token'));
  await seeText(page, 'login-problem', 'The server no longer accepts this API token.');
  await tokens.replace(good);
  await page.waitForSelector(byId('stream'), { timeout: timeoutMs });
  await plays(page);
  assert.deepEqual(complaints, []);
});

test('a drain shows its deadline and then the reason of the end, and the next stream is played', async (t) => {
  const node = await startNode(t, streams);
  const before = await makeShow(node);
  const { api } = before;
  await before.stream();
  const browser = await launch(t);
  await before.publish(browser);
  const { page, complaints } = await watch(browser, node.url);
  await plays(page);
  await page.click(byId('live-join'));
  await seesAda(page);
  const { name } = (await api.get('/cluster/nodes')).body.data[0];
  const drain = async (deadline: number) =>
    assert.equal((await api.post(`/cluster/nodes/${name}/drain`, { deadline })).status, 202, `drain within ${deadline} s`);
  await drain(3600);
  await seeText(page, 'live-ends-at', 'The server is shutting down. This room closes at');
  await plays(page);
  await api.delete(`/cluster/nodes/${name}/drain`);
  await page.waitForSelector(byId('live-ends-at'), { state: 'detached' });
  await drain(0);
  await seeText(page, 'stream-ended', 'The room and its stream ended because its node was drained.');
  await seeText(page, 'live-status', 'The room has ended. It will appear here if it is recreated.');
  await phase(page, 'ended');
  await api.delete(`/cluster/nodes/${name}/drain`);
  const after = await makeShow(node);
  await after.stream();
  await after.publish(browser);
  await plays(page);
  await seesAda(page);
  assert.deepEqual(complaints, []);
});

test('the Watch page is usable with the keyboard alone', async (t) => {
  const { url, api, stream, publish } = await makeShow(await startNode(t, streams));
  const browser = await launch(t);
  const { page, complaints } = await openConsole(browser, `${url}/#/watch/show`);
  await logInByKeys(page, apiToken);
  await page.waitForSelector(byId('watch-no-stream'));
  await startByKeys(page);
  // A smaller stream is enough from here on.
  await api.delete(`/room/show/component/${(await api.get('/room/show')).body.data.components[0].id}`);
  await page.waitForSelector(byId('watch-no-stream'));
  await stream();
  await publish(browser);
  await plays(page);

  await tabTo(page, 'stream-video');
  await page.keyboard.press('Space');
  await eventuallyIn(page, `${video}.paused`);
  const stoodAt = await page.evaluate<number>(`${video}.currentTime`);
  await page.evaluate(`${video}.addEventListener('seeked', () => { window.__sought = ${video}.currentTime; })`);
  await page.waitForSelector(byId('stream-now'));
  await eventuallyIn(page, `Number(document.querySelector('${byId('latency')}').dataset.milliseconds) > ${wellBehind}`);
  await tabTo(page, 'stream-now');
  await page.keyboard.press('Enter');
  await eventuallyIn(page, `window.__sought > ${stoodAt} + 2`);
  await eventuallyIn(page, `!${video}.paused`);
  assert.equal(await focused(page), 'stream-video', 'the focus moves to the video when the button disappears');
  await plays(page);

  await tabTo(page, 'live-join');
  await page.keyboard.press('Enter');
  await seesAda(page);
  assert.equal(await focused(page), 'live-leave', 'the focus stays on the button');
  await page.keyboard.press('Enter');
  await page.waitForSelector(tileOf('Ada'), { state: 'detached' });
  assert.equal(await focused(page), 'live-join');

  await tabTo(page, 'to-room');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('room-panel'));
  await tabTo(page, 'watch-link');
  await page.keyboard.press('Enter');
  await plays(page);
  assert.equal(await focused(page), 'MAIN', 'navigation moves the focus to the content');
  assert.deepEqual(complaints, []);
});
