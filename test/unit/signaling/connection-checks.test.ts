// Trying the network before entering: nobody is told, nothing stays, and there is one at a time.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { responseSchemas } from '../../../node/signaling/messages.ts';
import { eventually } from '../../kit/eventually.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { type SocketServer, startSocketServer } from './socket-server.ts';

const check = async (server: SocketServer, token: string) => {
  const socket = await PeerSocket.open(server.url);
  return Object.assign(socket, { answer: await socket.request('checkConnection', { token }) });
};
const mediaOf = (server: SocketServer) => server.media.room('room').peers.size;

test('a check gets a transport and the relays, and nobody in the room is told', async (t) => {
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
  // The server hears of it after us: a whole other check ends behind it.
  const next = await check(server, token);
  next.webSocket.close();
  await next.closed;
  await eventually('the checks are as many as they should be', () => mediaOf(server) === before && server.sockets.checks === 0);
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

test('a newer check of the same peer ends the older, and its media with it', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('guest');
  const first = await check(server, token);
  const second = await check(server, token);
  assert.deepEqual(await first.closed, { code: 4409, reason: 'Taken over by a newer socket' });
  await eventually('the checks are as many as they should be', () => mediaOf(server) === 1);
  assert.equal(server.sockets.checks, 1);
  assert.equal(second.answer.ok, true);
});

test('a check ends by itself', async (t) => {
  const server = await startSocketServer(t, { limits: { checkTimeout: 50 } });
  const { token } = await server.addPeer('guest');
  const socket = await check(server, token);
  assert.deepEqual(await socket.closed, { code: 4408, reason: 'Authentication timeout' });
  await eventually('the checks are as many as they should be', () => mediaOf(server) === 0);
});

test('a check that goes on talking is closed, and a bad token gets none', async (t) => {
  const server = await startSocketServer(t);
  const { token } = await server.addPeer('guest');
  const socket = await check(server, token);
  socket.post('join', { rtpCapabilities: {} });
  assert.deepEqual(await socket.closed, { code: 4400, reason: 'Malformed message' });
  const refused = await check(server, 'x.y.z');
  assert.equal(refused.answer.error?.code, 'invalid_token');
  assert.deepEqual(await refused.closed, { code: 4401, reason: 'Not authenticated' });
});

test('a room that ends takes the media of a check with it', async (t) => {
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
