// Media stats of rooms: quality rating, packet loss of several streams, and shared measurements.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { connectionQuality, packetLoss, qualityLimits, qualitySchema, type TransportStats } from '../../../api/stats.ts';
import { RoomStatsCollector } from '../../../node/rooms/room-stats-collector.ts';
import { joinPeer, makeRoom, publish } from '../../kit/fakes/rooms.ts';

const link = (changes: Partial<TransportStats> = {}): TransportStats => ({
  state: 'connected',
  protocol: 'udp',
  bitrate: 1_000_000,
  available: null,
  loss: 0,
  roundTrip: 20,
  jitter: 2,
  ...changes,
});

test('the quality of a peer is that of the worst value of its worse direction', () => {
  assert.equal(connectionQuality({ up: link(), down: link() }), 'excellent');
  for (const [index, { quality, loss, roundTrip, jitter }] of qualityLimits.entries()) {
    const next = qualityLimits[index + 1]?.quality ?? 'bad';
    assert.equal(connectionQuality({ up: link({ loss, roundTrip, jitter }), down: null }), quality);
    assert.equal(connectionQuality({ up: link(), down: link({ loss: loss + 0.001 }) }), next);
    assert.equal(connectionQuality({ up: link({ roundTrip: roundTrip + 1 }), down: link() }), next);
    assert.equal(connectionQuality({ up: link(), down: link({ jitter: jitter + 1 }) }), next);
  }
});

test('an interrupted direction is lost, and without stats the quality is unknown', () => {
  for (const state of ['disconnected', 'failed'] as const) assert.equal(connectionQuality({ up: link(), down: link({ state }) }), 'lost');
  const nothing = link({ loss: null, roundTrip: null, jitter: null });
  assert.equal(connectionQuality({ up: nothing, down: null }), 'unknown');
  assert.equal(connectionQuality({ up: null, down: null }), 'unknown');
  assert.equal(connectionQuality({ up: nothing, down: link({ loss: 0.5 }) }), 'bad');
});

test('the API document contains the limits of every quality', () => {
  const { description = '' } = qualitySchema.meta() ?? {};
  assert.match(
    description,
    /excellent: at most 1 % loss, 150 ms round trip and 30 ms jitter; good: at most 3 % loss.*poor: at most 10 % loss/,
  );
});

test('streams are weighted by bitrate in the packet loss', () => {
  assert.equal(packetLoss([]), null);
  assert.equal(packetLoss([{ bitrate: 0, loss: 1 }]), null);
  assert.equal(
    packetLoss([
      { bitrate: 3_000, loss: 0.1 },
      { bitrate: 1_000, loss: 0.5 },
      { bitrate: 9_000, loss: null },
      { bitrate: 0, loss: 1 },
    ]),
    0.2,
  );
});

test('requests within a second share one measurement', async (t) => {
  const { rooms, media } = await makeRoom();
  const alice = await joinPeer(rooms, 'r', 'alice');
  await joinPeer(rooms, 'r', 'bob');
  await rooms.addPeer('r', { type: 'webrtc', peerId: 'absent' });
  const trackId = await publish(alice, 'audio');
  let now = 0;
  const room = rooms.find('r');
  assert.ok(room);
  const peers = ['alice', 'bob', 'absent'].map((id) => room.peers.get(id));
  const measure = new RoomStatsCollector({ roomId: 'r', peers: () => peers, components: () => [], now: () => now });
  const measured = [...media.room('r').peers].map((peer) => t.mock.method(peer, 'mediaStats'));
  const [first] = await Promise.all(Array.from({ length: 100 }, () => measure.read()));
  assert.deepEqual(
    first?.peers.map(({ id, status, quality, published, received }) => [id, status, quality, published.length, received.length]),
    [
      ['alice', 'connected', 'unknown', 1, 0],
      ['bob', 'connected', 'unknown', 0, 1],
      ['absent', 'disconnected', 'unknown', 0, 0],
    ],
  );
  assert.equal(first?.peers[1]?.received[0]?.trackId, trackId);
  const counts = () => measured.map(({ mock }) => mock.callCount());
  now = 999;
  assert.equal(await measure.read(), first);
  assert.deepEqual(counts(), [1, 1]);
  now = 1_000;
  assert.notEqual(await measure.read(), first);
  assert.deepEqual(counts(), [2, 2]);
});

test('a slow measurement is reused ten times as long, and a failed one is repeated', async () => {
  let now = 0;
  let broken = true;
  let measured = 0;
  const slow = {
    id: 'alice',
    connected: true,
    admission: { waiting: undefined },
    session: {
      mediaStats: async () => {
        now += 500;
        measured += 1;
        if (broken) throw new ServiceError('unavailable', 'The media worker did not respond in time');
        return { up: null, down: null, published: [], received: [], receivedOmitted: 0 };
      },
    },
  };
  const measure = new RoomStatsCollector({ roomId: 'r', peers: () => [slow], components: () => [], now: () => now });
  await assert.rejects(measure.read(), { code: 'unavailable' });
  broken = false;
  await measure.read();
  now += 4_999;
  await measure.read();
  assert.equal(measured, 2);
  now += 1;
  await measure.read();
  assert.equal(measured, 3);
});

test('in a large room only some received tracks of each peer are measured', async () => {
  const asked: number[] = [];
  const crowd = Array.from({ length: 400 }, (_, index) => ({
    id: `p${index}`,
    connected: true,
    admission: { waiting: undefined },
    session: {
      mediaStats: async (most: number) => {
        asked.push(most);
        return { up: null, down: null, published: [], received: [], receivedOmitted: 7 };
      },
    },
  }));
  const stats = await new RoomStatsCollector({ roomId: 'r', peers: () => crowd, components: () => [] }).read();
  assert.deepEqual([...new Set(asked)], [2]);
  assert.equal(stats.peers[0]?.receivedOmitted, 7);
});
