// Rooms whose worker died twice are kept away from others, against the real worker.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ServiceError } from '../../node/errors.ts';
import type { Engine } from '../../node/media/engine.ts';
import { eventually } from '../kit/eventually.ts';
import { freePort } from '../kit/free-ports.ts';
import { engineFor, openPeer, openRoom } from './kit.ts';

const isRefusal = (error: unknown) => error instanceof ServiceError && error.code === 'unavailable' && /died twice/.test(error.message);
const roomsOf = (engine: Engine) => engine.workers().map(({ rooms }) => rooms);

/** Opens the room again as soon as it is taken. */
async function openAgain(engine: Engine, roomId: string): Promise<ReturnType<typeof openRoom>> {
  let room: ReturnType<typeof openRoom> | undefined;
  await eventually(`room ${roomId}`, () => {
    try {
      room = openRoom(engine, { roomId });
    } catch (error) {
      assert.ok(error instanceof ServiceError && error.code === 'unavailable', String(error));
    }
    return room !== undefined;
  });
  if (!room) throw new Error('no room');
  return room;
}

async function killWorker(engine: Engine, index: number): Promise<void> {
  const { pid, restarts } = engine.workers()[index] ?? {};
  process.kill(pid ?? 0, 'SIGKILL');
  await eventually('restart', () => (engine.workers()[index]?.restarts ?? 0) > (restarts ?? 0));
}

/** An engine of one worker that died twice with these rooms. */
async function engineThatLost(t: TestContext, roomIds: string[], basePort?: number): Promise<Engine> {
  const engine = await engineFor(t, { basePort });
  for (let death = 0; death < 2; death += 1) {
    for (const roomId of roomIds) openRoom(engine, { roomId });
    await killWorker(engine, 0);
  }
  return engine;
}

test('a room whose worker died twice comes back on a worker of its own, and what it dies of next hurts nobody else', async (t) => {
  const engine = await engineThatLost(t, ['bad', 'unlucky']);
  const sound = openRoom(engine, { roomId: 'sound' });
  const [bad, unlucky] = [await openAgain(engine, 'bad'), await openAgain(engine, 'unlucky')];
  assert.deepEqual(roomsOf(engine), [1, 1, 1]);
  const ports = engine.workers().map(({ port }) => port);
  assert.equal(new Set(ports).size, 3);
  await openPeer(bad, 'p');
  await killWorker(engine, 1);
  assert.deepEqual(bad.heard.crashes, ['media worker died']);
  assert.deepEqual([...sound.heard.crashes, ...unlucky.heard.crashes], []);
  // Also a room that is new does not get to it, however little there is on it.
  openRoom(engine, { roomId: 'new' });
  assert.deepEqual(roomsOf(engine), [2, 0, 1]);
});

test('with more suspects than workers for them, suspects share; nobody else is with them', async (t) => {
  const suspects = ['a', 'b', 'c', 'd', 'e', 'f'];
  const engine = await engineThatLost(t, suspects);
  openRoom(engine, { roomId: 'sound' });
  for (const roomId of suspects) await openAgain(engine, roomId);
  assert.deepEqual(roomsOf(engine), [1, 2, 2, 1, 1]);
});

test('where the ports are given, a suspect gets the only worker while it is empty, and is refused while others are on it', async (t) => {
  const engine = await engineThatLost(t, ['bad'], await freePort());
  const bad = openRoom(engine, { roomId: 'bad' });
  bad.close();
  const sound = openRoom(engine, { roomId: 'sound' });
  assert.throws(() => openRoom(engine, { roomId: 'bad' }), isRefusal);
  assert.equal(engine.workers().length, 1);
  sound.close();
  openRoom(engine, { roomId: 'bad' });
});

test('with two workers and given ports a suspect gets an empty one, and others stay away from it', async (t) => {
  const engine = await engineFor(t, { workers: 2, basePort: await freePort() });
  for (let death = 0; death < 2; death += 1) {
    openRoom(engine, { roomId: 'bad' });
    await killWorker(engine, 0);
  }
  openRoom(engine, { roomId: 'bad' });
  for (const roomId of ['one', 'other', 'third']) openRoom(engine, { roomId });
  assert.deepEqual(roomsOf(engine), [1, 3]);
});

test('a room that crashed twice on another node is a suspect here', async (t) => {
  const engine = await engineFor(t);
  openRoom(engine, { roomId: 'sound' });
  for (let death = 0; death < 2; death += 1) engine.roomCrashedElsewhere('bad', 'media worker died');
  assert.equal(engine.workers().length, 1);
  assert.throws(() => openRoom(engine, { roomId: 'bad' }), isRefusal);
  await openAgain(engine, 'bad');
  assert.deepEqual(roomsOf(engine), [1, 1]);
});
