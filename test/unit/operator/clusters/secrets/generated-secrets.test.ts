// Generated Secrets: only missing ones, with valid content.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { configFiles } from '../../../../../operator/clusters/config-files.ts';
import { missingSecrets } from '../../../../../operator/clusters/secrets/generated-secrets.ts';
import { decodeSecret } from '../../../../../operator/clusters/secrets/secret-values.ts';
import { testCluster } from '../../../../kit/fakes/media-cluster.ts';

test('a new cluster gets tokens, a key and a cookie that complete its files', () => {
  const cluster = testCluster();
  const made = missingSecrets(cluster, { secrets: new Map() }, randomBytes);
  const secrets = new Map(made.map((secret) => [secret.metadata.name, decodeSecret(secret)]));
  assert.deepEqual(Object.keys(secrets.get('media-api-tokens') ?? {}), ['operator', 'admin']);
  assert.deepEqual(Object.keys(secrets.get('media-secret-keys') ?? {}), ['current']);
  assert.deepEqual(Object.keys(secrets.get('media-cookie') ?? {}), ['cookie']);
  const values = [...secrets.values()].flatMap((data) => Object.values(data));
  assert.equal(new Set(values).size, values.length);
  for (const value of values) assert.ok(value.length >= 43, 'too short');
  assert.ok('config' in configFiles(cluster, { secrets }));
});

test('an existing Secret is not changed, even if a key is missing', () => {
  const secrets = new Map([['media-api-tokens', {}]]);
  const names = missingSecrets(testCluster(), { secrets }, randomBytes).map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['media-secret-keys', 'media-cookie']);
});

test('a Secret that the spec names is never generated, even under the name of a generated one', () => {
  const secrets = { apiTokens: { name: 'theirs' }, secretKeys: { name: 'media-secret-keys' }, cookie: { name: 'theirs-too' } };
  assert.deepEqual(missingSecrets(testCluster({ secrets }), { secrets: new Map() }, randomBytes), []);
});
