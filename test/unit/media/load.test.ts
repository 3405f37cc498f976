// Which worker takes a room.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTaken, leastLoaded } from '../../../node/media/load.ts';

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
  assert.equal(isTaken(new Error("uv_udp_bind() failed [protocol:udp, ip:'127.0.0.1', port:51000]: address already in use")), true);
  assert.equal(isTaken(new Error('uv_tcp_bind() failed: permission denied')), true);
  assert.equal(isTaken(new Error('uv_udp_bind() failed: address not available')), false);
  assert.equal(isTaken('address already in use'), false);
});
