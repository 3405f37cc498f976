// Admission: who waits in a room with manual admission, what is withheld meanwhile, and every way a wait ends.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { busyOf } from '../../../node/rooms/busy.ts';
import { connectPeer, flushEvents, joinPeer, makeRooms, publish, TestConnection } from '../../kit/fakes/rooms.ts';

/** A room with manual admission and a connected peer `host` that publishes. */
async function hosted(limits: Parameters<typeof makeRooms>[0] = {}) {
  const made = makeRooms(limits);
  await made.rooms.createRoom({ roomId: 'r', admission: 'manual' });
  await made.rooms.addPeer('r', { type: 'webrtc', peerId: 'host', admitted: true });
  const host = await connectPeer(made.rooms, 'r', 'host');
  await publish(host, 'video');
  const room = made.rooms.room('r');
  const wait = async (peerId: string) => {
    const { peer } = await made.rooms.addPeer('r', { type: 'webrtc', peerId, externalId: `of ${peerId}` });
    const connection = new TestConnection();
    peer.connect(connection);
    return { peer, connection };
  };
  const since = made.kinds().length;
  return { ...made, host, room, wait, since: () => made.kinds().slice(since) };
}

test('a waiting peer gets nothing of the room, and other peers do not see it', async () => {
  const { room, host, wait, events, since } = await hosted();
  const { peer, connection } = await wait('ada');
  room.sendData({ label: 'l', payload: 1 });
  room.patch({ metadata: { topic: 'secret' } });
  await publish(host, 'audio');
  peer.profile.setMetadata({ name: 'Ada' });
  peer.profile.update({ attributes: { role: 'guest' } });
  const welcome = await peer.welcome();
  assert.deepEqual(
    [welcome.waiting, welcome.peers, welcome.components, welcome.roomMetadata, welcome.activeSpeaker],
    [true, [], [], null, null],
  );
  assert.deepEqual(connection.events, []);
  assert.deepEqual(
    host.connection.names().filter((name) => name.startsWith('peer')),
    [],
  );
  assert.equal(peer.view().status, 'waiting');
  assert.equal((await room.stats()).peers.find(({ id }) => id === 'ada')?.status, 'waiting');
  assert.throws(() => peer.session, { code: 'peer_not_found' });
  assert.throws(() => peer.connect(new TestConnection()), { code: 'conflict' });
  assert.deepEqual(
    since().filter((kind) => kind.endsWith(':ada')),
    ['PeerAdded:ada', 'PeerWaiting:ada', 'PeerMetadataUpdated:ada', 'PeerAttributesUpdated:ada'],
  );
  assert.deepEqual(events.find(({ type }) => type === 'PeerWaiting')?.metadata, null);
  assert.deepEqual([room.peers.waitingCount, room.peers.connectedCount], [1, 1]);
});

test('an admitted peer joins at once with its connection, gets the room, and stays admitted', async () => {
  const { rooms, room, host, wait, events, since } = await hosted();
  room.patch({ metadata: { topic: 'plans' } });
  const { peer, connection } = await wait('ada');
  peer.rights.change({ data: false });
  peer.admission.admit();
  const [admitted] = connection.of('admitted');
  assert.deepEqual(
    [admitted?.roomMetadata, admitted?.peers.map(({ id, tracks }) => [id, tracks.length]), admitted?.permissions.data],
    [{ topic: 'plans' }, [['host', 1]], false],
  );
  assert.deepEqual(host.connection.of('peerJoined'), [{ peer: { id: 'ada', metadata: null, tracks: [] } }]);
  await peer.session.createTransport('recv', { sctp: false });
  peer.session.subscriptions.join({});
  await flushEvents();
  assert.equal(peer.session.subscriptions.size, 1);
  peer.admission.admit();
  assert.equal(connection.of('admitted').length, 1);
  peer.disconnect();
  await connectPeer(rooms, 'r', 'ada');
  assert.deepEqual(
    since().filter((kind) => kind.endsWith(':ada')),
    ['PeerAdded:ada', 'PeerWaiting:ada', 'PeerWaitingEnded:ada', 'PeerConnected:ada', 'PeerDisconnected:ada', 'PeerConnected:ada'],
  );
  assert.equal(events.find(({ type }) => type === 'PeerWaitingEnded')?.reason, 'admitted');
});

test('a peer admitted before it connects, when it is added or later, does not wait', async () => {
  const { rooms, since } = await hosted();
  await rooms.addPeer('r', { type: 'webrtc', peerId: 'ada' });
  rooms.room('r').peers.get('ada').admission.admit();
  await rooms.addPeer('r', { type: 'webrtc', externalId: 'bob' });
  const { peer } = await rooms.addPeer('r', { type: 'webrtc', externalId: 'bob', admitted: true });
  await connectPeer(rooms, 'r', 'ada');
  await connectPeer(rooms, 'r', peer.id);
  assert.deepEqual(
    since().filter((kind) => kind.startsWith('PeerWaiting')),
    [],
  );
});

