// Worker selection: the media worker for a room.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  isPortInUse,
  leastLoaded,
  type PlacementContext,
  type WorkerChoice,
  workerFor,
} from '../../../../node/media/worker/worker-load.ts';

test('the worker with the fewest forwarded tracks is selected, regardless of its rooms', () => {
  const [busy, idle] = [
    { forwardedTracks: 5, rooms: 1 },
    { forwardedTracks: 4, rooms: 9 },
  ];
  assert.equal(leastLoaded([busy, idle]), idle);
});

test('for equal tracks the fewest rooms decide, then the order', () => {
  const workers = [
    { forwardedTracks: 1, rooms: 2 },
    { forwardedTracks: 1, rooms: 1 },
    { forwardedTracks: 1, rooms: 1 },
  ];
  assert.equal(leastLoaded(workers), workers[1]);
  assert.equal(leastLoaded([]), undefined);
});

test('a port conflict is recognized in the messages of libuv', () => {
  assert.equal(isPortInUse(new Error("uv_udp_bind() failed [protocol:udp, ip:'127.0.0.1', port:51000]: address already in use")), true);
  assert.equal(isPortInUse(new Error('uv_tcp_bind() failed: permission denied')), true);
  assert.equal(isPortInUse(new Error('uv_udp_bind() failed: address not available')), false);
  assert.equal(isPortInUse('address already in use'), false);
});

describe('The worker for a room', () => {
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
    ['is the least loaded one if there are no suspects', false, [busy, worker({ rooms: 1 })], {}, worker({ rooms: 1 })],
    ['is not one with suspects', false, [busy, suspected], {}, busy],
    ['is not a quarantine worker', false, [busy, extra], {}, busy],
    ['is not available yet if all other workers have suspects', false, [restarting, suspected], {}, undefined],
    ['is on another node if all local workers have suspects', false, [suspected], { elsewhere: true }, undefined],
    ['may have suspects if there is no other', false, [suspected], {}, suspected],
    ['that is a suspect is a quarantine worker', true, [busy, worker(), extra], {}, extra],
    ['that is a suspect is an empty one, if one more remains for other rooms', true, [busy, worker()], {}, worker()],
    ['that is a suspect is not available yet if another worker can be started', true, [busy, crowdedExtra], { more: true }, undefined],
    ['that is a suspect is one with other suspects if no more can be started', true, [worker(), crowdedExtra, suspected], {}, suspected],
    ['that is a suspect is the only one while it is empty', true, [worker()], {}, worker()],
    ['that is a suspect is never one with unsuspicious rooms', true, [busy, busy], {}, undefined],
  ];
  for (const [name, suspect, workers, given, expected] of cases)
    test(name, () => assert.deepEqual(workerFor(suspect, workers, { ...alone, ...given }), expected));
});
