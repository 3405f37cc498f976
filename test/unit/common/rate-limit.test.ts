// Rate limit: a token bucket per client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { networkOf, RateLimit } from '../../../node/common/rate-limit.ts';

test("a client may burst one second's worth and is refilled at the rate", () => {
  let now = 0;
  const limit = new RateLimit(() => 10, { now: () => now });
  const burst = () => Array.from({ length: 20 }, () => limit.take('a')).filter((wait) => wait === 0).length;
  assert.equal(burst(), 10);
  now += 300;
  assert.equal(burst(), 3);
  now += 60_000;
  assert.equal(burst(), 10);
});

test('clients have separate buckets, and a rate below one still admits requests', () => {
  let now = 0;
  const limit = new RateLimit(() => 0.5, { now: () => now });
  assert.deepEqual([limit.take('a'), limit.take('a'), limit.take('b')], [0, 2, 0]);
  now += 1500;
  assert.equal(limit.take('a'), 0.5);
  now += 500;
  assert.equal(limit.take('a'), 0);
});

test('a client that waits for the returned time is admitted, and rejections do not count', () => {
  let now = 0;
  const limit = new RateLimit(() => 1 / 3, { burst: 12, now: () => now });
  for (let i = 0; i < 4; i++) assert.equal(limit.take('a'), 0);
  assert.equal(Math.round(limit.take('a')), 3);
  now += limit.take('a') * 1000;
  assert.equal(limit.take('a'), 0);
  assert.ok(limit.take('a') > 0);
});

test('without a rate nothing is rejected, and a new rate applies at once', () => {
  let rate: number | undefined;
  const limit = new RateLimit(() => rate, { now: () => 0 });
  for (let i = 0; i < 100; i++) assert.equal(limit.take('a'), 0);
  rate = 1;
  assert.deepEqual([limit.take('a'), limit.take('a')], [0, 1]);
});

test('the number of clients is bounded: the one idle for longest is dropped', () => {
  const limit = new RateLimit(() => 1, { now: () => 0 });
  assert.equal(limit.take('first'), 0);
  assert.equal(limit.take('first'), 1);
  for (let i = 0; i < 10_000; i++) limit.take(`client ${i}`);
  assert.equal(limit.take('first'), 0);
  assert.equal(limit.take('client 9999'), 1);
});

for (const [address, client] of [
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '::ffff:192.0.2.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['2001:0db8:0000:0000:1::', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
] as const) {
  test(`${address} counts as ${client}`, () => assert.equal(networkOf(address), client));
}
