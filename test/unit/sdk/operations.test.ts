// SDK operations: a method for each REST operation, and the retry policy.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { MediaroomsError } from '../../../packages/server-sdk/src/errors.ts';
import { operations } from '../../../packages/server-sdk/src/generated/operations.ts';
import { isRetryable, readRetryAfter, retryDelay } from '../../../packages/server-sdk/src/retry.ts';
import { root } from '../../../tools/paths.mjs';

test('every operation has a method, except those that players request', () => {
  const folder = join(root, 'packages/server-sdk/src');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  const called = sources.flatMap((name) =>
    [...readFileSync(join(folder, name), 'utf8').matchAll(/#transport\.(?:call|request)\('(\w+)'/g)].map(([, id]) => id),
  );
  assert.deepEqual(
    Object.keys(operations).filter((id) => !called.includes(id)),
    ['getHlsFile'],
  );
});

test('operations with repeatable side effects are not retried', () => {
  const once = Object.entries(operations).filter(([, { repeatable }]) => !repeatable);
  assert.deepEqual(
    once.map(([id]) => id),
    ['sendData', 'requestRpc', 'denyPeer', 'movePeer', 'startCall', 'sendDigits', 'replayDeadLetters'],
  );
});

test('a transient failure is retried', () => {
  const error = (status: number | undefined, code: string) => new MediaroomsError({ status, code, message: 'x' });
  const repeated = [
    error(undefined, 'connection_failed'),
    error(undefined, 'timed_out'),
    error(408, 'request_timeout'),
    error(502, 'http_error'),
    error(503, 'node_unreachable'),
    error(504, 'http_error'),
  ];
  for (const each of repeated) assert.deepEqual([isRetryable(each, true), isRetryable(each, false)], [true, false], each.code);
  assert.equal(isRetryable(error(429, 'too_many_requests'), false), true);
  const final = [error(400, 'invalid_field'), error(401, 'invalid_token'), error(404, 'room_not_found'), error(500, 'internal')];
  for (const each of [
    ...final,
    error(503, 'room_full'),
    error(503, 'tracks_full'),
    error(undefined, 'aborted'),
    error(200, 'invalid_answer'),
  ])
    assert.equal(isRetryable(each, true), false, each.code);
});

test('retry delays double up to 8 s, half of each random, and are never below Retry-After', () => {
  assert.deepEqual(
    [0, 1, 2, 5, 20].map((attempt) => [retryDelay(attempt, undefined, 0), retryDelay(attempt, undefined, 1)]),
    [
      [125, 250],
      [250, 500],
      [500, 1000],
      [4000, 8000],
      [4000, 8000],
    ],
  );
  assert.equal(retryDelay(0, 3000, 1), 3000);
  const now = Date.parse('2026-01-01T00:00:00Z');
  assert.deepEqual(
    ['7', ' 0 ', 'Thu, 01 Jan 2026 00:00:05 GMT', 'Wed, 31 Dec 2025 23:00:00 GMT', 'soon', '-1', null].map((value) =>
      readRetryAfter(value, now),
    ),
    [7000, 0, 5000, 0, undefined, undefined, undefined],
  );
});
