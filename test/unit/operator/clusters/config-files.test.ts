// Configuration files of nodes: content, validity for the reader of the node, and reported problems of Secrets.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { parse } from 'yaml';
import { minTokenLength } from '../../../../api/settings/values.ts';
import { defaultLayer, fileLayer, mergeLayers } from '../../../../node/config/layers.ts';
import type { SecretData } from '../../../../operator/clusters/cluster-context.ts';
import { type ConfigFiles, configFiles, configObjects } from '../../../../operator/clusters/config-files.ts';
import { decodeSecret, operatorToken, secretNames } from '../../../../operator/clusters/secrets/secret-values.ts';
import { partnerKey, richSpec, testCluster, testFacts, testSecrets, webhookKey } from '../../../kit/fakes/media-cluster.ts';

const rich = testCluster(richSpec);
const factsWith = (changes: Record<string, SecretData | undefined>) => {
  const entries = Object.entries({ ...testSecrets, ...changes });
  return { secrets: new Map(entries.filter((entry): entry is [string, SecretData] => entry[1] !== undefined)) };
};

function filesOf(cluster = rich, facts = factsWith({})): ConfigFiles {
  const files = configFiles(cluster, facts);
  assert.ok('config' in files, JSON.stringify(files));
  return files;
}

function problemsOf(changes: Record<string, SecretData | undefined>, cluster = rich) {
  const found = configFiles(cluster, factsWith(changes));
  assert.ok('problems' in found, 'no problem');
  const text = JSON.stringify(found.problems);
  for (const data of factsWith(changes).secrets.values())
    for (const value of Object.values(data)) assert.ok(value === '' || !text.includes(value), 'a secret in a message');
  return found.problems;
}

function settingsOf({ config, secrets }: ConfigFiles) {
  const layers = [config, secrets].map(({ path, text }) => {
    const layer = fileLayer(path, Buffer.from(text));
    assert.deepEqual(layer.errors, []);
    return layer.raw;
  });
  const settled = mergeLayers([defaultLayer({ apiTokens: undefined, avMaxCpu: 2 }), ...layers]);
  assert.ok('settings' in settled, JSON.stringify(settled));
  return settled.settings;
}

test('a node that reads the files gets the settings of the spec and its Secrets', () => {
  const settings = settingsOf(filesOf());
  assert.deepEqual(settings.apiTokens, [
    { name: 'admin', token: 'token-of-the-admin', scope: 'admin' },
    { name: 'dashboard.read', token: 'token-that-reads', scope: 'read' },
    { name: 'operator', token: 'token-of-the-operator', scope: 'admin' },
  ]);
  assert.deepEqual(settings.secretKeys, ['c'.repeat(48), 'p'.repeat(48)]);
  assert.deepEqual(settings.accessKeys, [
    { id: 'backend', secret: 'secret-of-the-access-key-backend' },
    { id: 'partner.join', publicKey: partnerKey.trim(), roomCreate: false },
  ]);
  assert.equal(settings.timeouts.accessTokenMaxTtl, 3_600_000);
  assert.deepEqual(settings.s3, {
    bucket: 'recordings',
    region: 'eu-1',
    endpoint: 'https://s3.example',
    pathPrefix: 'rooms/',
    accessKeyId: 'key-id-of-s3',
    secretAccessKey: 'secret-key-of-s3',
  });
  assert.deepEqual(settings.webhooks, {
    urls: ['https://hooks.example/rooms'],
    livekitUrls: [],
    secrets: [webhookKey],
    maxAge: 600_000,
    allowPrivate: true,
  });
  assert.deepEqual(settings.iceServers, [
    { urls: ['stun:stun.example:3478'] },
    { urls: ['turns:turn.example:5349?transport=tcp'], username: 'someone', credential: 'password of turn' },
  ]);
  assert.equal(settings.limits.rateLimitApi, null);
  assert.equal(settings.limits.maxRooms, 20);
  assert.deepEqual(settings.roomDefaults, { peerDisconnectedTimeout: null, peerlessPurgeTimeout: 600 });
  assert.equal(settings.webrtc.maxIncomingBitrate, 2_500_000);
});

