// Room client without media, against a scripted server.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import type { Track } from '../../../packages/client/src/generated/protocol.ts';
import { RequestError, RoomClosedError } from '../../../packages/client/src/index.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { emptyWelcome, type FakeSocket, startFakeServer } from './fake-server.ts';
import { joinedRoom, roomAt } from './room-kit.ts';

const track = (id: string, changes: Partial<Track> = {}): Track => ({
  id,
  type: 'audio',
  metadata: null,
  encoding: 'opus',
  simulcast: false,
  paused: false,
  muted: false,
  encrypted: false,
  ...changes,
});

test('a program without WebRTC joins, sees other peers and exchanges messages', async (t) => {
  const server = await startFakeServer(t);
  const { room, reported, until } = roomAt(t, server, { metadata: { name: 'bot' } });
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome({ peers: [{ id: 'anna', metadata: { name: 'Anna' }, tracks: [track('a1')] }] });
  const metadata = await socket.next();
  assert.deepEqual([metadata.method, metadata.data], ['setPeerMetadata', { metadata: { name: 'bot' } }]);
  socket.answer(metadata);
  await joined;
  assert.equal(room.state, 'joined');
  assert.equal(room.canReceiveMedia, false);
  assert.deepEqual(
    room.peers.get('anna')?.tracks.map(({ id, peerId }) => [id, peerId]),
    [['a1', 'anna']],
  );
  socket.event('trackPaused', { trackId: 'a1', by: 'publisher' });
  socket.event('trackPaused', { trackId: 'a1', by: 'server' });
  socket.event('peerMetadataUpdated', { peerId: 'anna', metadata: 1 });
  socket.event('peerAttributesUpdated', { peerId: 'anna', attributes: { hand: 'up' } });
  socket.event('peerAttributesUpdated', { peerId: 'me', attributes: { role: 'host' } });
  socket.event('roomMetadataUpdated', { metadata: 'planning' });
  socket.event('activeSpeaker', { peerId: 'anna' });
  socket.event('draining', { deadline: '2026-11-21T10:00:00.000Z' });
  socket.event('permissionsUpdated', { permissions: { publish: [], subscribe: true, data: false } });
  socket.event('data', { from: null, label: 'chat', payload: 'hello' });
  assert.deepEqual(await until('data'), { from: null, label: 'chat', payload: 'hello' });
  const transcript = { id: 's', text: 'Hello', speakerId: 'anna' };
  socket.event('transcriptAdded', { from: 'agent', transcript });
  assert.deepEqual(await until('transcriptAdded'), { from: 'agent', transcript });
  assert.equal(room.track('a1')?.paused, true);
  assert.equal(room.track('a1')?.muted, true);
  assert.equal(room.peers.get('anna')?.metadata, 1);
  assert.deepEqual(room.peers.get('anna')?.attributes, { hand: 'up' });
  assert.deepEqual((await until('profileUpdated')).attributes, { role: 'host' });
  assert.deepEqual(room.attributes, { role: 'host' });
  assert.deepEqual(await until('roomUpdated'), { metadata: 'planning' });
  assert.equal(room.roomMetadata, 'planning');
  assert.equal(room.activeSpeaker, 'anna');
  assert.deepEqual(room.permissions?.publish, []);
  assert.deepEqual((await until('draining')).deadline, new Date('2026-11-21T10:00:00.000Z'));
  const sent = room.sendData('chat', 'hi', ['anna']);
  const frame = await socket.next();
  assert.deepEqual(frame.data, { label: 'chat', payload: 'hi', to: ['anna'] });
  socket.answer(frame);
  await sent;
  const set = room.setRoomMetadata('plans');
  const request = await socket.next();
  assert.deepEqual([request.method, request.data], ['setRoomMetadata', { metadata: 'plans' }]);
  socket.answer(request);
  await set;
  socket.event('peerLeft', { peerId: 'anna' });
  await until('peerLeft');
  assert.equal(room.track('a1'), undefined);
  assert.deepEqual(
    fieldsOf(
      reported.filter(({ name }) => name.startsWith('peer') || name.startsWith('track')),
      'name',
    ),
    ['peerJoined', 'trackAdded', 'trackUpdated', 'trackUpdated', 'peerUpdated', 'peerUpdated', 'trackRemoved', 'peerLeft'],
  );
});

test('a new session reports only the differences', async (t) => {
  const stays = { id: 'stays', metadata: null, tracks: [track('s1')] };
  const file = { id: 'file', type: 'file' as const, state: 'running' as const, tracks: [] };
  const starting = { ...file, state: 'starting' as const };
  const goes = { id: 'goes', metadata: null, tracks: [track('g1')] };
  const { server, socket, reported, until } = await joinedRoom(t, {}, { peers: [stays, goes], components: [starting] });
  socket.event('componentUpdated', { componentId: 'file', state: 'running' });
  assert.deepEqual(await until('componentUpdated'), { component: file });
  reported.length = 0;
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', peers: [stays, { id: 'comes', metadata: null, tracks: [] }] });
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.deepEqual(fieldsOf(reported, 'name'), [
    'stateChanged',
    'trackRemoved',
    'peerLeft',
    'componentRemoved',
    'peerJoined',
    'stateChanged',
  ]);
});

