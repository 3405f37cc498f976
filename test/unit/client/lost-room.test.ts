// A room that is lost with its node: waited for, entered again, or given up.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RoomClientOptions } from '../../../packages/client/src/index.ts';
import { type FakeSocket, startFakeServer } from './fake-server.ts';
import { roomAt, timing } from './room-kit.ts';

/** A room that was joined and then lost; `refuse` answers the next attempts. */
async function loseRoom(
  t: TestContext,
  options: Partial<RoomClientOptions> = {},
  lose: (socket: FakeSocket) => void = (socket) => socket.cut(),
) {
  const server = await startFakeServer(t);
  const at = roomAt(t, server, options);
  const joined = at.room.join();
  const socket = await server.next();
  socket.automatically('setSubscription');
  await socket.welcome();
  await joined;
  lose(socket);
  await at.until('stateChanged', ({ state }) => state === 'reconnecting');
  const refuse = async (code: string) => {
    const next = await server.next();
    const frame = await next.next();
    next.refuse(frame, code, `Refused with ${code}`);
    next.webSocket.close(4401);
    return frame.data;
  };
  return { ...at, server, refuse };
}

test('a room that was lost with its node is waited for, and entered when it is there again', async (t) => {
  const { server, refuse, room, until, told } = await loseRoom(t);
  const { incarnation } = await refuse('room_not_found');
  assert.equal(incarnation, 'incarnation-1');
  await refuse('unavailable');
  const next = await server.next();
  next.automatically('setSubscription');
  await next.welcome({ sessionId: 'session-2', incarnation: 'incarnation-2' });
  told.length = 0;
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.equal(room.state, 'joined');
});

test('a room that ended with the drain of its node is waited for, too, and given up as not found where nobody makes it again', async (t) => {
  const drained = (socket: FakeSocket) => {
    socket.event('draining', { deadline: new Date().toISOString() });
    socket.webSocket.close(1001);
  };
  const moved = await loseRoom(t, {}, drained);
  assert.equal((await moved.refuse('room_not_found')).incarnation, 'incarnation-1');
  const next = await moved.server.next();
  next.automatically('setSubscription');
  await next.welcome({ sessionId: 'session-2', incarnation: 'incarnation-2' });
  moved.told.length = 0;
  await moved.until('stateChanged', ({ state }) => state === 'joined');
  const over = await loseRoom(t, { timing: { ...timing, lostRoom: 0 } }, drained);
  await over.refuse('room_not_found');
  const { reason, message } = await over.until('closed');
  assert.deepEqual([reason, message], ['notFound', 'Refused with room_not_found']);
});

test('a room that was ended, or lost for too long, is over', async (t) => {
  const ended = await loseRoom(t);
  await ended.refuse('room_ended');
  assert.equal((await ended.until('closed')).reason, 'notFound');
  const lost = await loseRoom(t, { timing: { ...timing, lostRoom: 0 } });
  await lost.refuse('room_not_found');
  assert.equal((await lost.until('closed')).reason, 'notFound');
});

test('a room that was lost is asked for often, however long the pauses of other attempts are', async (t) => {
  const { server, refuse } = await loseRoom(t, { timing: { ...timing, retryDelays: [0, 60_000], lostRoomPause: 10 } });
  await refuse('room_not_found');
  await refuse('unavailable');
  await (await server.next()).welcome({ sessionId: 'session-2', incarnation: 'incarnation-2' });
});