test('an empty spec gives the defaults, with webhooks to private addresses off', () => {
  const settings = settingsOf(filesOf(testCluster()));
  assert.equal(settings.webhooks.allowPrivate, false);
  const open = settingsOf(filesOf(testCluster({ config: { allowPrivateAddresses: true } })));
  assert.deepEqual([open.allowPrivateAddresses, open.webhooks.allowPrivate], [true, true]);
  assert.equal(settings.roomDefaults.peerDisconnectedTimeout, 120);
  assert.deepEqual([settings.iceServers, settings.accessKeys], [[], []]);
  assert.equal(settings.s3, null);
});

test('the ConfigMap contains no secret', () => {
  const [map] = configObjects(rich, filesOf());
  for (const data of Object.values(testSecrets))
    for (const value of Object.values(data)) assert.ok(!JSON.stringify(map).includes(value.trim()), 'a secret in a ConfigMap');
});

test('the cookie is a file of the Secret without a line break at its end, and no part of the hash', () => {
  const files = filesOf(rich, factsWith({ 'media-cookie': { cookie: 'another-cookie\n' } }));
  assert.equal(files.hash, filesOf().hash);
  const dataOf = (cookie?: string) => decodeSecret(configObjects(rich, files, cookie)[1]).cookie;
  assert.deepEqual([dataOf(), dataOf('the-effective-one')], ['another-cookie', 'the-effective-one']);
});

test('the hash of a file is computed from the bytes of the object', () => {
  const files = filesOf(testCluster({ config: { webhooks: { urls: ['https://a.example/bücher'] } } }));
  const [map, secret] = configObjects(rich, files);
  const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
  assert.equal(files.config.sha256, sha256(Buffer.from(map.data['config.yaml'] ?? '', 'utf8')));
  assert.equal(files.secrets.sha256, sha256(Buffer.from(secret.data['secrets.yaml'] ?? '', 'base64')));
});

test('the text does not depend on the order of the input', () => {
  const config = { logLevel: 'debug', limits: { maxRooms: 1, maxTracksPerPeer: 2 } };
  const other = { limits: { maxTracksPerPeer: 2, maxRooms: 1 }, logLevel: 'debug' };
  assert.equal(filesOf(testCluster({ config })).hash, filesOf(testCluster({ config: other })).hash);
  const reversed = { secrets: new Map([...testFacts().secrets].reverse()) };
  assert.equal(filesOf(rich, reversed).hash, filesOf().hash);
});

test('every change of a secret changes the hash of the pods', () => {
  const before = filesOf().hash;
  const changed = { 'media-secret-keys': { current: 'n'.repeat(48) } };
  assert.notEqual(filesOf(rich, factsWith(changed)).hash, before);
});

test('a new key is distributed before it signs, and the old key is kept afterwards', () => {
  const keysWith = (data: SecretData) => parse(filesOf(rich, factsWith({ 'media-secret-keys': data })).secrets.text).secretKeys;
  assert.deepEqual(keysWith({ current: 'one', next: 'two' }), ['one', 'two']);
  assert.deepEqual(keysWith({ current: 'two', previous: 'one' }), ['two', 'one']);
  assert.deepEqual(keysWith({ previous: 'one', current: 'one' }), ['one']);
});

test('strings that YAML could read as other types stay strings', () => {
  const data = { current: '0123456789', previous: 'true' };
  assert.deepEqual(settingsOf(filesOf(rich, factsWith({ 'media-secret-keys': data }))).secretKeys, ['0123456789', 'true']);
});

for (const [name, field, keys] of [
  ['media-api-tokens', 'secrets.apiTokens', 'a key for each API token'],
  ['media-secret-keys', 'secrets.secretKeys', 'the key "current"'],
  ['media-cookie', 'secrets.cookie', 'the key "cookie"'],
  ['access-keys', 'secrets.accessKeys', 'a key for each access key'],
  ['bucket-keys', 'secrets.s3', 'the keys "accessKeyId" and "secretAccessKey"'],
  ['hook-keys', 'secrets.webhooks', 'a key for each signing key'],
  ['turn-credentials', 'config.iceServers', 'the key "password"'],
] as const)
  test(`a missing Secret of ${field} is reported once with its name and keys, and no files are generated`, () => {
    assert.deepEqual(problemsOf({ [name]: undefined }), [
      { reason: 'SecretMissing', message: `Secret "${name}", in which ${field} needs ${keys}, does not exist` },
    ]);
  });

