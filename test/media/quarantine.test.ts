// Quarantine: rooms whose worker died twice are isolated from other rooms, with the real worker.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import type { MediaWorkerPool } from '../../node/media/worker/worker-pool.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/network/free-ports.ts';
import { engineFor, openPeer, openRoom } from './kit.ts';

const isRefusal = (error: unknown) => error instanceof ServiceError && error.code === 'unavailable' && /died twice/.test(error.message);
const roomsOf = (mediaWorkerPool: MediaWorkerPool) => mediaWorkerPool.workers().map(({ rooms }) => rooms);

/** Reopens the room as soon as it is accepted. */
async function openAgain(mediaWorkerPool: MediaWorkerPool, roomId: string): Promise<ReturnType<typeof openRoom>> {
  let room: ReturnType<typeof openRoom> | undefined;
  await eventually(`room ${roomId}`, () => {
    try {
      room = openRoom(mediaWorkerPool, { roomId });
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'unavailable', String(error));
    }
    return room !== undefined;
  });
  if (!room) throw new Error('no room');
  return room;
}

async function killWorker(mediaWorkerPool: MediaWorkerPool, index: number): Promise<void> {
  const { pid, restarts } = mediaWorkerPool.workers()[index] ?? {};
  process.kill(pid ?? 0, 'SIGKILL');
  await eventually('restart', () => (mediaWorkerPool.workers()[index]?.restarts ?? 0) > (restarts ?? 0));
}

/** A pool of one worker that died twice with these rooms. */
async function engineThatLost(t: TestContext, roomIds: string[], basePort?: number): Promise<MediaWorkerPool> {
  const mediaWorkerPool = await engineFor(t, { basePort });
  for (let death = 0; death < 2; death += 1) {
    for (const roomId of roomIds) openRoom(mediaWorkerPool, { roomId });
    await killWorker(mediaWorkerPool, 0);
  }
  return mediaWorkerPool;
}

test('a room whose worker died twice gets a worker of its own, and its next crash affects no other room', async (t) => {
  const mediaWorkerPool = await engineThatLost(t, ['bad', 'unlucky']);
  const healthy = openRoom(mediaWorkerPool, { roomId: 'sound' });
  const [bad, unlucky] = [await openAgain(mediaWorkerPool, 'bad'), await openAgain(mediaWorkerPool, 'unlucky')];
  assert.deepEqual(roomsOf(mediaWorkerPool), [1, 1, 1]);
  const ports = mediaWorkerPool.workers().map(({ port }) => port);
  assert.equal(new Set(ports).size, 3);
  await openPeer(bad, 'p');
  await killWorker(mediaWorkerPool, 1);
  assert.deepEqual(bad.heard.crashes, ['media worker died']);
  assert.deepEqual([...healthy.heard.crashes, ...unlucky.heard.crashes], []);
  // New rooms also avoid its worker, even if it has the least load.
  openRoom(mediaWorkerPool, { roomId: 'new' });
  assert.deepEqual(roomsOf(mediaWorkerPool), [2, 0, 1]);
});

test('if there are more suspects than workers, suspects share a worker without other rooms', async (t) => {
  const suspects = ['a', 'b', 'c', 'd', 'e', 'f'];
  const mediaWorkerPool = await engineThatLost(t, suspects);
  openRoom(mediaWorkerPool, { roomId: 'sound' });
  for (const roomId of suspects) await openAgain(mediaWorkerPool, roomId);
  assert.deepEqual(roomsOf(mediaWorkerPool), [1, 2, 2, 1, 1]);
});

test('with given ports, a suspect gets the only worker while it is empty, and is rejected otherwise', async (t) => {
  const mediaWorkerPool = await engineThatLost(t, ['bad'], await freePort());
  const bad = openRoom(mediaWorkerPool, { roomId: 'bad' });
  bad.close();
  const healthy = openRoom(mediaWorkerPool, { roomId: 'sound' });
  assert.throws(() => openRoom(mediaWorkerPool, { roomId: 'bad' }), isRefusal);
  assert.equal(mediaWorkerPool.workers().length, 1);
  healthy.close();
  openRoom(mediaWorkerPool, { roomId: 'bad' });
});

test('with two workers and given ports a suspect gets an empty one, and other rooms avoid it', async (t) => {
  const mediaWorkerPool = await engineFor(t, { workers: 2, basePort: await freePort() });
  for (let death = 0; death < 2; death += 1) {
    openRoom(mediaWorkerPool, { roomId: 'bad' });
    await killWorker(mediaWorkerPool, 0);
  }
  openRoom(mediaWorkerPool, { roomId: 'bad' });
  for (const roomId of ['one', 'other', 'third']) openRoom(mediaWorkerPool, { roomId });
  assert.deepEqual(roomsOf(mediaWorkerPool), [1, 3]);
});

test('a room that crashed twice on another node is a suspect on this node', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  openRoom(mediaWorkerPool, { roomId: 'sound' });
  for (let death = 0; death < 2; death += 1) mediaWorkerPool.roomCrashedElsewhere('bad', 'media worker died');
  assert.equal(mediaWorkerPool.workers().length, 1);
  assert.throws(() => openRoom(mediaWorkerPool, { roomId: 'bad' }), isRefusal);
  await openAgain(mediaWorkerPool, 'bad');
  assert.deepEqual(roomsOf(mediaWorkerPool), [1, 1]);
});
