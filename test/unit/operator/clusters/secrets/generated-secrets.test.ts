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
  const cluster = testCluster({ secrets: { apiTokens: { name: 'tokens-of-the-user' } } });
  const secrets = new Map([['tokens-of-the-user', {}]]);
  const names = missingSecrets(cluster, { secrets }, randomBytes).map(({ metadata }) => metadata.name);
  assert.deepEqual(names, ['media-secret-keys', 'media-cookie']);
});

test('a Secret named for key and cookie is created once with both', () => {
  const cluster = testCluster({ secrets: { secretKeys: { name: 'both' }, cookie: { name: 'both' } } });
  const both = missingSecrets(cluster, { secrets: new Map() }, randomBytes).filter(({ metadata }) => metadata.name === 'both');
  assert.deepEqual(
    both.map(({ data }) => Object.keys(data)),
    [['current', 'cookie']],
  );
});
