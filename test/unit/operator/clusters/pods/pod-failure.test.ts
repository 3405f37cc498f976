// Description of failed pods: reason, exit code and last lines, without secrets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failureText, lastLines, redacted } from '../../../../../operator/clusters/pods/pod-failure.ts';

const secrets = new Map<string, Record<string, string>>([
  ['c-api-tokens', { admin: 'a-token-of-24-characters', short: 'abc' }],
  ['c-tls', { 'tls.key': '-----BEGIN KEY-----\nMIIEvQIBADANBgkqh\n-----END KEY-----' }],
]);

test('an evicted pod is described with its reason, message and the end of its container', () => {
  const status = {
    phase: 'Failed',
    reason: 'Evicted',
    message: 'The node was low on resource: memory',
    containerStatuses: [{ name: 'node', state: { terminated: { exitCode: 137, reason: 'Error', message: 'one\ntwo\n' } } }],
  };
  const expected = 'Evicted: The node was low on resource: memory. Container node ended with exit code 137 (Error): one | two.';
  assert.equal(failureText({ status }, secrets), expected);
});

test('the previous run of a restarted container is described', () => {
  const containerStatuses = [{ name: 'node', state: { waiting: {} }, lastState: { terminated: { exitCode: 1 } } }];
  assert.equal(failureText({ status: { containerStatuses } }, secrets), 'Container node ended with exit code 1.');
});

test('a pod without a reason is described', () => {
  assert.equal(failureText({}, secrets), 'Kubernetes gave no reason.');
});

test('values of Secrets are redacted, also single lines of them', () => {
  const text = 'token a-token-of-24-characters, key MIIEvQIBADANBgkqh, abc';
  assert.equal(redacted(text, secrets), 'token [redacted], key [redacted], abc');
});

test('only the last lines are kept, each truncated', () => {
  const text = [...Array.from({ length: 9 }, (_, index) => `line ${index}`), 'x'.repeat(500)].join('\n');
  assert.equal(lastLines(text), `line 5 | line 6 | line 7 | line 8 | ${'x'.repeat(120)}`);
});