test('a denied peer is removed with its own close code, and access tokens issued until then are rejected', async () => {
  const { rooms, room, wait, events, since } = await hosted();
  const { connection } = await wait('ada');
  const access = {
    identity: 'of ada',
    roomId: 'r',
    keyId: 'k',
    metadata: null,
    attributes: {},
    permissions: { publish: [], subscribe: true, data: true },
    hidden: false,
    agent: false,
    agents: [],
    rejoin: false,
    room: undefined,
    issuedAt: Date.now() - 60_000,
    expiresAt: Date.now() + 60_000,
  };
  room.peers.deny('ada');
  assert.equal(connection.closed, 'peerDenied');
  assert.deepEqual(since().slice(-2), ['PeerWaitingEnded:ada', 'PeerDeleted:ada']);
  assert.deepEqual(
    events.slice(-2).map(({ reason }) => reason),
    ['denied', 'denied'],
  );
  assert.throws(() => room.peers.enter(access), { code: 'invalid_token' });
  assert.throws(() => room.peers.deny('ada'), { code: 'peer_not_found' });
  assert.throws(() => room.peers.deny('host'), { code: 'conflict' });
  await rooms.addPeer('r', { type: 'webrtc', peerId: 'absent' });
  assert.throws(() => room.peers.deny('absent'), { code: 'conflict' });
});

test('all waiting peers are admitted together, also by a change to automatic admission, which admits later ones too', async () => {
  const { rooms, room, wait } = await hosted();
  const [ada, bob] = [await wait('ada'), await wait('bob')];
  room.peers.admitWaiting();
  assert.deepEqual([ada.peer.connected, bob.peer.connected], [true, true]);
  const cyd = await wait('cyd');
  room.patch({ maxPeers: 50 });
  assert.equal(cyd.peer.connected, false);
  room.patch({ admission: 'automatic' });
  assert.equal(cyd.peer.connected, true);
  await joinPeer(rooms, 'r', 'dan');
  room.patch({ admission: 'manual' });
  const dan = rooms.room('r').peers.get('dan');
  assert.equal(dan.connected, true);
  dan.disconnect();
  await connectPeer(rooms, 'r', 'dan');
  assert.equal(dan.connected, true);
  assert.equal((await wait('eve')).peer.view().status, 'waiting');
});

test('a peer that leaves while it waits is removed after the disconnect timeout, and waits again if it returns before', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { wait, events, since, room } = await hosted({ peerDisconnectedTimeout: 10 });
  const { peer } = await wait('ada');
  t.mock.timers.tick(60_000);
  peer.disconnect();
  peer.disconnect();
  peer.connect(new TestConnection());
  peer.disconnect();
  t.mock.timers.tick(10_000);
  assert.deepEqual(
    since().filter((kind) => kind.endsWith(':ada')),
    ['PeerAdded:ada', 'PeerWaiting:ada', 'PeerWaitingEnded:ada', 'PeerWaiting:ada', 'PeerWaitingEnded:ada', 'PeerDeleted:ada'],
  );
  assert.deepEqual(
    events.filter(({ type }) => type === 'PeerWaitingEnded').map(({ reason }) => reason),
    ['disconnected', 'disconnected'],
  );
  assert.equal(room.peers.find('ada'), undefined);
});

test('connections of waiting peers close with the reason of their removal, and of the end or crash of their room', async () => {
  const { room, wait, media, rooms, since } = await hosted();
  const removed = await wait('removed');
  room.peers.delete('removed');
  assert.equal(removed.connection.closed, 'peerRemoved');
  const ended = await wait('ended');
  room.close('deleted');
  assert.equal(ended.connection.closed, 'roomStopped');
  assert.deepEqual(
    since().filter((kind) => kind.endsWith(':ended')),
    ['PeerAdded:ended', 'PeerWaiting:ended', 'PeerWaitingEnded:ended', 'PeerDeleted:ended'],
  );
  await rooms.createRoom({ roomId: 'r', admission: 'manual' });
  const { peer } = await rooms.addPeer('r', { type: 'webrtc', peerId: 'crashed' });
  const connection = new TestConnection();
  peer.connect(connection);
  media.room('r').crash('worker died');
  assert.equal(connection.closed, 'internalError');
  assert.deepEqual(since().slice(-2), ['PeerWaitingEnded:crashed', 'RoomCrashed']);
});

test('waiting peers count toward maxPeers and keep a room from ending as peerless, but a drain does not wait for them', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { rooms } = makeRooms();
  await rooms.createRoom({ roomId: 'r', admission: 'manual', maxPeers: 1, peerlessPurgeTimeout: 5 });
  const { peer } = await rooms.addPeer('r', { type: 'webrtc' });
  await assert.rejects(rooms.addPeer('r', { type: 'webrtc' }), { code: 'room_full' });
  peer.connect(new TestConnection());
  t.mock.timers.tick(60_000);
  assert.equal(rooms.size, 1);
  assert.deepEqual([busyOf(rooms.all()).rooms, busyOf(rooms.all()).peers], [0, 0]);
  peer.disconnect();
  t.mock.timers.tick(5_000);
  assert.equal(rooms.size, 0);
});
