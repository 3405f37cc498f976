// Example programs, each started by its documented command: a backend, a file player, and a recorder.
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { assertColor, assertNear, audioSamples, colors } from '../kit/media/recorded-file.ts';
import { addComponent, green, withSources } from '../kit/media/sources.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startExample } from '../kit/processes/example.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';

test('the backend example issues tokens for peers and accepts signed webhooks only', async (t) => {
  const secret = `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString('base64')}`;
  const node = await startNode(t, { SVC_WEBHOOK_SECRET: secret, SVC_WEBHOOK_ALLOW_PRIVATE: 'true' });
  const env = { SVC_URL: node.url, SVC_SERVER_API_TOKEN: node.token, WEBHOOK_SECRET: secret, PORT: '0' };
  const backend = await startExample(t, 'backend', [], env);
  const [, url] = await backend.says(/Backend at (\S+)/);
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
  const joins = await Promise.all(['Ada', 'Bob'].map((name) => post('/join', JSON.stringify({ roomId: 'standup', name }))));
  const [ada, bob] = (await Promise.all(joins.map((each) => each.json()))) as { url: string; token: string }[];
  const socket = await PeerSocket.enter(`ws://${ada?.url}`, ada?.token ?? '');
  assert.equal(socket.welcome.ok, true);
  assert.notEqual(bob?.token, ada?.token);
  await backend.says(/RoomCreated in standup/);
  await backend.says(/\{"name":"Bob"\} may join standup/);
  await backend.says(/PeerConnected in standup/);
  socket.webSocket.close();
  await socket.closed;
  assert.equal((await post('/hooks', '{"type":"RoomDeleted","roomId":"standup"}')).status, 400);
  assert.equal((await post('/join', '{')).status, 400);
  assert.equal((await post('/join', JSON.stringify({ roomId: 'no room', name: 'x' }))).status, 400);
  assert.doesNotMatch(backend.output(), /RoomDeleted/);
});

test('one example plays a file into a room while another records the room to disk', async (t) => {
  const resources = await withSources(t, 6);
  const { api, token, url } = await startNode(t, { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources });
  const env = { SVC_URL: url, SVC_SERVER_API_TOKEN: token };
  const target = await makeResources(t);
  await api.post('/room', { roomId: 'r', externalId: 'r' });
  const recording = await startExample(t, 'record', ['r', '15', target], env);
  await recording.says(/Recording r/);
  const publishing = await startExample(t, 'publish-file', ['green.h264', 'r'], env);
  await publishing.says(/green\.h264 plays in r: video \(h264\)/);
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  assert.equal(await recording.ended, 0, recording.output());
  assert.equal(await publishing.ended, 0, publishing.output());
  assert.match(publishing.output(), /Playback finished/);
  const [id = ''] = await readdir(target).then((names) => names.filter((name) => name.startsWith('r-')));
  const files = await readdir(join(target, id));
  assert.equal(files.length, 3, files.join());
  const video = files.find((name) => recording.output().includes(`${name}: video (h264)`));
  const audio = files.find((name) => recording.output().includes(`${name}: audio (opus)`));
  for (const frame of await colors(join(target, id, video ?? ''))) assertColor(frame, green);
  assertNear((await audioSamples(join(target, id, audio ?? ''))).frequency, 660, 5, 'the tone');
});

test('an example prints a message for invalid arguments', async (t) => {
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file' });
  const env = { SVC_URL: node.url, SVC_SERVER_API_TOKEN: node.token };
  const missing = await startExample(t, 'publish-file', ['nothing.ogg', 'r'], env);
  assert.notEqual(await missing.ended, 0);
  assert.match(missing.output(), /MediaroomsError: File not found/);
});
