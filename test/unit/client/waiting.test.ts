// Waiting for admission in the client library: state, events, what is sent meanwhile, and every end of a wait.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoomClosedError } from '../../../packages/client/src/index.ts';
import { startFakeServer } from './fake-server.ts';
import { joinedRoom, roomAt } from './room-kit.ts';

const permissions = { publish: [], subscribe: true, data: true };
const admitted = {
  permissions,
  attributes: { role: 'guest' },
  roomMetadata: 'plans',
  peers: [{ id: 'host', metadata: null, tracks: [] }],
  components: [],
  activeSpeaker: 'host',
};
const statesOf = (reported: readonly { name: string; data: unknown }[]) =>
  reported.flatMap(({ name, data }) => (name === 'stateChanged' ? [(data as { state: string }).state] : []));

test('a room client waits with its name, gets the room when it is admitted, and only then has joined', async (t) => {
  const server = await startFakeServer(t);
  const { room, reported, until } = roomAt(t, server, { metadata: { name: 'Ada' } });
  const joined = room.join();
  let done = false;
  void joined.then(() => {
    done = true;
  });
  const socket = await server.next();
  await socket.welcome({ waiting: true });
  const shown = await socket.next();
  assert.deepEqual([shown.method, shown.data], ['setPeerMetadata', { metadata: { name: 'Ada' } }]);
  await until('waiting');
  assert.deepEqual([room.state, room.peers.size, done], ['waiting', 0, false]);
  socket.answer(shown);
  socket.event('admitted', admitted);
  await joined;
  assert.deepEqual(statesOf(reported), ['connecting', 'waiting', 'connecting', 'joined']);
  assert.deepEqual([...room.peers.keys()], ['host']);
  assert.deepEqual([room.attributes, room.roomMetadata, room.activeSpeaker], [{ role: 'guest' }, 'plans', 'host']);
  assert.deepEqual(room.permissions, permissions);
  const names = reported.map(({ name }) => name);
  assert.ok(names.indexOf('peerJoined') < names.indexOf('admitted'));
});

test('a denied room client closes as denied and does not reconnect', async (t) => {
  const server = await startFakeServer(t);
  const { room } = roomAt(t, server);
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome({ waiting: true });
  socket.webSocket.close(4403, 'Peer removed');
  await assert.rejects(joined, (error) => error instanceof RoomClosedError && error.closing.reason === 'denied' && !error.closing.canRetry);
  assert.deepEqual([room.state, server.opened()], ['closed', 1]);
});

test('a wait continues on the next socket, and an admission meanwhile is reported after the resume', async (t) => {
  const server = await startFakeServer(t);
  const { room, reported, until } = roomAt(t, server, { subscribe: 'manual' });
  const joined = room.join();
  const first = await server.next();
  await first.welcome({ waiting: true });
  const held = await first.next();
  reported.length = 0;
  first.cut();
  const second = await server.next();
  await second.welcome({ resumed: true, waiting: true, lastRequest: held.id });
  await until('stateChanged', ({ state }) => state === 'waiting');
  second.cut();
  const third = await server.next();
  await third.welcome({ resumed: true, lastRequest: held.id });
  third.event('admitted', admitted);
  third.answer(held);
  await joined;
  assert.deepEqual(statesOf(reported), ['connecting', 'waiting', 'connecting', 'waiting', 'connecting', 'joined']);
  assert.deepEqual([...room.peers.keys()], ['host']);
  third.event('admitted', { ...admitted, peers: [] });
  third.event('data', { from: null, label: 'l', payload: 1 });
  await until('data');
  assert.equal(room.peers.size, 1);
});

test('a client of a room that was recreated waits again, without the roster of the lost room', async (t) => {
  const { server, socket, room, reported, until } = await joinedRoom(t, {}, { peers: admitted.peers });
  reported.length = 0;
  socket.cut();
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', incarnation: 'incarnation-2', waiting: true });
  await until('waiting');
  assert.equal(room.peers.size, 0);
  next.event('admitted', admitted);
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.deepEqual(statesOf(reported), ['reconnecting', 'waiting', 'connecting', 'joined']);
});
