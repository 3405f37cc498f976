// Connection checks: no notification of other peers, no leaks, one at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseSchemas } from '../../../api/socket/peer.ts';
import { eventually } from '../../kit/eventually.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { type SocketServer, startSocketServer } from './socket-server.ts';

const check = async (server: SocketServer, token: string) => {
  const socket = await PeerSocket.open(server.url);
  return Object.assign(socket, { answer: await socket.request('checkConnection', { token }) });
};
const mediaOf = (server: SocketServer) => server.media.room('room').peers.size;

test('a check gets a transport and ICE servers, and no peer in the room is notified', async (t) => {
  const server = await startSocketServer(t);
  const other = await server.enter('other');
  const { token, peer } = await server.addPeer('guest');
  const before = mediaOf(server);
  const socket = await check(server, token);
  const data = responseSchemas.checkConnection.parse(socket.answer.data);
  assert.equal(data.roomId, 'room');
  assert.deepEqual(data.iceServers, [{ urls: 'turn:turn.example.com', username: 'guest' }]);
  assert.equal(typeof data.transport.id, 'string');
  assert.equal(mediaOf(server), before + 1);
  assert.equal(peer.connected, false);
  assert.deepEqual(server.types('guest'), ['PeerAdded']);
  assert.deepEqual(other.events(), []);
  socket.webSocket.close();
  await socket.closed;
  // The server detects the close later than the client, so a whole other check ends in between.
  const next = await check(server, token);
  next.webSocket.close();
  await next.closed;
  await eventually('the expected number of checks', () => mediaOf(server) === before && server.sockets.checks === 0);
  const entered = await PeerSocket.enter(server.url, token);
  assert.equal(entered.welcome.ok, true);
});

test('a check may run while the same peer is in the room', async (t) => {
  const server = await startSocketServer(t);
  const guest = await server.enter('guest');
  const socket = await check(server, guest.token);
  assert.equal(socket.answer.ok, true);
  assert.equal((await guest.request('ping')).ok, true);
});

test('a newer check of the same peer ends the older one and its transport', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('guest');
  const first = await check(server, token);
  const second = await check(server, token);
  assert.deepEqual(await first.closed, { code: 4409, reason: 'Taken over by a newer socket' });
  await eventually('the expected number of checks', () => mediaOf(server) === 1);
  assert.equal(server.sockets.checks, 1);
  assert.equal(second.answer.ok, true);
});

test('a check ends automatically', async (t) => {
  const server = await startSocketServer(t, { limits: { checkTimeout: 50 } });
  const { token } = await server.addPeer('guest');
  const socket = await check(server, token);
  assert.deepEqual(await socket.closed, { code: 4408, reason: 'Authentication timeout' });
  await eventually('the expected number of checks', () => mediaOf(server) === 0);
});

test('a check that sends further requests is closed, and an invalid token gets none', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('guest');
  const socket = await check(server, token);
  socket.post('join', { rtpCapabilities: {} });
  assert.deepEqual(await socket.closed, { code: 4400, reason: 'Malformed message' });
  const refused = await check(server, 'x.y.z');
  assert.equal(refused.answer.error?.code, 'invalid_token');
  assert.deepEqual(await refused.closed, { code: 4401, reason: 'Not authenticated' });
});

test('a room that ends closes the transport of a check', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('guest');
  const socket = await check(server, token);
  await server.rooms.deleteRoom('room');
  socket.webSocket.close();
  await socket.closed;
  await eventually('the check ends', () => server.sockets.checks === 0);
  const late = await check(server, token);
  assert.equal(late.answer.ok, false);
});
