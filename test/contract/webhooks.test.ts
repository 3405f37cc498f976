// Webhooks of a node with real rooms, as delivered to a receiver.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { secret } from '../kit/fakes/webhooks.ts';
import { accept, type Received, reject, startReceiver } from '../kit/network/webhook-receiver.ts';
import { runCommand } from '../kit/processes/command.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { tempFolder } from '../kit/temp-folder.ts';

test('receivers of a room and of the cluster get every event of the room in order, including the last one, signed', async (t) => {
  const own = await startReceiver(t);
  const cluster = await startReceiver(t);
  const { url, token } = await startNode(t, {
    SVC_WEBHOOK_URLS: cluster.url,
    SVC_WEBHOOK_SECRET: secret,
    SVC_WEBHOOK_ALLOW_PRIVATE: 'true',
  });
  const call = (method: string, path: string, body?: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    });
  assert.equal((await call('POST', '/room', { roomId: 'one', webhookUrl: own.url })).status, 201);
  assert.equal((await call('POST', '/room/one/peer', { type: 'webrtc', peerId: 'alice' })).status, 201);
  assert.equal((await call('DELETE', '/room/one/peer/alice')).status, 204);
  assert.equal((await call('DELETE', '/room/one')).status, 204);
  await Promise.all([own.until(4), cluster.until(4)]);
  for (const { received } of [own, cluster]) {
    assert.deepEqual(
      received.map(({ event }) => [event.seq, event.type]),
      [
        [1, 'RoomCreated'],
        [2, 'PeerAdded'],
        [3, 'PeerDeleted'],
        [4, 'RoomDeleted'],
      ],
    );
    for (const { body, headers } of received) assert.ok(new Webhook(secret).verify(body, headers));
  }
});

test('a node killed with -9 before its receiver accepts anything delivers everything after its restart', async (t) => {
  const resources = tempFolder(t);
  const receiver = await startReceiver(t, reject(500));
  const env = { SVC_WEBHOOK_URLS: receiver.url, SVC_WEBHOOK_SECRET: secret, SVC_RESOURCES_BASE_PATH: resources };
  const first = await startNodeProcess(t, env);
  for (const roomId of ['one', 'two']) {
    const answer = await fetch(`${first.url}/room`, {
      method: 'POST',
      headers: { authorization: `Bearer ${apiToken}`, 'content-type': 'application/json' },
      body: JSON.stringify({ roomId }),
    });
    assert.equal(answer.status, 201);
  }
  first.kill('SIGKILL');
  await first.ended;
  receiver.answer(accept);
  const refused = receiver.received.length;
  await startNodeProcess(t, env);
  // The last request of the killed node may arrive now, and is repeated because its response was lost.
  const reported = (all: readonly Received[]) =>
    [...new Set(all.slice(refused).map(({ event }) => `${event.roomId} ${event.type}`))].sort();
  await receiver.untilTrue((all) => reported(all).length >= 2);
  const delivered = receiver.received.slice(refused);
  assert.deepEqual(reported(receiver.received), ['one RoomCreated', 'two RoomCreated']);
  for (const { body, headers } of delivered) assert.ok(new Webhook(secret).verify(body, headers));
});

test('events of a killed node that restarts under another name, next to a running one, are delivered', async (t) => {
  const resources = tempFolder(t);
  const receiver = await startReceiver(t, reject(500));
  const node = (name: string) =>
    startNodeProcess(t, { SVC_WEBHOOK_URLS: receiver.url, SVC_RESOURCES_BASE_PATH: resources, SVC_DIST_NODE_NAME: `${name}@localhost` });
  const [lives, old] = [await node('lives'), await node('old')];
  for (const { url, roomId } of [
    { ...lives, roomId: 'of-the-living' },
    { ...old, roomId: 'of-the-old' },
  ])
    assert.equal((await apiClient(url, apiToken).post('/room', { roomId })).status, 201);
  old.kill('SIGKILL');
  await old.ended;
  const renamed = await node('new');
  const pending = async ({ url }: { url: string }) => (await apiClient(url, apiToken).get('/webhooks')).body.data[0].pending;
  await eventually('the orphaned spool is taken over', async () => (await pending(renamed)) >= 1, { every: 20 });
  assert.deepEqual([await pending(lives), await pending(renamed)], [1, 1]);
  receiver.answer(accept);
  const refused = receiver.received.length;
  await receiver.until(refused + 2);
  assert.deepEqual(
    receiver.received
      .slice(refused)
      .map(({ event }) => event.roomId)
      .sort(),
    ['of-the-living', 'of-the-old'],
  );
});

test('dead letters can be listed and replayed over REST', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const { url, token } = await startNode(t, { SVC_WEBHOOK_ALLOW_PRIVATE: 'true', SVC_WEBHOOK_SECRET: secret });
  const api = apiClient(url, token);
  const dead = async () => (await api.get('/webhooks/dead')).body.data as { receiver: string; reason: string; event: { type: string } }[];
  assert.equal((await api.post('/room', { roomId: 'one', webhookUrl: receiver.url })).status, 201);
  await receiver.until(1);
  await eventually('a dead letter', async () => (await dead()).length > 0, { every: 20 });
  const [letter] = await dead();
  assert.deepEqual([letter?.reason, letter?.event.type], ['the receiver responded with 410', 'RoomCreated']);
  assert.equal(letter?.receiver, new URL(receiver.url).origin);
  receiver.answer(accept);
  assert.deepEqual((await api.post('/webhooks/dead/replay', { roomId: 'other' })).body, { data: { replayed: 0 }, incomplete: [] });
  assert.deepEqual((await api.post('/webhooks/dead/replay')).body, { data: { replayed: 1 }, incomplete: [] });
  assert.equal((await api.delete('/room/one')).status, 204);
  await receiver.until(3);
  assert.deepEqual(
    receiver.received.slice(1).map(({ event }) => event.type),
    ['RoomCreated', 'RoomDeleted'],
  );
  assert.equal((await api.get('/webhooks')).status, 200);
  assert.deepEqual(await dead(), []);
});

test('npm run webhooks lists and replays dead letters', async (t) => {
  const receiver = await startReceiver(t, reject(410));
  const { url, token } = await startNode(t, { SVC_WEBHOOK_ALLOW_PRIVATE: 'true' });
  const run = async (...args: string[]) => {
    const env = { ...process.env, SVC_URL: url, SVC_SERVER_API_TOKEN: token };
    const { stdout } = await runCommand(['npm', 'run', '--silent', 'webhooks', '--', ...args], { env });
    return JSON.parse(stdout);
  };
  await apiClient(url, token).post('/room', { roomId: 'one', webhookUrl: receiver.url });
  await receiver.until(1);
  await eventually('a dead letter', async () => (await run())[0].dead > 0);
  assert.deepEqual(
    (await run('dead', 'one')).map(({ event }: { event: { type: string } }) => event.type),
    ['RoomCreated'],
  );
  receiver.answer(accept);
  assert.deepEqual(await run('replay', 'other'), { replayed: 0 });
  assert.deepEqual(await run('replay'), { replayed: 1 });
  await receiver.until(2);
  assert.deepEqual(await run('dead'), []);
});
