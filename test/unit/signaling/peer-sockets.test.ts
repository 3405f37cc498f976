// Life of a session: authentication, takeover, and every way to end it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { responseSchemas } from '../../../api/socket/peer.ts';
import type { RemotePeer } from '../../../api/socket/peer-events.ts';
import { type AccessTokenInit, signAccessToken } from '../../kit/access-tokens.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { type EnteredSocket, PeerSocket } from '../../kit/network/peer-socket.ts';
import { enteredServer, startSocketServer } from './socket-server.ts';

test('a peer that authenticates is connected and receives the state of the room', async (t) => {
  const server = await startSocketServer(t);
  const other = await server.enter('other');
  const socket = await server.enter('a');
  assert.equal(socket.welcome.ok, true);
  const welcome = responseSchemas.authenticate.parse(socket.welcome.data);
  assert.deepEqual([welcome.peerId, welcome.roomId, welcome.resumed, welcome.lastRequest], ['a', 'room', false, -1]);
  assert.deepEqual(welcome.peers, [{ id: 'other', metadata: null, tracks: [] }]);
  assert.deepEqual(welcome.iceServers, [{ urls: 'turn:turn.example.com', username: 'a' }]);
  assert.deepEqual([welcome.svcAddress, welcome.resumeWindow], ['media.example.com:5002/rooms', 10]);
  assert.equal(socket.peer.connected, true);
  await other.waitFor('peerJoined');
});

test('a second socket of a connected peer is rejected with conflict and 4401, and the first stays open', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const second = await PeerSocket.enter(server.url, first.token);
  assert.equal(second.welcome.error?.code, 'conflict');
  assert.deepEqual(await second.closed, { code: 4401, reason: 'Not authenticated' });
  assert.equal((await first.request('ping')).ok, true);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected']);
});

test('a second socket that takes over closes the first with 4409 and connects the peer again', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const second = await PeerSocket.enter(server.url, first.token, { takeover: true });
  assert.deepEqual(await first.closed, { code: 4409, reason: 'Taken over by a newer socket' });
  assert.equal(second.welcome.data?.resumed, false);
  assert.notEqual(second.welcome.data?.sessionId, first.welcome.data?.sessionId);
  assert.equal((await second.request('ping')).ok, true);
  assert.deepEqual(server.types('a'), ['PeerAdded', 'PeerConnected', 'PeerDisconnected', 'PeerConnected']);
});

test('tracks of a session end when another one takes over', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  const transport = await first.request('createTransport', { direction: 'send' });
  await first.request('publish', { transportId: transport.data?.id, kind: 'audio', rtpParameters: {} });
  await PeerSocket.enter(server.url, first.token, { takeover: true });
  const expected = ['PeerAdded', 'PeerConnected', 'TrackAdded', 'TrackRemoved', 'PeerDisconnected', 'PeerConnected'];
  assert.deepEqual(server.types('a'), expected);
});

test('leave is answered, disconnects the peer and closes with 1000 without a reason', async (t) => {
  const { server, socket } = await enteredServer(t);
  assert.equal((await socket.request('leave')).ok, true);
  assert.deepEqual(await socket.closed, { code: 1000, reason: 'Peer left' });
  assert.deepEqual([socket.peer.connected, server.sockets.sessions], [false, 0]);
});

test('a client that closes with 1000 has left immediately', async (t) => {
  const { server, socket } = await enteredServer(t);
  await socket.close(1000);
  await server.happened('PeerDisconnected', 'a');
  assert.equal(server.sockets.sessions, 0);
});

test('a token is valid again after its peer has left', async (t) => {
  const { server, socket: first } = await enteredServer(t);
  await first.request('leave');
  const second = await PeerSocket.enter(server.url, first.token);
  assert.equal(second.welcome.ok, true);
});

test('a removed peer is closed with 1000 "Peer removed", and its session has ended', async (t) => {
  const { server, socket } = await enteredServer(t);
  await server.rooms.deletePeer('room', 'a');
  assert.deepEqual(await socket.closed, { code: 1000, reason: 'Peer removed' });
  const again = await PeerSocket.enter(server.url, socket.token, { resume: socket.welcome.data?.sessionId, received: 0 });
  assert.equal(again.welcome.error?.code, 'peer_not_found');
  assert.equal((await again.closed).code, 4401);
});

test('peers of a deleted room are closed with 1000 "Room stopped"', async (t) => {
  const { server, socket } = await enteredServer(t);
  await server.rooms.deleteRoom('room');
  assert.deepEqual(await socket.closed, { code: 1000, reason: 'Room stopped' });
  assert.equal(server.sockets.sessions, 0);
});

