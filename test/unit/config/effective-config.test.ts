// Effective configuration: every variable with its value and source, without secrets.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ConfigValue } from '../../../api/node.ts';
import { defaultText, knownNames, variables } from '../../../api/settings/variables.ts';
import { effectiveConfig, redactedValue } from '../../../node/config/effective-config.ts';
import { loadConfig } from '../../../node/config.ts';
import type { Environment } from '../../../node/env.ts';
import { testSystem } from '../../kit/fakes/config.ts';
import { fieldsOf } from '../../kit/fields.ts';
import { tempFolder } from '../../kit/temp-folder.ts';

async function loaded(env: Environment): Promise<{ values: ConfigValue[]; of: (name: string) => Partial<ConfigValue> }> {
  const { config, hot } = await loadConfig(env, testSystem());
  const values = effectiveConfig(config, hot);
  return {
    values,
    of: (name) => {
      const { value, source } = values.find((each) => each.name === name) ?? {};
      return { value, source } as Partial<ConfigValue>;
    },
  };
}

test('every variable is listed once, in order, with its meaning', async () => {
  const { values } = await loaded({});
  assert.deepEqual(fieldsOf(values, 'name'), [...knownNames].map((name) => `SVC_${name}`).sort());
  for (const { env, doc, path, secret = false } of variables) {
    const value = values.find(({ name }) => name === `SVC_${env}`);
    assert.deepEqual([value?.meaning, value?.reloadable, value?.secret], [doc, path !== undefined, secret]);
  }
  assert.equal(values.find(({ name }) => name === 'SVC_PORT')?.reloadable, false);
});

test('defaults are written as in the environment', async () => {
  const { of } = await loaded({});
  for (const variable of variables) {
    const expected = defaultText(variable);
    if (expected === undefined || variable.env === 'RESOURCES_BASE_PATH' || variable.env === 'DIST_POLLING_INTERVAL') continue;
    const { value, source } = of(`SVC_${variable.env}`);
    const written = Array.isArray(value) ? value.join(' ') : value === null ? 'none' : String(value);
    assert.deepEqual([written, source], [expected, 'default'], variable.env);
  }
});

test('a value that means none is null, not the default', async () => {
  const { of } = await loaded({ SVC_PEER_DISCONNECTED_TIMEOUT: 'none', SVC_PEERLESS_PURGE_TIMEOUT: '0', SVC_RATE_LIMIT_SOCKET: 'none' });
  for (const name of ['SVC_PEER_DISCONNECTED_TIMEOUT', 'SVC_PEERLESS_PURGE_TIMEOUT', 'SVC_RATE_LIMIT_SOCKET']) {
    assert.deepEqual([of(name).value, of(name).source], [null, 'environment'], name);
  }
});

test('sources are shown: the environment overrides files, files override defaults', async (t) => {
  const file = join(tempFolder(t), 'settings.yaml');
  await writeFile(
    file,
    'limits: {maxRooms: 3, maxPeersPerRoom: 7}\ntimeouts: {peerResumeWindow: 20}\napiReadTokens: [{name: wall, token: seen}]\n',
  );
  const { of } = await loaded({
    SVC_CONFIG_FILES: file,
    SVC_MAX_ROOMS: '5',
    LEGACY_PORT: '7001',
    SVC_DRAIN_TIMEOUT: '90',
    SVC_TRUST_PROXY: '2 10.0.0.0/8',
  });
  assert.deepEqual(of('SVC_MAX_ROOMS'), { value: 5, source: 'environment' });
  assert.deepEqual(of('SVC_MAX_PEERS_PER_ROOM'), { value: 7, source: 'file' });
  assert.deepEqual(of('SVC_PEER_RESUME_WINDOW'), { value: 20, source: 'file' });
  assert.deepEqual(of('SVC_MAX_TRACKS_PER_PEER'), { value: 32, source: 'default' });
  assert.deepEqual(of('SVC_PORT'), { value: 7001, source: 'environment' });
  assert.deepEqual(of('SVC_DRAIN_TIMEOUT'), { value: 90, source: 'environment' });
  assert.deepEqual(of('SVC_TRUST_PROXY'), { value: ['2', '10.0.0.0/8'], source: 'environment' });
  assert.deepEqual(of('SVC_SERVER_API_READ_TOKEN'), { value: redactedValue, source: 'file' });
  assert.deepEqual(of('SVC_WEBHOOK_SECRET'), { value: null, source: 'default' });
});

test('no secret is shown', async () => {
  const seed = () => randomBytes(24).toString('base64url');
  const secrets = {
    SVC_SERVER_API_TOKEN: `${seed()} ${seed()}`,
    SVC_SERVER_API_READ_TOKEN: seed(),
    SVC_SECRET_KEY_BASE: seed(),
    SVC_ACCESS_KEYS: `backend=${seed()}`,
    SVC_DIST_COOKIE: seed(),
    SVC_ICE_SERVERS: JSON.stringify([{ urls: `turn:${seed()}.example`, username: seed(), credential: seed() }]),
    SVC_S3_ACCESS_KEY_ID: seed(),
    SVC_S3_SECRET_ACCESS_KEY: seed(),
    SVC_WEBHOOK_URLS: `https://hooks.example/${seed()}`,
    SVC_WEBHOOK_LIVEKIT_URLS: `https://hooks.example/${seed()}`,
    SVC_WEBHOOK_SECRET: `whsec_${randomBytes(24).toString('base64')}`,
  };
  const { values, of } = await loaded({ ...secrets, SVC_S3_BUCKET: 'recordings' });
  const text = JSON.stringify(values);
  for (const [name, value] of Object.entries(secrets)) {
    for (const word of value.split(/[^\w-]+/).filter((each) => each.length >= 16)) assert.ok(!text.includes(word), name);
    assert.deepEqual(of(name), { value: redactedValue, source: 'environment' });
  }
  assert.deepEqual(
    fieldsOf(
      values.filter(({ secret }) => secret),
      'name',
    ),
    Object.keys(secrets).sort(),
  );
});
