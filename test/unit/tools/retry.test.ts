// Retries of setup: which failures are transient, how often a command is repeated, and which failures are final.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { retriesAfter, runWithRetry } from '../../../tools/retry.mjs';

const failed = (output: string) => ({ code: 100, output, timedOut: false });

test('a lock held by another apt-get is retried for minutes, as on a machine that upgrades itself at boot', () => {
  const lists = 'Reading package lists...\nE: Could not get lock /var/lib/apt/lists/lock. It is held by process 812 (apt-get)\nE: more';
  const { times, why } = retriesAfter(failed(`${lists}\nE: Unable to locate package coturn`));
  assert.equal(times, 60);
  assert.equal(why, 'E: Could not get lock /var/lib/apt/lists/lock. It is held by process 812 (apt-get)');
});

test('a network error is retried a few times, whichever program reports it', () => {
  for (const output of [
    'npm error code ECONNRESET',
    'npm error code EAI_AGAIN\nnpm error getaddrinfo EAI_AGAIN registry.npmjs.org',
    'npm error code E503',
    'E: Failed to fetch http://deb.debian.org/debian/pool/x.deb  Connection timed out',
    "W: Temporary failure resolving 'deb.debian.org'",
    "ReadTimeoutError: HTTPSConnectionPool(host='files.pythonhosted.org', port=443): Read timed out.",
    'go: x/y@v1: read "https://proxy.golang.org/x/y/@v/v1.zip": read tcp 10.0.0.2:1->10.0.0.3:443: connection reset by peer',
    'go: x/y@v1: reading https://proxy.golang.org/x/y/@v/v1.mod: 502 Bad Gateway',
  ])
    assert.equal(retriesAfter(failed(output)).times, 3, output);
});

test('every other failure is final, and so is a timeout', () => {
  for (const output of ['', 'E: Unable to locate package foo', 'npm error code EUSAGE', 'x.go:7: undefined: y'])
    assert.equal(retriesAfter(failed(output)).times, 1, output);
  assert.equal(retriesAfter({ code: 0, output: 'W: Temporary failure resolving', timedOut: false }).times, 1);
  assert.equal(retriesAfter({ code: 1, output: 'ECONNRESET', timedOut: true }).times, 1);
});

test('a program is retried until it succeeds or the attempts are used up', async () => {
  const outputs = ['ECONNRESET', 'ECONNRESET'];
  const result = await runWithRetry(async () => {
    const output = outputs.shift();
    return output === undefined ? { code: 0, output: 'done', timedOut: false } : failed(output);
  }, 1);
  assert.equal(result.output, 'done');
  let times = 0;
  const last = await runWithRetry(async () => {
    times += 1;
    return failed('ECONNRESET');
  }, 1);
  assert.deepEqual([last.code, times], [100, 3]);
});
