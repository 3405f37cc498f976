// Room lifecycle: event order, cascading closes, timeouts, limits, and repeated requests.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { roomEventSchema } from '../../../api/events.ts';
import { busyOf } from '../../../node/rooms/busy.ts';
import { connectPeer, flushEvents, joinPeer, makeRoom, makeRooms, publish } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

describe('events', () => {
  test('have consecutive numbers from 1, match their schema and contain the incarnation', async () => {
    const { rooms, events } = makeRooms();
    const { room } = await rooms.createRoom({ roomId: 'r' });
    const alice = await joinPeer(rooms, 'r', 'alice');
    await publish(alice, 'video', 'camera');
    await rooms.deleteRoom('r');
    assert.deepEqual(
      fieldsOf(events, 'seq'),
      events.map((_, index) => index + 1),
    );
    for (const event of events) assert.deepEqual(roomEventSchema.parse(event), event);
    assert.ok(events.every((event) => event.incarnation === room.incarnation && event.node === 'svc@test' && event.roomId === 'r'));
    assert.equal(new Set(events.map((event) => event.id)).size, events.length);
  });

  test('a deleted room ends its peers first; RoomDeleted is its last event', async () => {
    const { rooms, kinds, media } = await makeRoom();
    const alice = await joinPeer(rooms, 'r', 'alice');
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'bob' });
    await publish(alice, 'audio');
    await rooms.deleteRoom('r');
    assert.deepEqual(kinds().slice(3), [
      'PeerAdded:bob',
      'TrackAdded:alice',
      'TrackRemoved:alice',
      'PeerDisconnected:alice',
      'PeerDeleted:alice',
      'PeerDeleted:bob',
      'RoomDeleted',
    ]);
    assert.equal(alice.connection.closed, 'roomStopped');
    assert.equal(media.rooms.size, 0);
  });

  test('a peer that joins while another speaks gets the active speaker', async () => {
    const { rooms, media } = await makeRoom();
    const alice = await joinPeer(rooms, 'r', 'alice');
    const { onActiveSpeaker } = media.room('r').options;
    assert.equal((await alice.peer.welcome()).activeSpeaker, null);
    onActiveSpeaker('alice');
    const bob = await joinPeer(rooms, 'r', 'bob');
    assert.equal((await bob.peer.welcome()).activeSpeaker, 'alice');
    onActiveSpeaker(null);
    assert.equal((await bob.peer.welcome()).activeSpeaker, null);
    assert.deepEqual(bob.connection.of('activeSpeaker'), [{ peerId: null }]);
  });

  test('only peers that request audio levels receive them', async () => {
    const { rooms, media } = await makeRoom();
    const [alice, bob] = [await joinPeer(rooms, 'r', 'alice'), await joinPeer(rooms, 'r', 'bob')];
    bob.peer.session.audioLevels = true;
    const levels = [{ peerId: 'alice', level: -20 }];
    media.room('r').options.onAudioLevels(levels);
    assert.deepEqual([alice.connection.of('audioLevels'), bob.connection.of('audioLevels')], [[], [{ levels }]]);
  });

  test('a crashed room disconnects its peers once and reports RoomCrashed with its reason', async () => {
    const { rooms, kinds, events, media } = await makeRoom();
    const alice = await joinPeer(rooms, 'r', 'alice');
    await publish(alice, 'video');
    media.room('r').crash('media worker died');
    assert.deepEqual(kinds().slice(4), ['TrackRemoved:alice', 'PeerDisconnected:alice', 'RoomCrashed']);
    assert.equal(events.at(-1)?.reason, 'media worker died');
    assert.equal(alice.connection.closed, 'internalError');
    await assert.rejects(rooms.getRoom('r'), { code: 'room_ended' });
  });

  test('a peer of a lost room is asked to retry, a peer of a deleted room or a deleted peer is not', async () => {
    const { rooms } = makeRooms();
    assert.equal(rooms.roomNotFoundError('r', 'alice', undefined).code, 'peer_not_found');
    assert.equal(rooms.roomNotFoundError('r', 'alice', 'lost').code, 'room_not_found');
    assert.equal(rooms.roomNotFoundError('r', 'alice', undefined, true).code, 'unavailable');
    const { room } = await rooms.createRoom({ roomId: 'r' });
    assert.equal(rooms.roomNotFoundError('r', 'alice', 'lost').code, 'unavailable');
    assert.equal(rooms.roomNotFoundError('r', 'alice', room.incarnation).code, 'peer_not_found');
    await rooms.deleteRoom('r');
    assert.equal(rooms.roomNotFoundError('r', 'alice', room.incarnation).code, 'room_ended');
  });

  test('PeerDisconnected is emitted exactly once per disconnect, for each cause', async () => {
    const { rooms, events, media } = makeRooms();
    const disconnects = () => events.filter((event) => event.type === 'PeerDisconnected').map((event) => event.peerId);
    await rooms.createRoom({ roomId: 'r' });
    for (const id of ['removed', 'crashed', 'roomDeleted', 'left']) await joinPeer(rooms, 'r', id);
    rooms.findPeer('r', 'left')?.disconnect();
    rooms.findPeer('r', 'left')?.disconnect();
    await rooms.deletePeer('r', 'left');
    await rooms.deletePeer('r', 'removed');
    rooms.findPeer('r', 'crashed')?.crash('fault');
    await rooms.deleteRoom('r');
    await rooms.createRoom({ roomId: 's' });
    await joinPeer(rooms, 's', 'roomCrashed');
    media.room('s').crash('fault');
    assert.deepEqual(disconnects(), ['left', 'removed', 'crashed', 'roomDeleted', 'roomCrashed']);
  });

  test('a crashed peer is removed and notified, the others stay', async () => {
    const { rooms, kinds } = await makeRoom();
    const alice = await joinPeer(rooms, 'r', 'alice');
    const bob = await joinPeer(rooms, 'r', 'bob');
    alice.peer.crash('fault');
    assert.deepEqual(kinds().slice(-2), ['PeerDisconnected:alice', 'PeerCrashed:alice']);
    assert.equal(alice.connection.closed, 'internalError');
    assert.deepEqual(bob.connection.of('peerLeft'), [{ peerId: 'alice' }]);
    assert.equal(rooms.findPeer('r', 'alice'), undefined);
  });
});