test('peers of a crashed room are closed with 1011 "Internal server error"', async (t) => {
  const { server, socket } = await enteredServer(t);
  server.media.room('room').crash('worker died');
  assert.deepEqual(await socket.closed, { code: 1011, reason: 'Internal server error' });
});

test('an unexpected error crashes only its peer: 1011 and PeerCrashed', async (t) => {
  const server = await startSocketServer(t);
  const other = await server.enter('other');
  const socket = await server.enter('a');
  socket.peer.session.createTransport = async () => {
    throw new TypeError('a bug');
  };
  socket.post('createTransport', { direction: 'send' });
  assert.deepEqual(await socket.closed, { code: 1011, reason: 'Internal server error' });
  assert.deepEqual(socket.frames.length, 1);
  assert.deepEqual(server.types('a').slice(-2), ['PeerDisconnected', 'PeerCrashed']);
  assert.equal((await other.request('ping')).ok, true);
});

test('a room that temporarily cannot be joined responds with the reason, and the peer may retry', async (t) => {
  const server = await startSocketServer(t);
  const { peer, token } = await server.addPeer('a');
  const { welcome } = peer;
  peer.welcome = async () => {
    throw new ServiceError('unavailable', 'No worker runs');
  };
  const socket = await PeerSocket.enter(server.url, token);
  assert.deepEqual(socket.welcome.error, { code: 'unavailable', message: 'No worker runs' });
  assert.deepEqual(await socket.closed, { code: 4401, reason: 'Not authenticated' });
  assert.deepEqual([peer.connected, server.sockets.sessions], [false, 0]);
  peer.welcome = welcome;
  assert.equal((await PeerSocket.enter(server.url, token)).welcome.ok, true);
});

test('a room that ends during a join closes the socket with its reason', async (t) => {
  const server = await startSocketServer(t);
  const { peer, token } = await server.addPeer('a');
  const { promise, resolve } = Promise.withResolvers<never>();
  peer.welcome = () => promise;
  const socket = await PeerSocket.open(server.url);
  socket.post('authenticate', { token });
  await server.happened('PeerConnected', 'a');
  await server.rooms.deleteRoom('room');
  assert.deepEqual(await socket.closed, { code: 1000, reason: 'Room stopped' });
  resolve(undefined as never);
  assert.deepEqual(socket.frames, []);
});

test('peers of a room that ends with its node are closed with 1001, and only its former peers get a retryable error', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('a');
  const { incarnation } = server.rooms.room('room');
  const socket = await PeerSocket.enter(server.url, token);
  server.rooms.close('draining');
  assert.deepEqual(await socket.closed, { code: 1001, reason: 'Node going away: join again at another node' });
  const refusal = async (data: Record<string, unknown>) => (await PeerSocket.enter(server.url, token, data)).welcome.error?.code;
  assert.equal(await refusal({ incarnation }), 'room_not_found');
  assert.equal(await refusal({}), 'peer_not_found');
});

test('events during a join are sent after the response', async (t) => {
  const server = await startSocketServer(t);
  const { peer, token } = await server.addPeer('a');
  const welcome = peer.welcome.bind(peer);
  peer.welcome = async () => {
    peer.session.send({ event: 'activeSpeaker', data: { peerId: 'x' } });
    return welcome();
  };
  const socket = await PeerSocket.enter(server.url, token);
  await socket.waitFor('activeSpeaker');
  assert.deepEqual(Object.keys(socket.frames[0] ?? {}), ['id', 'ok', 'data']);
});

test('a draining node notifies its peers, peers that join later, and about the cancellation', async (t) => {
  const server = await startSocketServer(t);
  const early = await server.enter('early');
  server.sockets.drainingNotice(new Date(0));
  assert.deepEqual(await early.waitFor('draining'), { deadline: '1970-01-01T00:00:00.000Z' });
  const late = await server.enter('late');
  assert.deepEqual(await late.waitFor('draining'), { deadline: '1970-01-01T00:00:00.000Z' });
  server.sockets.drainingNotice(null);
  assert.deepEqual(await late.waitFor('draining', ({ deadline }) => deadline === null), { deadline: null });
  const after = await server.enter('after');
  await after.request('ping');
  assert.deepEqual(after.events('draining'), []);
});

test('changed ICE servers are sent to each peer, unchanged ones are not', async (t) => {
  let urls = 'stun:one.example.com';
  const { server, socket } = await enteredServer(t, { iceServers: ({ id }) => [{ urls, username: id }] });
  server.sockets.iceServersUpdated();
  urls = 'stun:two.example.com';
  server.sockets.iceServersUpdated();
  await socket.request('ping');
  assert.deepEqual(fieldsOf(socket.events('iceServersUpdated'), 'data'), [{ iceServers: [{ urls, username: 'a' }] }]);
});

