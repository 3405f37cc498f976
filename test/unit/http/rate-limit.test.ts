// The token bucket of each client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateLimit } from '../../../node/http/rate-limit.ts';

test('a client may save up one second and is refilled at the rate', () => {
  let now = 0;
  const limit = new RateLimit(
    () => 10,
    () => now,
  );
  const burst = () => Array.from({ length: 20 }, () => limit.take('a')).filter((taken) => taken).length;
  assert.equal(burst(), 10);
  now += 300;
  assert.equal(burst(), 3);
  now += 60_000;
  assert.equal(burst(), 10);
});

test('clients do not share, and a rate below one still lets a request through', () => {
  let now = 0;
  const limit = new RateLimit(
    () => 0.5,
    () => now,
  );
  assert.deepEqual([limit.take('a'), limit.take('a'), limit.take('b')], [true, false, true]);
  now += 2000;
  assert.equal(limit.take('a'), true);
});

test('without a rate nothing is refused, and a new rate holds at once', () => {
  let rate: number | undefined;
  const limit = new RateLimit(
    () => rate,
    () => 0,
  );
  for (let i = 0; i < 100; i++) assert.ok(limit.take('a'));
  rate = 1;
  assert.deepEqual([limit.take('a'), limit.take('a')], [true, false]);
});

test('only so many clients are remembered: the one that was quiet longest is forgotten', () => {
  const limit = new RateLimit(
    () => 1,
    () => 0,
  );
  assert.ok(limit.take('first'));
  assert.ok(!limit.take('first'));
  for (let i = 0; i < 10_000; i++) limit.take(`client ${i}`);
  assert.ok(limit.take('first'));
  assert.ok(!limit.take('client 9999'));
});