describe('ids', () => {
  test('a room id is unique, and can be reused after the room ended, with a new incarnation', async () => {
    const { rooms } = makeRooms();
    const first = await rooms.createRoom({ roomId: 'r' });
    await assert.rejects(rooms.createRoom({ roomId: 'r' }), { code: 'already_exists' });
    await rooms.deleteRoom('r');
    await assert.rejects(rooms.getRoom('r'), { code: 'room_ended' });
    const second = await rooms.createRoom({ roomId: 'r' });
    assert.ok(second.room.incarnation > first.room.incarnation);
    await assert.rejects(rooms.getRoom('never'), { code: 'room_not_found' });
  });

  test('a repeated externalId, also concurrently, creates one room and one peer', async () => {
    const { rooms, events } = makeRooms();
    const made = await Promise.all(Array.from({ length: 20 }, () => rooms.createRoom({ externalId: 'mine' })));
    assert.equal(made.filter((each) => each.created).length, 1);
    assert.equal(new Set(made.map((each) => each.room.id)).size, 1);
    const roomId = made[0]?.room.id ?? '';
    const peers = await Promise.all(Array.from({ length: 20 }, () => rooms.addPeer(roomId, { type: 'webrtc', externalId: 'mine/alice' })));
    assert.equal(peers.filter((each) => each.created).length, 1);
    assert.equal(new Set(peers.map((each) => each.peer.id)).size, 1);
    assert.deepEqual(fieldsOf(events, 'type'), ['RoomCreated', 'PeerAdded']);
    await rooms.deleteRoom(roomId);
    assert.equal((await rooms.createRoom({ externalId: 'mine' })).created, true);
  });

  test('a token contains room and peer, and invalid tokens are rejected', async () => {
    const { rooms, keys } = await makeRoom();
    const { token } = await rooms.addPeer('r', { type: 'webrtc', peerId: 'alice' });
    const claims = await keys.verify(token);
    assert.deepEqual([claims?.roomId, claims?.peerId], ['r', 'alice']);
    const [head, body, mac = ''] = token.split('.');
    // Not the last character: two of its bits are unused.
    assert.equal(await keys.verify(`${head}.${body}.${mac.startsWith('A') ? 'B' : 'A'}${mac.slice(1)}`), undefined);
    assert.equal(await keys.verify('a.b.c'), undefined);
    assert.equal(await keys.verify(await keys.sign({ roomId: 'r', peerId: 'alice' }, -1)), undefined);
    keys.replace(['another', 'a secret of the test']);
    assert.equal((await keys.verify(token))?.peerId, 'alice', 'an older key still verifies');
    keys.replace(['another']);
    assert.equal(await keys.verify(token), undefined);
  });
});

