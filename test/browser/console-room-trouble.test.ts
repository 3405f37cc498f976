// Recovery of the room page from a network cut, a restart, a drain and a revoked token.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, enter, launch, openConsole, seeText } from './console-kit.ts';
import { tokenFile } from './console-views.ts';

async function openRoom(t: TestContext, url: string, token = apiToken): Promise<{ page: Page; complaints: string[] }> {
  const opened = await openConsole(await launch(t), `${url}/#/room/trouble`, { viewport: { width: 1440, height: 900 } });
  await logIn(opened.page, token);
  return opened;
}

async function logIn(page: Page, token: string): Promise<void> {
  await page.fill(byId('login-token'), token);
  await page.click(byId('login-submit'));
  await page.waitForSelector(byId('room-panel'));
}

const peer = (id: string) => `${byId('peer')}[data-peer="${id}"]`;

test('a cut network is reported, and missed events are loaded when it recovers', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'trouble' });
  const proxy = await startTcpProxy(t, node.port);
  const { page, complaints } = await openRoom(t, `http://127.0.0.1:${proxy.port}`);
  await page.click(byId('events'));
  await page.waitForSelector(`${byId('event')}[data-type="RoomCreated"]`);
  proxy.cut();
  await page.waitForSelector(byId('panel-lost'));
  await page.waitForSelector(byId('log-lost'));
  await api.post('/room/trouble/peer', { type: 'webrtc', peerId: 'ada' });
  await api.delete('/room/trouble/peer/ada');
  await api.post('/room/trouble/peer', { type: 'webrtc', peerId: 'bob' });
  proxy.restore();
  await page.waitForSelector(`${byId('event')}[data-type="PeerDeleted"]`);
  await page.waitForSelector(byId('log-lost'), { state: 'detached' });
  await page.waitForSelector(byId('panel-lost'), { state: 'detached' });
  // Missed events may appear in several updates.
  await eventuallyIn(page, `document.querySelectorAll('${byId('event')}').length >= 4`);
  assert.deepEqual(await page.locator(byId('event')).evaluateAll((rows) => rows.map((row) => row.getAttribute('data-type'))), [
    'PeerAdded',
    'PeerDeleted',
    'PeerAdded',
    'RoomCreated',
  ]);
  await page.click(byId('peers'));
  await page.waitForSelector(peer('bob'));
  assert.deepEqual(complaints, []);
});

test('after a restart of the server the room page reports the end of the room, and shows the recreated room', async (t) => {
  const first = await startNodeProcess(t, await stablePort());
  await first.api.post('/room', { roomId: 'trouble' });
  await first.api.post('/room/trouble/peer', { type: 'webrtc', peerId: 'ada' });
  const { page, complaints } = await openRoom(t, first.url);
  await page.waitForSelector(peer('ada'));
  first.kill('SIGKILL');
  await first.ended;
  await page.waitForSelector(byId('panel-lost'));
  await page.waitForSelector(peer('ada'));
  const second = await startNodeProcess(t, { SVC_PORT: String(first.port) });
  await page.waitForSelector(byId('panel-ended'));
  await page.waitForSelector(byId('panel-lost'), { state: 'detached' });
  const { api } = second;
  await api.post('/room', { roomId: 'trouble' });
  await api.post('/room/trouble/peer', { type: 'webrtc', peerId: 'bob' });
  await page.waitForSelector(peer('bob'));
  await page.waitForSelector(byId('panel-ended'), { state: 'detached' });
  await page.click(byId('events'));
  await page.waitForSelector(`${byId('event')}[data-type="PeerAdded"]`);
  assert.deepEqual(complaints, []);
});

test('a revoked token leads to the log-in page, and a valid one back to the room', async (t) => {
  const one = `${apiToken}-one`;
  const two = `${apiToken}-two`;
  const tokens = await tokenFile(t, one);
  const node = await startNode(t, { SVC_SERVER_API_TOKEN: undefined, SVC_CONFIG_FILES: tokens.path });
  await apiClient(node.url, one).post('/room', { roomId: 'trouble' });
  const { page } = await openRoom(t, node.url, one);
  await tokens.replace(two);
  await page.waitForSelector(byId('login-token'));
  await page.getByText('The server no longer accepts this API token.').waitFor();
  await logIn(page, two);
  await page.click(byId('events'));
  await page.waitForSelector(`${byId('event')}[data-type="RoomCreated"]`);
});

test('a user in a room with a revoked token gets to the log-in page once, and back automatically when it is valid again', async (t) => {
  const [good, other] = [`${apiToken}-one`, `${apiToken}-two`];
  const tokens = await tokenFile(t, good);
  const node = await startNode(t, { SVC_SERVER_API_TOKEN: undefined, SVC_CONFIG_FILES: tokens.path });
  await apiClient(node.url, good).post('/room', { roomId: 'trouble' });
  const { page } = await openRoom(t, node.url, good);
  await enter(page, 'Ada');
  const goodbye = page.waitForResponse((response) => response.request().method() === 'DELETE');
  await tokens.replace(other);
  await page.waitForSelector(byId('login-token'));
  assert.equal((await goodbye).status(), 401);
  await page.getByText('This one is retried automatically').waitFor();
  await tokens.replace(good);
  await page.waitForSelector(byId('room-panel'));
});

test('a drain shows its deadline to participants, and the end of the room to observers', async (t) => {
  const { api, url } = await startNode(t);
  await api.post('/room', { roomId: 'trouble' });
  const ada = await openRoom(t, url);
  await enter(ada.page, 'Ada');
  const watcher = await openRoom(t, url);
  const { name } = (await api.get('/cluster/nodes')).body.data[0];
  assert.equal((await api.post(`/cluster/nodes/${name}/drain`, { deadline: 3600 })).status, 202);
  await ada.page.getByText('The server is shutting down. This room closes at').waitFor();
  await ada.page.click(byId('leave'));
  await ada.page.waitForSelector(byId('left'));
  await seeText(watcher.page, 'panel-ended', 'This room has ended.');
  await watcher.page.click(byId('events'));
  await watcher.page.waitForSelector(`${byId('event')}[data-type="RoomDeleted"]`);
  assert.deepEqual([ada.complaints, watcher.complaints], [[], []]);
});
