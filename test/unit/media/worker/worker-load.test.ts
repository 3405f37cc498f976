// Which worker takes a room.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isPortInUse,
  leastLoaded,
  type PlacementContext,
  type WorkerChoice,
  workerFor,
} from '../../../../node/media/worker/worker-load.ts';

test('the worker with the fewest forwarded tracks takes a room, whatever its rooms', () => {
  const [busy, idle] = [
    { forwardedTracks: 5, rooms: 1 },
    { forwardedTracks: 4, rooms: 9 },
  ];
  assert.equal(leastLoaded([busy, idle]), idle);
});

test('with as many tracks the fewest rooms decide, then the order', () => {
  const workers = [
    { forwardedTracks: 1, rooms: 2 },
    { forwardedTracks: 1, rooms: 1 },
    { forwardedTracks: 1, rooms: 1 },
  ];
  assert.equal(leastLoaded(workers), workers[1]);
  assert.equal(leastLoaded([]), undefined);
});

test('a port is taken where the worker says so in the words of libuv', () => {
  assert.equal(isPortInUse(new Error("uv_udp_bind() failed [protocol:udp, ip:'127.0.0.1', port:51000]: address already in use")), true);
  assert.equal(isPortInUse(new Error('uv_tcp_bind() failed: permission denied')), true);
  assert.equal(isPortInUse(new Error('uv_udp_bind() failed: address not available')), false);
  assert.equal(isPortInUse('address already in use'), false);
});

describe('A worker for a room', () => {
  const worker = (given: Partial<WorkerChoice> = {}): WorkerChoice => {
    return { isRunning: true, extra: false, quarantined: false, rooms: 0, forwardedTracks: 0, ...given };
  };
  const busy = worker({ rooms: 3, forwardedTracks: 9 });
  const suspected = worker({ rooms: 1, quarantined: true });
  const extra = worker({ extra: true });
  const crowdedExtra = worker({ extra: true, rooms: 2, quarantined: true });
  const restarting = worker({ isRunning: false });
  const alone: PlacementContext = { more: false, elsewhere: false };

  const cases: [string, boolean, WorkerChoice[], Partial<PlacementContext>, WorkerChoice | undefined][] = [
    ['is the least loaded one where there is no suspect', false, [busy, worker({ rooms: 1 })], {}, worker({ rooms: 1 })],
    ['is none that has suspects', false, [busy, suspected], {}, busy],
    ['is none that was started for suspects', false, [busy, extra], {}, busy],
    ['is waited for where all others have suspects', false, [restarting, suspected], {}, undefined],
    ['is on another node where all here have suspects', false, [suspected], { elsewhere: true }, undefined],
    ['may have suspects where there is nothing else', false, [suspected], {}, suspected],
    ['that is a suspect is one that was started for it', true, [busy, worker(), extra], {}, extra],
    ['that is a suspect is an empty one, where one more is left to others', true, [busy, worker()], {}, worker()],
    ['that is a suspect is waited for where one more can be started', true, [busy, crowdedExtra], { more: true }, undefined],
    ['that is a suspect is one with other suspects where there are no more', true, [worker(), crowdedExtra, suspected], {}, suspected],
    ['that is a suspect is the only one while nobody is on it', true, [worker()], {}, worker()],
    ['that is a suspect is never one with rooms that are none', true, [busy, busy], {}, undefined],
  ];
  for (const [name, suspect, workers, given, expected] of cases)
    test(name, () => assert.deepEqual(workerFor(suspect, workers, { ...alone, ...given }), expected));
});