describe('limits', () => {
  test('the lower of maxPeers of room and node applies, and a patch changes it', async () => {
    const { rooms } = makeRooms({ maxPeersPerRoom: 2 });
    await rooms.createRoom({ roomId: 'r', maxPeers: 1 });
    await rooms.addPeer('r', { type: 'webrtc' });
    await assert.rejects(rooms.addPeer('r', { type: 'webrtc' }), { code: 'room_full' });
    await rooms.patchRoom('r', { maxPeers: 5 });
    await rooms.addPeer('r', { type: 'webrtc' });
    await assert.rejects(rooms.addPeer('r', { type: 'webrtc' }), /Reached webrtc peers limit in room r/);
  });

  test('fifty concurrent publications stop at the limit', async () => {
    const { rooms } = await makeRoom({ maxTracksPerPeer: 10 });
    const alice = await joinPeer(rooms, 'r', 'alice');
    const results = await Promise.allSettled(Array.from({ length: 50 }, () => publish(alice, 'audio')));
    assert.equal(results.filter((each) => each.status === 'fulfilled').length, 10);
    assert.equal((await rooms.getRoom('r')).peers[0]?.tracks.length, 10);
  });

  test('a node with maxRooms rooms rejects new rooms', async () => {
    const { rooms } = makeRooms({ maxRooms: 1 });
    await rooms.createRoom({ roomId: 'a' });
    await assert.rejects(rooms.createRoom({ roomId: 'b' }), { code: 'no_node_accepts_rooms' });
    await rooms.deleteRoom('a');
    await rooms.createRoom({ roomId: 'b' });
  });
});

describe('timeouts', () => {
  test('a peer that does not connect is removed, one that reconnected is not', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms, kinds } = makeRooms({ peerDisconnectedTimeout: 10 });
    return (async () => {
      await rooms.createRoom({ roomId: 'r' });
      await rooms.addPeer('r', { type: 'webrtc', peerId: 'late' });
      const alice = await joinPeer(rooms, 'r', 'alice');
      t.mock.timers.tick(10_000);
      assert.deepEqual(
        kinds().filter((kind) => kind.startsWith('PeerDeleted')),
        ['PeerDeleted:late'],
      );
      alice.peer.disconnect();
      t.mock.timers.tick(9_999);
      await connectPeer(rooms, 'r', 'alice');
      t.mock.timers.tick(20_000);
      alice.peer.disconnect();
      t.mock.timers.tick(10_000);
      assert.deepEqual(kinds().slice(-2), ['PeerDisconnected:alice', 'PeerDeleted:alice']);
    })();
  });

  test('null in a room means never, regardless of the default of the node', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms } = makeRooms({ peerDisconnectedTimeout: 10, peerlessPurgeTimeout: 10 });
    await rooms.createRoom({ roomId: 'r', peerDisconnectedTimeout: null, peerlessPurgeTimeout: null });
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'late' });
    t.mock.timers.tick(1_000_000);
    assert.equal((await rooms.getRoom('r')).peers.length, 1);
  });

  test('a room without connected peers is purged, and a connection stops the timer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms, events } = makeRooms();
    await rooms.createRoom({ roomId: 'r', peerlessPurgeTimeout: 5 });
    t.mock.timers.tick(4_000);
    const alice = await joinPeer(rooms, 'r', 'alice');
    t.mock.timers.tick(60_000);
    alice.peer.disconnect();
    t.mock.timers.tick(4_999);
    assert.equal(rooms.size, 1);
    t.mock.timers.tick(1);
    assert.equal(rooms.size, 0);
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.reason], ['RoomDeleted', 'peerless']);
  });

  test('an added peer has a minute to connect, and adding peers repeatedly does not keep an empty room', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms } = makeRooms();
    await rooms.createRoom({ roomId: 'r', peerlessPurgeTimeout: 300 });
    t.mock.timers.tick(299_000);
    await rooms.addPeer('r', { type: 'webrtc', peerId: 'late' });
    t.mock.timers.tick(59_000);
    assert.equal(rooms.size, 1);
    t.mock.timers.tick(2_000);
    assert.equal(rooms.size, 0);
    await rooms.createRoom({ roomId: 's', peerlessPurgeTimeout: 300 });
    for (let minute = 1; minute < 5; minute += 1) {
      t.mock.timers.tick(59_000);
      await rooms.addPeer('s', { type: 'webrtc', peerId: `peer-${minute}` });
    }
    t.mock.timers.tick(65_000);
    assert.equal(rooms.size, 0);
  });

  test('a patch of the purge timeout restarts the timer', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms } = await makeRoom();
    await rooms.patchRoom('r', { peerlessPurgeTimeout: 1 });
    t.mock.timers.tick(1_000);
    assert.equal(rooms.size, 0);
  });

  test('a timeout of years neither fires at once nor is dropped', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
    const { rooms } = makeRooms();
    const day = 24 * 3600;
    await rooms.createRoom({ roomId: 'r', peerlessPurgeTimeout: 365 * day });
    // Mocked timers start at the end of the tick that set them, so steps must be small.
    for (let hour = 0; hour < 364 * 24; hour += 1) t.mock.timers.tick(3_600_000);
    assert.equal(rooms.size, 1);
    for (let hour = 0; hour < 2 * 24; hour += 1) t.mock.timers.tick(3_600_000);
    assert.equal(rooms.size, 0);
  });
});