test('ICE servers that changed before a resume are sent to the peer again', async (t) => {
  let urls = 'stun:one.example.com';
  const { server, socket } = await enteredServer(t, { iceServers: ({ id }) => [{ urls, username: id }] });
  await socket.cut();
  urls = 'stun:two.example.com';
  const again = await PeerSocket.enter(server.url, socket.token, { resume: socket.welcome.data?.sessionId, received: 0 });
  server.sockets.iceServersUpdated();
  await again.request('ping');
  assert.deepEqual(fieldsOf(again.events('iceServersUpdated'), 'data'), [{ iceServers: [{ urls, username: 'a' }] }]);
});

test('a token is renewed before it expires, and the new one is valid', async (t) => {
  const server = await startSocketServer(t);
  const { peer } = await server.addPeer('a');
  const socket = await PeerSocket.enter(server.url, await server.keys.sign({ roomId: 'room', peerId: peer.id }, 2));
  const { token } = (await socket.waitFor('tokenUpdated')) as { token: string };
  const claims = await server.keys.verify(token);
  const soon = Date.now() + 23 * 3_600_000;
  assert.ok(claims && claims.expiresAt > soon);
});

test('a socket that answers no pings is closed, and its session can be resumed', async (t) => {
  const server = await startSocketServer(t, { limits: { pongTimeout: 1_500, minPongTimeout: 0 } });
  const { token } = await server.addPeer('a');
  const socket = await PeerSocket.open(server.url, { autoPong: false });
  const { data } = await socket.request('authenticate', { token });
  const lively = await server.enter('b');
  assert.equal((await socket.closed).code, 1006);
  assert.equal(server.sockets.sessions, 2);
  assert.equal((await lively.request('ping')).ok, true);
  const next = await PeerSocket.enter(server.url, token, { resume: data?.sessionId, received: 0 });
  assert.equal(next.welcome.data?.resumed, true);
});

/** A socket that authenticates with an access token. */
async function enterWithAccess(url: string, init: AccessTokenInit, more: Record<string, unknown> = {}): Promise<EnteredSocket> {
  const socket = await PeerSocket.open(url);
  return Object.assign(socket, { welcome: await socket.request('authenticate', { accessToken: await signAccessToken(init), ...more }) });
}
const permissionsOf = ({ welcome }: EnteredSocket) => responseSchemas.authenticate.parse(welcome.data).permissions;
const creates = { roomCreate: true };
/** Seconds since 1970. Tokens that are issued in the next second are newer than everything that has happened. */
const seconds = () => Math.floor(Date.now() / 1000);
const later = () => seconds() + 1;

test('an access token creates its room and its peer without a request over REST', async (t) => {
  const server = await startSocketServer(t);
  const claims = { name: 'Ada', metadata: '{"role":"host"}', attributes: { seat: '7' }, roomConfig: { maxParticipants: 4 } };
  const socket = await enterWithAccess(server.url, { video: { ...creates, canPublishSources: ['microphone'] }, claims });
  const welcome = responseSchemas.authenticate.parse(socket.welcome.data);
  assert.deepEqual([welcome.peerId, welcome.roomId], ['alice', 'room']);
  assert.deepEqual(welcome.permissions, { publish: ['audio'], subscribe: true, data: true, publishSources: ['microphone'] });
  const { peers, config } = await server.rooms.getRoom('room');
  assert.deepEqual([config.maxPeers, config.peerlessPurgeTimeout], [4, 300]);
  assert.deepEqual([peers[0]?.id, peers[0]?.metadata, peers[0]?.attributes], ['alice', { name: 'Ada', role: 'host' }, { seat: '7' }]);
  assert.deepEqual(welcome.attributes, { seat: '7' });
});

test('an identity that is no id becomes the externalId of its peer', async (t) => {
  const server = await startSocketServer(t);
  const init = { identity: 'ada@example.com', video: creates };
  await enterWithAccess(server.url, init);
  await enterWithAccess(server.url, init);
  const { peers } = await server.rooms.getRoom('room');
  assert.deepEqual(
    peers.map(({ externalId }) => externalId),
    ['ada@example.com'],
  );
});

