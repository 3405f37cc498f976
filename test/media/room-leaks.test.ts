// Ended rooms leave nothing in the worker, in its memory or in counters.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import { eventually } from '../kit/eventually.ts';
import { memoryOf } from '../kit/processes/memory.ts';
import { turns } from '../kit/turns.ts';
import { engineFor, openPeer, openRoom, opusParameters, pidsOf, videoParameters } from './kit.ts';

const MiB = 1024 * 1024;

/** Growth after three rounds, when the allocator of the worker is warm. */
function growthOf(memory: number[]): number {
  return ((memory.at(-1) ?? 0) - (memory[2] ?? 0)) / MiB;
}

test('200 rooms with media, opened and closed ten times, leave memory of the worker constant and no room', {
  timeout: 120_000,
}, async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const [pid = 0] = pidsOf(mediaWorkerPool);
  const memory: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    const rooms = Array.from({ length: 200 }, (_, index) => openRoom(mediaWorkerPool, { roomId: `${index}` }));
    await Promise.all(
      rooms.map(async (room, index) => {
        const { media, send } = await openPeer(room, 'p');
        const track = { trackId: `${round}-${index}`, kind: 'audio' as const, rtpParameters: opusParameters('0'), paused: false };
        await media.publish({ transportId: send, ...track });
      }),
    );
    assert.equal(await mediaWorkerPool.countRouters(), 200);
    for (const room of rooms) room.close();
    assert.equal(await mediaWorkerPool.countRouters(), 0);
    assert.equal(mediaWorkerPool.workers()[0]?.rooms, 0);
    memory.push(memoryOf(pid));
  }
  t.diagnostic(`worker ${memory.map((bytes) => (bytes / MiB).toFixed(1)).join(' ')} MiB`);
  assert.ok(growthOf(memory) < 4, `grew by ${growthOf(memory).toFixed(1)} MiB`);
});

test('a room that is closed while its media is being created leaves nothing', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  for (let turn = 0; turn < 30; turn += 1) {
    const room = openRoom(mediaWorkerPool);
    const peer = room.openPeer('p', { layersChanged: () => {}, failed: () => {} });
    const pending = [room.rtpCapabilities(), peer.createTransport('send', { sctp: true }), peer.createTransport('recv', { sctp: false })];
    await turns(turn);
    room.close();
    for (const result of await Promise.allSettled(pending))
      assert.ok(result.status === 'fulfilled' || result.reason instanceof ServiceError);
  }
  assert.equal(await mediaWorkerPool.countRouters(), 0);
  const [worker] = mediaWorkerPool.workers();
  assert.deepEqual([worker?.rooms, worker?.forwardedTracks], [0, 0]);
});

test('peers that join and leave one room leave nothing in it', { timeout: 60_000 }, async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const [pid = 0] = pidsOf(mediaWorkerPool);
  const room = openRoom(mediaWorkerPool);
  const capabilities = await room.rtpCapabilities();
  const stays = await openPeer(room, 'stays');
  const video = { trackId: 'v', kind: 'video' as const, rtpParameters: videoParameters('0'), paused: false };
  await stays.media.publish({ transportId: stays.send, ...video });
  const memory: number[] = [];
  for (let round = 0; round < 10; round += 1) {
    for (let index = 0; index < 30; index += 1) {
      const trackId = `${round}-${index}`;
      const peer = await openPeer(room, trackId);
      const audio = { trackId, kind: 'audio' as const, rtpParameters: opusParameters('0'), paused: false };
      await peer.media.publish({ transportId: peer.send, ...audio });
      await Promise.all([peer.media.subscribe('v', capabilities), stays.media.subscribe(trackId, capabilities)]);
      assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 2 });
      peer.media.close();
      // Requested while the end of the track is still being processed.
      await stays.media.stats();
      await eventually('subscriptions closed', () => mediaWorkerPool.load().forwardedTracks === 0);
    }
    memory.push(memoryOf(pid));
  }
  t.diagnostic(`worker ${memory.map((bytes) => (bytes / MiB).toFixed(1)).join(' ')} MiB`);
  assert.ok(growthOf(memory) < 4, `grew by ${growthOf(memory).toFixed(1)} MiB`);
});

test('an idle room uses no router, which is created for its first peer', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const rooms = Array.from({ length: 100 }, () => openRoom(mediaWorkerPool));
  assert.equal(await mediaWorkerPool.countRouters(), 0);
  const [room] = rooms;
  await Promise.all([room?.rtpCapabilities(), room?.rtpCapabilities()]);
  assert.equal(await mediaWorkerPool.countRouters(), 1);
});