describe('draining', () => {
  test('ends rooms without peers at once, the others with their last peer, and rejects new ones', async () => {
    const { rooms, events } = makeRooms();
    await rooms.createRoom({ roomId: 'empty' });
    await rooms.createRoom({ roomId: 'busy' });
    const alice = await joinPeer(rooms, 'busy', 'alice');
    const drained = rooms.drain();
    assert.deepEqual(fieldsOf([...rooms.all()], 'id'), ['busy']);
    await assert.rejects(rooms.createRoom({}), { code: 'no_node_accepts_rooms' });
    alice.peer.disconnect();
    await drained;
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.roomId, events.at(-1)?.reason], ['RoomDeleted', 'busy', 'draining']);
  });
});

describe('draining a room without peers', () => {
  test('waits for a component that is busy, and ends the room when it is not', async () => {
    const { rooms, components, events } = makeRooms();
    await rooms.createRoom({ roomId: 'r' });
    await rooms.addComponent('r', { type: 'file', options: { filePath: 'a.ogg' } });
    components.last.busy = 1;
    assert.deepEqual(busyOf(rooms.all()), { rooms: 1, peers: 0, calls: 0, streams: 0, recordings: 0, files: 1 });
    const drained = rooms.drain();
    await flushEvents();
    assert.equal(rooms.size, 1);
    components.last.host.finished();
    await drained;
    assert.deepEqual([events.at(-1)?.type, events.at(-1)?.reason], ['RoomDeleted', 'draining']);
  });

  test('notices a component that becomes idle without an event', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { rooms, components } = makeRooms();
    await rooms.createRoom({ roomId: 'r' });
    await rooms.addComponent('r', { type: 'file', options: { filePath: 'a.ogg' } });
    components.last.busy = 1;
    const drained = rooms.drain();
    t.mock.timers.tick(60_000);
    assert.equal(rooms.size, 1);
    components.last.busy = 0;
    t.mock.timers.tick(5_000);
    await drained;
    assert.equal(rooms.size, 0);
  });
});

describe('lists', () => {
  test('are paginated in order of creation, with each room once', async () => {
    const { rooms } = makeRooms();
    for (let n = 0; n < 25; n += 1) await rooms.createRoom({ roomId: `room-${n}` });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await rooms.listRooms(cursor === undefined ? { limit: 10 } : { limit: 10, cursor });
      seen.push(...page.rooms.map((room) => room.id));
      cursor = page.cursor;
    } while (cursor !== undefined);
    assert.deepEqual(
      seen,
      Array.from({ length: 25 }, (_, n) => `room-${n}`),
    );
  });
});