test('an API token that a node reports as too short is rejected by its key, and the shortest allowed one is accepted', () => {
  const short = { operator: 'token-of-the-operator', backend: 't'.repeat(minTokenLength - 1), 'watch.read': 'r'.repeat(3) };
  assert.deepEqual(problemsOf({ 'media-api-tokens': short }), [
    { reason: 'SecretInvalid', message: 'the API token "backend" in Secret "media-api-tokens" must have at least 16 characters' },
    { reason: 'SecretInvalid', message: 'the API token "watch.read" in Secret "media-api-tokens" must have at least 16 characters' },
  ]);
  filesOf(rich, factsWith({ 'media-api-tokens': { operator: 't'.repeat(minTokenLength) } }));
});

test('all problems are reported together', () => {
  const problems = problemsOf({ 'bucket-keys': { accessKeyId: 'an id with spaces' }, 'hook-keys': { first: 'whsec_short' } });
  assert.deepEqual(problems, [
    {
      reason: 'SecretInvalid',
      message: 'the value of "first" in Secret "hook-keys" must be whsec_ followed by the base64 of 24 to 64 bytes',
    },
    {
      reason: 'SecretInvalid',
      message: 'the value of "accessKeyId" in Secret "bucket-keys" must be text without spaces, at most 4096 characters',
    },
    { reason: 'SecretKeyMissing', message: 'Secret "bucket-keys" has no key "secretAccessKey", which secrets.s3 needs' },
  ]);
});

test('values that nodes would reject are rejected, with a message that does not contain them', () => {
  const reasons = (changes: Record<string, SecretData>) => problemsOf(changes).map(({ reason }) => reason);
  assert.deepEqual(reasons({ 'media-api-tokens': { operator: 'two words' } }), ['SecretInvalid']);
  assert.deepEqual(reasons({ 'media-api-tokens': { 'only.read': 'a-token-that-reads' } }), ['SecretKeyMissing']);
  assert.deepEqual(reasons({ 'media-api-tokens': {} }), ['SecretKeyMissing']);
  assert.deepEqual(reasons({ 'media-api-tokens': { operator: 'token-of-the-operator', ['n'.repeat(65)]: 'token-with-a-long-name' } }), [
    'SecretInvalid',
  ]);
  assert.deepEqual(reasons({ 'media-cookie': { cookie: 'two words' } }), ['SecretInvalid']);
  assert.deepEqual(reasons({ 'media-secret-keys': { current: 'a\u0000b' } }), ['SecretInvalid']);
  assert.deepEqual(reasons({ 'hook-keys': {} }), ['SecretInvalid']);
  assert.deepEqual(reasons({ 'access-keys': {} }), ['SecretInvalid']);
  assert.deepEqual(reasons({ 'access-keys': { ['n'.repeat(65)]: 's'.repeat(32) } }), ['SecretInvalid']);
  assert.deepEqual(reasons({ 'access-keys': { backend: 'short', partner: partnerKey.replace('MFkw', 'MFkx') } }), [
    'SecretInvalid',
    'SecretInvalid',
  ]);
  const five = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((key) => [key, webhookKey]));
  assert.deepEqual(reasons({ 'hook-keys': five }), ['SecretInvalid']);
});

test('a Secret of which all keys are used cannot be used for another purpose', () => {
  const cluster = testCluster({ secrets: { apiTokens: { name: 'one' }, cookie: { name: 'one' } } });
  assert.ok(problemsOf({ one: { cookie: 'a-cookie' } }, cluster).some(({ reason }) => reason === 'SecretShared'));
});

test('every used Secret is watched once', () => {
  assert.deepEqual(secretNames(rich).sort(), Object.keys(testSecrets).sort());
  assert.deepEqual(secretNames(testCluster()), ['media-api-tokens', 'media-secret-keys', 'media-cookie']);
});

test('the operator uses its token, otherwise another one with full access', () => {
  assert.equal(operatorToken(rich, testFacts().secrets), 'token-of-the-operator');
  const others = { 'media-api-tokens': { 'a.read': 'reads', backend: 'writes\n' } };
  assert.equal(operatorToken(rich, factsWith(others).secrets), 'writes');
  assert.equal(operatorToken(rich, factsWith({ 'media-api-tokens': undefined }).secrets), undefined);
});

test('data of a Secret is decoded as UTF-8', () => {
  assert.deepEqual(decodeSecret({ data: { key: Buffer.from('grün').toString('base64') } }), { key: 'grün' });
  assert.deepEqual(decodeSecret({}), {});
});
