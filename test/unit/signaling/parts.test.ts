// Independent parts: send queue, token bucket, origins, token renewal.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { TokenBucket } from '../../../node/common/token-bucket.ts';
import { renewalDelay, TokenRenewal } from '../../../node/rooms/tokens/token-renewal.ts';
import { type OutboxLimits, SendQueue } from '../../../node/signaling/outbox.ts';
import { isAllowedOrigin } from '../../../node/websocket/origin.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { turns } from '../../kit/turns.ts';

const texts = (frames: readonly Buffer[] | undefined) => frames?.map(String);
/** With high limits except those under test. */
const outboxOf = (limits: Partial<OutboxLimits>) =>
  new SendQueue({ unacknowledgedFrames: 10, unacknowledgedBytes: 100, unacknowledgedDataBytes: 100, ...limits }, Buffer.from('gone'));

test('a send queue returns the frames after a number and deletes acknowledged ones', () => {
  const sendQueue = outboxOf({});
  for (const frame of ['1', '2', '3', '4']) sendQueue.push(Buffer.from(frame));
  assert.deepEqual(texts(sendQueue.after(1)), ['2', '3', '4']);
  sendQueue.acknowledge(2);
  sendQueue.acknowledge(1);
  sendQueue.acknowledge(99);
  const after = [1, 2, 4, 5].map((received) => texts(sendQueue.after(received)));
  assert.deepEqual(after, [undefined, ['3', '4'], [], undefined]);
});

test('a send queue drops the oldest frames beyond its limits of frames and bytes', () => {
  const few = outboxOf({ unacknowledgedFrames: 2 });
  for (const frame of ['1', '2', '3']) few.push(Buffer.from(frame));
  assert.deepEqual([few.after(0), texts(few.after(1))], [undefined, ['2', '3']]);
  const small = outboxOf({ unacknowledgedBytes: 4 });
  for (const frame of ['ää', 'b']) small.push(Buffer.from(frame));
  assert.deepEqual([small.after(0), texts(small.after(1)), small.sent], [undefined, ['b'], 2]);
});

test('a send queue drops messages first, and keeps the numbering of frames', () => {
  const fill = (limits: Partial<OutboxLimits>) => {
    const sendQueue = outboxOf(limits);
    sendQueue.push(Buffer.from('first'));
    for (let i = 0; i < 6; i += 1) sendQueue.push(Buffer.from(`data${i}`), true);
    sendQueue.push(Buffer.from('last'));
    return sendQueue;
  };
  const kept = ['first', 'gone', 'gone', 'gone', 'gone', 'data4', 'data5', 'last'];
  for (const limits of [{ unacknowledgedDataBytes: 10 }, { unacknowledgedFrames: 4 }, { unacknowledgedBytes: 20 }])
    assert.deepEqual(texts(fill(limits).after(0)), kept, JSON.stringify(limits));
  const sendQueue = fill({ unacknowledgedFrames: 4 });
  sendQueue.acknowledge(3);
  sendQueue.push(Buffer.from('more'), true);
  assert.deepEqual(texts(sendQueue.after(3)), ['gone', 'gone', 'data4', 'data5', 'last', 'more']);
  // Without messages the oldest frames are dropped as usual, and placeholders are limited too.
  for (let i = 0; i < 100; i += 1) sendQueue.push(Buffer.from('x'), true);
  assert.deepEqual([sendQueue.after(28), sendQueue.after(29)?.length], [undefined, 80]);
});

test('a token bucket allows its burst, then its rate', () => {
  let now = 0;
  const bucket = new TokenBucket(
    () => 10,
    2,
    () => now,
  );
  const takeAll = () => {
    let count = 0;
    while (bucket.take()) count += 1;
    return count;
  };
  assert.equal(takeAll(), 20);
  now += 500;
  assert.equal(takeAll(), 5);
  now += 60_000;
  assert.equal(takeAll(), 20);
});

test('a token bucket follows a changed rate, and null means no limit', () => {
  let rate: number | undefined;
  const bucket = new TokenBucket(
    () => rate,
    1,
    () => 0,
  );
  for (let count = 0; count < 1000; count += 1) assert.equal(bucket.take(), true);
  rate = 1;
  assert.deepEqual([bucket.take(), bucket.take()], [true, false]);
});

test('origins are compared with the requested host, the address of the node or a list', () => {
  const same = (origin: string | undefined) => isAllowedOrigin('same-host', origin, 'media.local:5002', 'public.example.com/path');
  assert.deepEqual(['http://media.local:5002', 'https://public.example.com', 'https://public.example.com:443', undefined].map(same), [
    true,
    true,
    true,
    true,
  ]);
  assert.deepEqual(
    ['http://media.local', 'https://public.example.com:444', 'https://example.com', 'null', 'nonsense', ''].map(same),
    Array(6).fill(false),
  );
  const listed = (origin: string) => isAllowedOrigin(['https://app.example.com', 'other.example.com:8080'], origin, 'x', 'x');
  assert.deepEqual(['https://app.example.com', 'http://other.example.com:8080', 'https://other.example.com:8080'].map(listed), [
    true,
    true,
    true,
  ]);
  assert.deepEqual(['http://app.example.com', 'https://app.example.com.evil.com', 'http://other.example.com'].map(listed), [
    false,
    false,
    false,
  ]);
  assert.equal(isAllowedOrigin('any', 'null', undefined, 'x'), true);
});

test('a token is renewed at 80 % of its validity or 10 minutes before its end, whichever is later', () => {
  const minute = 60_000;
  assert.equal(renewalDelay(24 * 60 * minute), (24 * 60 - 10) * minute);
  assert.equal(renewalDelay(10 * minute), 8 * minute);
  assert.equal(renewalDelay(0), 1_000);
});

test('renewal repeats with the validity of each new token until it is stopped', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const lifetime = 60 * 24 * 3_600_000;
  const renewed: string[] = [];
  const expiresAt = () => Date.now() + lifetime;
  const renewal = new TokenRenewal({
    log: silentLog(),
    renew: async () => ({ token: `token ${renewed.length + 1}`, expiresAt: expiresAt() }),
    renewed: (token) => renewed.push(token),
  });
  renewal.schedule(expiresAt());
  const pass = async (time: number) => {
    // In steps, because a timer of more than 24.8 days consists of several, and each may be late by a step.
    for (let left = time; left > 0; left -= 60_000) t.mock.timers.tick(60_000);
    await turns();
  };
  await pass(lifetime - 15 * 60_000);
  assert.deepEqual(renewed, []);
  await pass(10 * 60_000);
  assert.deepEqual(renewed, ['token 1']);
  await pass(lifetime);
  assert.deepEqual(renewed, ['token 1', 'token 2']);
  renewal.stop();
  await pass(lifetime);
  assert.equal(renewed.length, 2);
});
