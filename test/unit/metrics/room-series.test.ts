// Room series: exact at any time, zero after the end of a room, then removed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { EventType } from '../../../api/events.ts';
import { RoomSeries } from '../../../node/metrics/room-series.ts';

function start() {
  let now = 0;
  const series = new RoomSeries(() => now);
  return {
    wait: (milliseconds: number) => {
      now += milliseconds;
    },
    take: (type: EventType, roomId = 'r', incarnation = 'one') => series.take({ type, roomId, incarnation }),
    read: () => Object.fromEntries(series.read()),
  };
}

const zeros = { peers: 0, peerTime: 0, duration: 0, connects: 0, disconnects: 0, crashes: 0 };

test('connection time of peers is summed up to disconnection or to the time of reading', () => {
  const { take, wait, read } = start();
  take('RoomCreated');
  assert.deepEqual(read(), { r: zeros });
  wait(100);
  take('PeerConnected');
  wait(10);
  take('PeerConnected');
  wait(10);
  assert.deepEqual(read(), { r: { ...zeros, peers: 2, peerTime: 30, duration: 120, connects: 2 } });
  take('PeerDisconnected');
  take('PeerCrashed');
  wait(5);
  assert.deepEqual(read(), { r: { peers: 1, peerTime: 35, duration: 125, connects: 2, disconnects: 1, crashes: 1 } });
});

for (const end of ['RoomDeleted', 'RoomCrashed'] as const)
  test(`series of a room are zero after ${end} and removed ten minutes later`, () => {
    const { take, wait, read } = start();
    take('RoomCreated');
    take('PeerConnected');
    wait(1000);
    take(end);
    assert.deepEqual(read(), { r: zeros });
    wait(10 * 60_000 - 1);
    assert.deepEqual(read(), { r: zeros });
    wait(1);
    assert.deepEqual(read(), {});
  });

test('a room that reuses the id of an ended one starts at zero and is not removed with it', () => {
  const { take, wait, read } = start();
  take('RoomCreated');
  take('PeerConnected');
  take('RoomDeleted');
  wait(60_000);
  take('RoomCreated', 'r', 'two');
  take('PeerDisconnected', 'r', 'one');
  take('RoomCrashed', 'r', 'one');
  wait(10 * 60_000);
  assert.deepEqual(read(), { r: { ...zeros, duration: 10 * 60_000 } });
});

test('at most two thousand ended rooms are kept, the last ones', () => {
  const { take, read } = start();
  for (let i = 0; i < 2_005; i += 1) {
    take('RoomCreated', `r${i}`);
    take('RoomDeleted', `r${i}`);
  }
  const ids = Object.keys(read());
  assert.deepEqual([ids.length, ids[0], ids.at(-1)], [2_000, 'r5', 'r2004']);
});
