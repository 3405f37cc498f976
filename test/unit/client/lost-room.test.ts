// Lost room: retries after a room was lost with its node.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RoomClientOptions } from '../../../packages/client/src/index.ts';
import type { FakeSocket } from './fake-server.ts';
import { joinedRoom, timing } from './room-kit.ts';

/** A room that was joined and then lost; `refuse` answers the next attempts. */
async function loseRoom(
  t: TestContext,
  options: Partial<RoomClientOptions> = {},
  lose: (socket: FakeSocket) => void = (socket) => socket.cut(),
) {
  const { server, socket, ...at } = await joinedRoom(t, options, {}, (next) => void next.automatically('setSubscription'));
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

test('a room lost with its node is retried, and joined when it is recreated', async (t) => {
  const { server, refuse, room, until, reported } = await loseRoom(t);
  const { incarnation } = await refuse('room_not_found');
  assert.equal(incarnation, 'incarnation-1');
  await refuse('unavailable');
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', incarnation: 'incarnation-2' });
  reported.length = 0;
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.equal(room.state, 'joined');
});

test('a function returns an access token for each connection, whatever token the server sent', async (t) => {
  const tokens = ['first', 'second', 'third'];
  const accessToken = async () => tokens.shift() ?? '';
  const { refuse } = await loseRoom(t, { accessToken }, (socket) => {
    socket.event('tokenUpdated', { token: 'of the server' });
    socket.cut();
  });
  assert.equal((await refuse('room_not_found')).accessToken, 'second');
  const { token, accessToken: third } = await refuse('unavailable');
  assert.deepEqual([token, third], [undefined, 'third']);
});

test('a room that ended with a drain is retried too, and closes as notFound if it is not recreated', async (t) => {
  const drained = (socket: FakeSocket) => {
    socket.event('draining', { deadline: new Date().toISOString() });
    socket.webSocket.close(1001);
  };
  const moved = await loseRoom(t, {}, drained);
  assert.equal((await moved.refuse('room_not_found')).incarnation, 'incarnation-1');
  const next = await moved.server.next();
  await next.welcome({ sessionId: 'session-2', incarnation: 'incarnation-2' });
  moved.reported.length = 0;
  await moved.until('stateChanged', ({ state }) => state === 'joined');
  const over = await loseRoom(t, { timing: { ...timing, lostRoom: 0 } }, drained);
  await over.refuse('room_not_found');
  const { reason, message } = await over.until('closed');
  assert.deepEqual([reason, message], ['notFound', 'Refused with room_not_found']);
});

test('a deleted room, or one lost for too long, closes', async (t) => {
  const ended = await loseRoom(t);
  await ended.refuse('room_ended');
  assert.equal((await ended.until('closed')).reason, 'notFound');
  const lost = await loseRoom(t, { timing: { ...timing, lostRoom: 0 } });
  await lost.refuse('room_not_found');
  assert.equal((await lost.until('closed')).reason, 'notFound');
});

test('a lost room is retried often, regardless of other retry delays', async (t) => {
  const { server, refuse } = await loseRoom(t, { timing: { ...timing, retryDelays: [0, 60_000], lostRoomPause: 10 } });
  await refuse('room_not_found');
  await refuse('unavailable');
  await (await server.next()).welcome({ sessionId: 'session-2', incarnation: 'incarnation-2' });
});
