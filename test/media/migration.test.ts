// A killed media worker of a room that uses two, with a whole node: its peers migrate in their sessions, or join again.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { type EnteredSocket, PeerSocket } from '../kit/network/peer-socket.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { type StartedNode, splitRooms, startNode } from '../kit/processes/start-node.ts';
import { opusParameters } from './kit.ts';

type Joined = { id: string; token: string; socket: EnteredSocket; send: string };

async function openTransports(socket: PeerSocket): Promise<string> {
  const send = await socket.request('createTransport', { direction: 'send' });
  await socket.request('createTransport', { direction: 'recv' });
  return String(send.data?.id);
}

async function join(t: TestContext, { api, peerSocketUrl }: StartedNode, id: string, { migrates = true } = {}): Promise<Joined> {
  const { body } = await api.post('/room/r/peer', { type: 'webrtc', peerId: id });
  const { token } = body.data;
  const socket = await PeerSocket.enter(peerSocketUrl, token);
  t.after(() => socket.webSocket.terminate());
  if (migrates) assert.equal((await socket.request('setFeatures', { features: ['migrate'] })).ok, true);
  const send = await openTransports(socket);
  await socket.request('join', { rtpCapabilities: socket.welcome.data?.rtpCapabilities });
  return { id, token, socket, send };
}

async function publish({ socket }: Joined, transportId: string): Promise<string> {
  const { data, error } = await socket.request('publish', { transportId, kind: 'audio', rtpParameters: opusParameters('0'), key: 'mic' });
  assert.equal(error, undefined);
  return String(data?.trackId);
}

const subscriptionsOf = ({ socket }: Joined, trackId: string) =>
  socket.events().filter(({ event, data }) => data.trackId === trackId && /ubscribed$/.test(event));

test('peers of a killed media worker continue in their sessions with the same tracks; older clients are closed with 1001', async (t) => {
  const node = await startNode(t, splitRooms);
  const { api } = node;
  const events = await watchEvents(t, node);
  await api.post('/room', { roomId: 'r' });
  const legs = async () => (await api.get('/room/r')).body.data.legs as { worker: number; peers: number }[];
  const alice = await join(t, node, 'alice');
  const hers = await publish(alice, alice.send);
  const bob = await join(t, node, 'bob');
  const his = await publish(bob, bob.send);
  await Promise.all([alice.socket.waitFor('trackSubscribed'), bob.socket.waitFor('trackSubscribed')]);
  const old = [await join(t, node, 'old-1', { migrates: false })];
  while ((await legs())[1]?.peers === 1) old.push(await join(t, node, `old-${old.length + 1}`, { migrates: false }));
  const doomed = old.at(-1) as Joined;

  const before = events.events('roomEvent').length;
  process.kill(node.node.parts.media.workers()[1]?.pid ?? 0, 'SIGKILL');
  assert.deepEqual(await bob.socket.waitFor('migrate'), { reason: 'lost' });
  assert.deepEqual(await doomed.socket.closed, { code: 1001, reason: 'Media lost: join again' });
  assert.equal(await publish(bob, await openTransports(bob.socket)), his);
  await eventually('alice receives the track again', () => subscriptionsOf(alice, his).length === 3);
  await eventually('bob receives the track of alice again', () => subscriptionsOf(bob, hers).length === 2);
  assert.deepEqual(
    subscriptionsOf(alice, his).map(({ event }) => event),
    ['trackSubscribed', 'trackUnsubscribed', 'trackSubscribed'],
  );
  assert.deepEqual(alice.socket.events('migrate'), []);
  assert.deepEqual(
    alice.socket.events().flatMap(({ event, data }) => (/^(peerLeft|trackRemoved)$/.test(event) ? [data.peerId] : [])),
    [doomed.id],
  );
  assert.deepEqual(
    (await legs()).map(({ worker, peers }) => [worker, peers]),
    [[0, 1 + old.length]],
  );
  const again = await PeerSocket.enter(node.peerSocketUrl, doomed.token);
  t.after(() => again.webSocket.terminate());
  assert.equal(again.welcome.ok, true);
  await eventually('both events', () => events.events('roomEvent').length > before + 1);
  assert.deepEqual(
    events
      .events('roomEvent')
      .slice(before)
      .map(({ data }) => [data.type, data.peerId]),
    [
      ['PeerDisconnected', doomed.id],
      ['PeerConnected', doomed.id],
    ],
  );
});