test('an access token whose room does not exist, or that is not valid, is rejected with one message and 4401', async (t) => {
  const server = await startSocketServer(t);
  const rejected = async (init: AccessTokenInit) => {
    const socket = await enterWithAccess(server.url, init);
    assert.equal((await socket.closed).code, 4401);
    return socket.welcome.error;
  };
  assert.deepEqual(await rejected({}), { code: 'room_not_found', message: 'Room room does not exist' });
  assert.equal((await rejected({ now: 0 }))?.message, 'The access token has expired');
  assert.equal((await rejected({ video: { roomJoin: false } }))?.code, 'forbidden');
  for (const data of [{ token: 'a', accessToken: 'b' }, {}]) {
    const socket = await PeerSocket.open(server.url);
    const { error } = await socket.request('authenticate', data);
    assert.deepEqual([error?.code, error?.message.includes('"a"')], ['invalid_field', false]);
  }
});

test('the newest socket of an identity takes over, but not if it has only lost a session', async (t) => {
  const server = await startSocketServer(t);
  const first = await enterWithAccess(server.url, { video: creates });
  const second = await enterWithAccess(server.url, {});
  assert.equal((await first.closed).code, 4409);
  const returning = await enterWithAccess(server.url, {}, { resume: first.welcome.data?.sessionId, received: 0 });
  assert.equal(returning.welcome.error?.code, 'conflict');
  await second.cut();
  const resumed = await enterWithAccess(server.url, {}, { resume: second.welcome.data?.sessionId, received: 0 });
  assert.equal(resumed.welcome.data?.resumed, true);
});

test('an access token changes permissions only if it was issued after their last change', async (t) => {
  const server = await startSocketServer(t);
  const now = seconds();
  await enterWithAccess(server.url, { video: creates, now });
  await server.rooms.patchPeer('room', 'alice', { permissions: { publish: [] } });
  const same = await enterWithAccess(server.url, { now });
  assert.deepEqual(permissionsOf(same).publish, []);
  const newer = await enterWithAccess(server.url, { now: later(), claims: { name: 'Ada' }, video: { canPublishSources: ['camera'] } });
  assert.deepEqual(permissionsOf(newer).publish, ['video']);
  assert.deepEqual((await server.rooms.getRoom('room')).peers[0]?.metadata, { name: 'Ada' });
});

test('other peers do not see a hidden peer, backends do', async (t) => {
  const server = await startSocketServer(t);
  const seeing = await server.enter('a');
  const hidden = await enterWithAccess(server.url, { identity: 'ghost', video: { hidden: true } });
  await hidden.request('setPeerMetadata', { metadata: 'boo' });
  assert.deepEqual((await server.enter('b')).welcome.data?.peers, [{ id: 'a', metadata: null, tracks: [] }]);
  await hidden.request('leave');
  await seeing.waitFor('peerJoined', ({ peer }) => (peer as RemotePeer).id === 'b');
  assert.deepEqual(
    seeing.events().map(({ event }) => event),
    ['peerJoined'],
  );
  assert.deepEqual(server.types('ghost'), ['PeerAdded', 'PeerConnected', 'PeerMetadataUpdated', 'PeerDisconnected']);
  const { peers } = await server.rooms.getRoom('room');
  assert.deepEqual(
    peers.map(({ id, hidden: isHidden, permissions }) => [id, isHidden, permissions.publish.length]),
    [
      ['a', false, 2],
      ['ghost', true, 0],
      ['b', false, 2],
    ],
  );
});

test('a deletion of a peer or a room revokes the access tokens issued before it', async (t) => {
  const server = await startSocketServer(t);
  const now = seconds();
  const identities = ['alice', 'ada@example.com', 'absent'];
  const errorOf = async (identity: string, init: AccessTokenInit) =>
    (await enterWithAccess(server.url, { identity, ...init })).welcome.error;
  for (const identity of identities.slice(0, 2)) assert.equal(await errorOf(identity, { video: creates, now }), undefined);
  const ids = (await server.rooms.getRoom('room')).peers.map(({ id }) => id);
  for (const id of ids) await server.rooms.deletePeer('room', id);
  await assert.rejects(server.rooms.deletePeer('room', 'absent'), { code: 'peer_not_found' });
  for (const identity of identities) {
    const message = 'The access token is revoked: its peer was removed after it was issued';
    assert.deepEqual(await errorOf(identity, { now }), { code: 'invalid_token', message });
    assert.equal(await errorOf(identity, { now: later() }), undefined);
  }
  await server.rooms.deleteRoom('room');
  const message = 'The access token is revoked: its room was deleted after it was issued';
  assert.deepEqual(await errorOf('bob', { video: creates, now }), { code: 'invalid_token', message });
  assert.equal(await errorOf('bob', { video: creates, now: later() }), undefined);
});
