// Leaks: thousands of rooms and hostile input leave memory, handles and workers unchanged.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { memoryOf } from '../kit/processes/memory.ts';
import { activeResources, liveHeap } from '../kit/processes/resources.ts';
import { startNode } from '../kit/processes/start-node.ts';

const megabyte = 1024 * 1024;

/** Runs tasks with at most `width` of them at once. */
async function inParallel(count: number, width: number, task: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: width }, async () => {
      for (let index = next++; index < count; index = next++) await task(index);
    }),
  );
}

test('200 rooms with a peer each, created and deleted ten times, leak nothing', { timeout: 240_000 }, async (t) => {
  const node = await startNode(t);
  const { api } = node;
  const media = node.node.parts.media;
  const worker = media.workers()[0]?.pid ?? 0;
  const rounds: { heap: number; worker: number; resources: Record<string, number> }[] = [];
  for (let round = 0; round < 10; round += 1) {
    await inParallel(200, 8, async (index) => {
      const roomId = `room-${index}`;
      await api.post('/room', { roomId, peerlessPurgeTimeout: 600 });
      const { body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc' });
      if (index % 20 !== 0) return;
      const socket = await PeerSocket.enter(node.peerSocketUrl, body.data.token);
      await socket.request('createTransport', { direction: 'recv' });
    });
    assert.equal(node.node.parts.rooms.size, 200);
    await inParallel(200, 8, (index) => api.delete(`/room/room-${index}`));
    await eventually('no socket', () => node.node.parts.peerSockets.sockets === 0 && node.node.parts.peerSockets.sessions === 0);
    assert.ok(media.workers().every(({ rooms }) => rooms === 0));
    assert.equal(media.load().forwardedTracks, 0);
    rounds.push({ heap: await liveHeap(), worker: memoryOf(worker), resources: activeResources() });
  }
  // The first rounds warm up: code is compiled, pools are filled, ended rooms are cached for ten minutes.
  const [, , warm] = rounds;
  const last = rounds.at(-1);
  assert.ok(warm && last);
  t.diagnostic(`heap ${rounds.map(({ heap }) => (heap / megabyte).toFixed(1)).join(' ')} MB`);
  t.diagnostic(`worker ${rounds.map((each) => (each.worker / megabyte).toFixed(1)).join(' ')} MB`);
  assert.ok(last.heap - warm.heap < 6 * megabyte, 'heap of the node');
  assert.ok(last.worker - warm.worker < 10 * megabyte, 'memory of the worker');
  assert.ok(
    (last.resources.Timeout ?? 0) <= (warm.resources.Timeout ?? 0) + 2,
    `timers: ${JSON.stringify([warm.resources, last.resources])}`,
  );
});

test('hostile input leaks no memory or handles', { timeout: 120_000 }, async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const { body } = await api.post('/room/r/peer', { type: 'webrtc', peerId: 'alice' });
  const token: string = body.data.token;
  const deep = '['.repeat(30_000) + ']'.repeat(30_000);
  const json = { 'content-type': 'application/json' };
  const once = async () => {
    const tooLarge = await api.request('POST', '/room', { text: JSON.stringify({ roomId: 'x'.repeat(64 * 1024 + 1) }), headers: json });
    assert.deepEqual([tooLarge.status, tooLarge.body.code], [413, 'too_large']);
    assert.equal((await api.request('POST', '/room', { text: deep, headers: json })).status, 400);
    for (const id of ['a%2Fb', '..%2f..', '%00', '%F0%9F%92%A9', 'x'.repeat(4000)]) {
      assert.ok([400, 404].includes((await api.get(`/room/${id}`)).status), id);
    }
    const early = await PeerSocket.open(node.peerSocketUrl);
    early.send({ id: 1, method: 'publish', data: {} });
    assert.equal((await early.closed).code, 4401);
    const big = await PeerSocket.enter(node.peerSocketUrl, token);
    big.send({ id: 2, method: 'sendData', data: { label: 'x', payload: 'y'.repeat(300 * 1024) } });
    assert.equal((await big.closed).code, 4413);
    const flood = await PeerSocket.enter(node.peerSocketUrl, token, { takeover: true });
    for (let id = 2; id < 2_000; id += 1) flood.send({ id, method: 'ping', data: {} });
    assert.equal((await flood.closed).code, 4429);
    await api.delete('/room/r/peer/alice');
    await api.post('/room/r/peer', { type: 'webrtc', peerId: 'alice' });
  };
  for (let n = 0; n < 5; n += 1) await once();
  const before = { heap: await liveHeap(), resources: activeResources() };
  for (let n = 0; n < 30; n += 1) await once();
  await eventually('no socket', () => node.node.parts.peerSockets.sockets === 0);
  const after = { heap: await liveHeap(), resources: activeResources() };
  t.diagnostic(`heap ${(before.heap / megabyte).toFixed(1)} MB, then ${(after.heap / megabyte).toFixed(1)} MB`);
  assert.ok(after.heap - before.heap < 4 * megabyte, 'heap of the node');
  assert.ok(
    (after.resources.Timeout ?? 0) <= (before.resources.Timeout ?? 0) + 2,
    `timers: ${JSON.stringify([before.resources, after.resources])}`,
  );
  assert.equal((await api.get('/room/r')).status, 200);
});
