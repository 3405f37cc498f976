// Access tokens of the SDK: nodes accept them, with every option.
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { test } from 'node:test';
import { AccessTokens as Verifier } from '../../../node/rooms/tokens/access-tokens.ts';
import { type AccessKey, Mediarooms } from '../../../packages/server-sdk/src/index.ts';
import { accessKey } from '../../kit/access-tokens.ts';

const options = { url: 'http://127.0.0.1:5002', token: 'unused' };
const pem = (key: KeyObject, type: 'spki' | 'pkcs8') => key.export({ type: type as 'spki', format: 'pem' }).toString();
const pairs = {
  ed25519: generateKeyPairSync('ed25519'),
  p256: generateKeyPairSync('ec', { namedCurve: 'P-256' }),
};
const verifier = new Verifier({
  keys: () => [accessKey, ...Object.entries(pairs).map(([id, { publicKey }]) => ({ id, publicKey: pem(publicKey, 'spki') }))],
  maxTtl: () => 3_600_000,
});

const keys: AccessKey[] = [
  accessKey,
  ...Object.entries(pairs).map(([id, { privateKey }]) => ({ id, privateKey: pem(privateKey, 'pkcs8') })),
];
for (const key of keys)
  test(`a node accepts a token that is signed with the key ${key.id}`, async () => {
    const { accessTokens } = new Mediarooms({ ...options, accessKey: key });
    const access = await verifier.verify(await accessTokens.sign({ room: 'lesson', identity: 'ada' }));
    const { keyId, identity, roomId, metadata, permissions, hidden, room, expiresAt, issuedAt } = access;
    assert.deepEqual([keyId, identity, roomId, metadata, hidden, room], [key.id, 'ada', 'lesson', null, false, undefined]);
    assert.deepEqual(permissions, { publish: ['audio', 'video'], subscribe: true, data: true });
    assert.equal(expiresAt - issuedAt, 600_000);
  });

test('every option is a claim', async () => {
  const { accessTokens } = new Mediarooms({ ...options, accessKey });
  const token = await accessTokens.sign({
    room: 'lesson',
    identity: 'ädä',
    ttl: 60_000,
    name: 'Ada',
    metadata: { role: 'host' },
    attributes: { seat: '7' },
    createRoom: { maxPeers: 9, peerlessPurgeTimeout: 30, metadata: 'topic' },
    canPublishSources: ['microphone'],
    canSubscribe: false,
    canPublishData: false,
  });
  const { identity, metadata, attributes, permissions, room, expiresAt, issuedAt } = await verifier.verify(token);
  assert.deepEqual([identity, metadata, attributes], ['ädä', { name: 'Ada', role: 'host' }, { seat: '7' }]);
  assert.deepEqual(permissions, { publish: ['audio'], publishSources: ['microphone'], subscribe: false, data: false });
  assert.deepEqual(room, { roomId: 'lesson', maxPeers: 9, peerlessPurgeTimeout: 30, metadata: 'topic' });
  assert.equal(expiresAt - issuedAt, 60_000);
});

test('without a key, or with an invalid one, nothing is signed', async () => {
  const sign = (accessKey_?: AccessKey) =>
    new Mediarooms({ ...options, ...(accessKey_ && { accessKey: accessKey_ }) }).accessTokens.sign({ room: 'r', identity: 'i' });
  await assert.rejects(sign(), TypeError);
  await assert.rejects(sign({ id: 'a', privateKey: 'text' }), /PKCS #8/);
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  await assert.rejects(sign({ id: 'a', privateKey: pem(privateKey, 'pkcs8') }), /P-256 or Ed25519/);
});