test('the active speaker is known from the welcome, and reset with the session', async (t) => {
  const { server, socket, room, reported, until } = await joinedRoom(t, {}, { activeSpeaker: 'anna' });
  assert.equal(room.activeSpeaker, 'anna');
  socket.event('activeSpeaker', { peerId: 'anna' });
  socket.cut();
  await (await server.next()).welcome({ sessionId: 'session-2' });
  await until('activeSpeaker', ({ peerId }) => peerId === null);
  assert.equal(room.activeSpeaker, null);
  const speakers = reported.filter(({ name }) => name === 'activeSpeaker').map(({ data }) => data);
  assert.deepEqual(speakers, [{ peerId: 'anna' }, { peerId: null }]);
});

test('a new session gets the latest metadata and subscription mode', async (t) => {
  const answers = (socket: FakeSocket) => void socket.automatically('setPeerMetadata');
  const { server, socket, room, until } = await joinedRoom(t, { metadata: 'first' }, {}, answers);
  await room.setMetadata('second');
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  const manual = room.setSubscription('manual');
  const seen: unknown[] = [];
  server.prepare(
    (next) => void next.automatically('setPeerMetadata', (frame) => seen.push(frame.data.metadata) && {}).automatically('setSubscription'),
  );
  const next = await server.next();
  next.automatically('setPeerMetadata', (frame) => seen.push(frame.data.metadata) && {}).automatically('setSubscription');
  await next.welcome({ sessionId: 'session-2' });
  await manual;
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.deepEqual(seen, ['second']);
});

test('join rejects with the reason if the room cannot be joined', async (t) => {
  const server = await startFakeServer(t);
  const { room, reported } = roomAt(t, server);
  const joined = room.join();
  const socket = await server.next();
  socket.refuse(await socket.next(), 'peer_not_found', 'Peer me does not exist in room r');
  socket.webSocket.close(4401);
  await assert.rejects(joined, (error) => error instanceof RoomClosedError && error.closing.reason === 'notFound');
  assert.equal(room.state, 'closed');
  assert.deepEqual(fieldsOf(reported, 'name'), ['stateChanged', 'stateChanged', 'closed']);
  await assert.rejects(room.sendData('a', 1), RoomClosedError);
  await assert.rejects(room.publish(new FakeMediaStreamTrack({ kind: 'audio' })), RoomClosedError);
});

test('a throwing listener affects neither other listeners nor the room', async (t) => {
  const { socket, room, until } = await joinedRoom(t);
  const scope = globalThis as { reportError?: unknown };
  const thrown = new Promise<Error>((resolve) => {
    scope.reportError = resolve;
  });
  t.after(() => delete scope.reportError);
  room.on('data', () => {
    throw new Error('of a listener');
  });
  let others = 0;
  const stop = room.on('data', () => {
    others += 1;
  });
  socket.event('data', { from: null, label: 'a', payload: 1 });
  await until('data');
  assert.equal((await thrown).message, 'of a listener');
  assert.equal(others, 1);
  stop();
});

test('RPCs are handled and rejected by the application, and responses of other peers settle requests', async (t) => {
  const { server, socket, room } = await joinedRoom(t);
  room.rpc.handle('raise', ({ from, payload }) => `${from}: ${payload}`);
  room.rpc.handle('fail', () => {
    throw new Error('Not now');
  });
  for (const [method, response] of [
    ['raise', { payload: 'anna: 1' }],
    ['fail', { error: 'Not now' }],
    ['unknown', { error: 'No handler of unknown' }],
  ] as const) {
    socket.event('rpcRequested', { rpcId: method, from: 'anna', method, payload: 1 });
    const frame = await socket.next();
    assert.deepEqual([frame.method, frame.data], ['respondRpc', { rpcId: method, ...response }]);
    socket.answer(frame);
  }
  const [done, failed, lost] = ['a', 'b', 'c'].map((method) => room.rpc.request('anna', method, null, { timeout: 2_500 }));
  const frames = [await socket.next(), await socket.next(), await socket.next()];
  assert.deepEqual(frames[0]?.data, { rpcId: '1', to: 'anna', method: 'a', payload: null, timeout: 3 });
  for (const frame of frames) socket.answer(frame);
  socket.event('rpcResponded', { rpcId: '1', payload: 'done' });
  socket.event('rpcFailed', { rpcId: '2', code: 'rpc_timeout', message: 'Too late' });
  assert.equal(await done, 'done');
  await assert.rejects(failed ?? assert.fail(), (error) => error instanceof RequestError && error.code === 'rpc_timeout');
  const unanswered = assert.rejects(lost ?? assert.fail(), (error) => error instanceof RequestError && error.code === 'session_lost');
  socket.cut();
  await (await server.next()).welcome({ sessionId: 'session-2' });
  await unanswered;
});

test('the welcome contains everything that the room exposes', async (t) => {
  const { room } = await joinedRoom(t);
  assert.deepEqual([room.peerId, room.roomId], [emptyWelcome.peerId, emptyWelcome.roomId]);
});
