// Room list: updates by events, stable rows, untrusted names, search and sorting.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RoomList, type RoomRow, searchRooms, sortRooms } from '../../../packages/console/src/rooms/room-list.ts';
import type { Component, EventType, Peer, Room, RoomEvent } from '../../../packages/server-sdk/src/generated/schemas.ts';

const config = {
  maxPeers: null,
  videoCodec: null,
  metadata: null,
  admission: 'automatic' as const,
  webhookUrl: null,
  peerlessPurgeTimeout: null,
  peerDisconnectedTimeout: null,
};
const plain: Peer = {
  id: '',
  type: 'webrtc',
  externalId: null,
  status: 'connected',
  metadata: null,
  attributes: {},
  hidden: false,
  admitted: true,
  permissions: { publish: ['audio', 'video'], subscribe: true, data: true },
  tracks: [],
};

const player: Component = { id: 'c', type: 'file', externalId: null, properties: {}, tracks: [] };

function room(id: string, peers: Partial<Peer>[] = [], more: Partial<Room> = {}): Room {
  const whole = peers.map((peer, index) => ({ ...plain, id: `p${index}`, ...peer }));
  return {
    id,
    incarnation: `01-${id}`,
    externalId: null,
    config: { roomId: id, ...config },
    peers: whole,
    components: [],
    legs: [],
    ...more,
  };
}

const event = (type: EventType, roomId: string, more: Partial<RoomEvent> = {}): RoomEvent => ({
  id: `${type} of ${roomId}`,
  time: '2026-11-22T09:00:00.000Z',
  node: 'here',
  type,
  roomId,
  incarnation: `01-${roomId}`,
  ...more,
});

const rowOf = (list: RoomList, id: string): RoomRow | undefined => list.rows().find((row) => row.id === id);

test('events of peers and components change the counts of their room only', () => {
  const list = new RoomList([room('a'), room('b')]);
  const [a, b] = list.rows();
  list.apply(event('PeerAdded', 'a', { peerId: 'ada', metadata: { name: 'Ada' } }));
  assert.deepEqual([rowOf(list, 'a')?.present, rowOf(list, 'a')?.expected, rowOf(list, 'a')?.names], [0, 1, []]);
  list.apply(event('PeerConnected', 'a', { peerId: 'ada' }));
  list.apply(event('ComponentAdded', 'a', { componentId: 'c' }));
  assert.deepEqual([rowOf(list, 'a')?.present, rowOf(list, 'a')?.expected, rowOf(list, 'a')?.components], [1, 0, 1]);
  assert.deepEqual(rowOf(list, 'a')?.names, ['Ada']);
  list.apply(event('PeerMetadataUpdated', 'a', { peerId: 'ada', metadata: { name: 'Ada L.' } }));
  assert.deepEqual(rowOf(list, 'a')?.names, ['Ada L.']);
  list.apply(event('PeerDisconnected', 'a', { peerId: 'ada' }));
  list.apply(event('PeerDeleted', 'a', { peerId: 'ada' }));
  list.apply(event('ComponentCrashed', 'a', { componentId: 'c' }));
  assert.deepEqual([rowOf(list, 'a')?.present, rowOf(list, 'a')?.expected, rowOf(list, 'a')?.components], [0, 0, 0]);
  assert.notEqual(rowOf(list, 'a'), a);
  assert.equal(rowOf(list, 'b'), b, 'an unchanged row is the same object, so that it is not rendered again');
});

test('events without a change and events of unknown rooms do not change any row', () => {
  const list = new RoomList([room('a', [{ id: 'ada' }])]);
  const before = list.rows()[0];
  list.apply(event('TrackAdded', 'a', { peerId: 'ada' }));
  list.apply(event('PeerAdded', 'a', { peerId: 'ada' }));
  list.apply(event('PeerDeleted', 'a', { peerId: 'unknown' }));
  list.apply(event('PeerAdded', 'elsewhere', { peerId: 'bob' }));
  list.apply({ ...event('RoomDeleted', 'a'), incarnation: 'an older room of this name' });
  assert.deepEqual(list.rows(), [before]);
  assert.equal(list.rows()[0], before);
});

test('an ended room is removed, and a new room with the same name is another one', () => {
  const list = new RoomList([room('a', [{}])]);
  list.apply(event('RoomDeleted', 'a'));
  assert.deepEqual(list.rows(), []);
  list.put(room('a', [], { incarnation: '02-a' }));
  assert.equal(list.has(event('RoomCreated', 'a')), false);
  assert.equal(list.has({ ...event('RoomCreated', 'a'), incarnation: '02-a' }), true);
  assert.equal(rowOf(list, 'a')?.present, 0);
});

test('long names are cut between characters, and at most three participants are named', () => {
  const list = new RoomList([
    room('a', [{ metadata: { name: '👩‍🚀'.repeat(3_000) } }, ...Array.from({ length: 9 }, (_, i) => ({ metadata: { name: `n${i}` } }))]),
  ]);
  const [row] = list.rows();
  assert.equal(row?.names.length, 3);
  const [long = ''] = row?.names ?? [];
  assert.ok(long.length < 100 && long.endsWith('…'));
  assert.ok(long.isWellFormed());
});

test('rooms are found by id, external id and participant name, case-insensitively, and sorted by counts and names', () => {
  const list = new RoomList([
    room('room-10', [{ metadata: { name: 'Ada' } }]),
    room('room-2', [{}, {}], { externalId: 'Lesson-7' }),
    room('empty', [], { components: [player] }),
  ]);
  const ids = (rows: readonly RoomRow[]) => rows.map(({ id }) => id);
  assert.deepEqual(ids(list.rows()), ['empty', 'room-2', 'room-10']);
  assert.deepEqual(ids(searchRooms(list.rows(), ' ADA ')), ['room-10']);
  assert.deepEqual(ids(searchRooms(list.rows(), 'lesson')), ['room-2']);
  assert.deepEqual(ids(searchRooms(list.rows(), '.*')), []);
  assert.deepEqual(ids(sortRooms(list.rows(), { by: 'participants', down: true })), ['room-2', 'room-10', 'empty']);
  assert.deepEqual(ids(sortRooms(list.rows(), { by: 'components', down: true })), ['empty', 'room-2', 'room-10']);
  assert.deepEqual(ids(sortRooms(list.rows(), { by: 'name', down: true })), ['room-10', 'room-2', 'empty']);
});
