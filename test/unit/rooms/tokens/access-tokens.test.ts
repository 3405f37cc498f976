// Access tokens: every accepted and every rejected token, with its message.
import assert from 'node:assert/strict';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, test } from 'node:test';
import { ServiceError } from '../../../../api/errors.ts';
import { type AccessKey, accessKeys, accessKeysOf } from '../../../../api/settings/access-keys.ts';
import { AccessTokens } from '../../../../node/rooms/tokens/access-tokens.ts';
import { Revocations } from '../../../../node/rooms/tokens/revocations.ts';
import { type AccessTokenInit, accessKey, signAccessToken } from '../../../kit/access-tokens.ts';

const now = 1_800_000_000;
const day = 86_400;

function pair(type: 'ed25519' | 'p256'): { pem: string; privateKey: KeyObject } {
  const made = type === 'ed25519' ? generateKeyPairSync('ed25519') : generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { pem: made.publicKey.export({ type: 'spki', format: 'pem' }).toString(), privateKey: made.privateKey };
}
const edwards = pair('ed25519');
const nist = pair('p256');
const keys: AccessKey[] = [
  accessKey,
  { id: 'edwards', publicKey: edwards.pem },
  { id: 'nist', publicKey: nist.pem },
  { id: 'partner', secret: 'p'.repeat(32), roomCreate: false, roomPrefix: 'partner-', maxPeers: 5 },
  { id: 'small', secret: 's'.repeat(32), maxPeers: 5, peerlessPurgeTimeout: 60 },
];
const bytes = (text: string) => new TextEncoder().encode(text);

function verify(token: string, list = keys) {
  return new AccessTokens({ keys: () => list, maxTtl: () => day * 1000, now: () => now * 1000 }).verify(token);
}

async function rejection(token: string | Promise<string>, list = keys): Promise<string> {
  try {
    await verify(await token, list);
  } catch (error) {
    assert.ok(error instanceof ServiceError, String(error));
    return `${error.code}: ${error.message}`;
  }
  return 'accepted';
}

const sign = (init: AccessTokenInit = {}) => signAccessToken({ now, ...init });

/** A token whose header, payload or signature is replaced. */
async function forged(change: (parts: { header: object; payload: object; signature: string }) => Partial<Record<string, unknown>>) {
  const [head = '', body = '', signature = ''] = (await sign()).split('.');
  const read = (text: string) => JSON.parse(Buffer.from(text, 'base64url').toString()) as object;
  const parts = { header: read(head), payload: read(body), signature };
  const made = { ...parts, ...change(parts) };
  const write = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  return `${write(made.header)}.${write(made.payload)}.${made.signature}`;
}

describe('accepted', () => {
  test('the least token: everything is permitted, and its room is not created', async () => {
    assert.deepEqual(await verify(await sign()), {
      keyId: 'backend',
      roomId: 'room',
      identity: 'alice',
      metadata: null,
      attributes: {},
      permissions: { publish: ['audio', 'video'], subscribe: true, data: true },
      hidden: false,
      agent: false,
      agents: [],
      rejoin: false,
      room: undefined,
      issuedAt: now * 1000,
      expiresAt: (now + 600) * 1000,
    });
  });

  const signed: [string, AccessTokenInit][] = [
    ['ES256', { keyId: 'nist', alg: 'ES256', key: nist.privateKey }],
    ['EdDSA', { keyId: 'edwards', alg: 'EdDSA', key: edwards.privateKey }],
    ['Ed25519', { keyId: 'edwards', alg: 'Ed25519', key: edwards.privateKey }],
    ['a clock that is 60 s ahead', { now: now + 60 }],
    ['a clock that is 60 s behind', { now: now - 659, ttl: 600 }],
    ['the maximum validity', { ttl: day }],
    ['an identity that is no id', { identity: 'ada@example.com' }],
    ['null and empty texts for what is not set', { claims: { name: '', metadata: '', attributes: null, roomConfig: null } }],
    ['unknown claims and grants', { claims: { kind: 'standard', sha256: '' }, video: { roomAdmin: true, recorder: null } }],
  ];
  for (const [name, init] of signed) {
    test(name, async () => {
      assert.equal(await rejection(sign(init)), 'accepted');
    });
  }

  const granted: [Record<string, unknown>, object][] = [
    [{ canPublish: false }, { publish: [], subscribe: true, data: false }],
    [
      { canPublish: false, canPublishData: true },
      { publish: [], subscribe: true, data: true },
    ],
    [{ canPublishData: false }, { publish: ['audio', 'video'], subscribe: true, data: false }],
    [{ canSubscribe: false }, { publish: ['audio', 'video'], subscribe: false, data: true }],
    [{ canPublishSources: [] }, { publish: ['audio', 'video'], subscribe: true, data: true }],
    [
      { canPublishSources: ['microphone', 'screen_share_audio'] },
      { publish: ['audio'], subscribe: true, data: true, publishSources: ['microphone', 'screenSound'] },
    ],
    [
      { canPublishSources: ['screen_share', 'hologram', 'screen_share'] },
      { publish: ['video'], subscribe: true, data: true, publishSources: ['screen'] },
    ],
    [{ canPublishSources: ['hologram'] }, { publish: [], subscribe: true, data: true }],
    [
      { canPublish: false, canPublishSources: ['camera'] },
      { publish: [], subscribe: true, data: false },
    ],
    [{ hidden: true }, { publish: [], subscribe: true, data: true }],
    [{ roomAdmin: true }, { publish: ['audio', 'video'], subscribe: true, data: true, roomMetadata: true }],
    [{ roomAdmin: false }, { publish: ['audio', 'video'], subscribe: true, data: true }],
  ];
  for (const [video, permissions] of granted) {
    test(`the grants ${JSON.stringify(video)} are permissions`, async () => {
      assert.deepEqual((await verify(await sign({ video }))).permissions, permissions);
    });
  }

  const described: [Record<string, unknown>, unknown][] = [
    [{ name: 'Ada' }, { name: 'Ada' }],
    [{ metadata: '{"role":"host"}' }, { role: 'host' }],
    [{ metadata: { role: 'host' } }, { role: 'host' }],
    [{ metadata: 'host' }, 'host'],
    [
      { name: 'Ada', metadata: '{"role":"host"}' },
      { name: 'Ada', role: 'host' },
    ],
    [{ name: 'Ada', metadata: '{"name":"Countess"}' }, { name: 'Countess' }],
    [
      { name: 'Ada', metadata: 'host' },
      { name: 'Ada', value: 'host' },
    ],
  ];
  for (const [claims, metadata] of described) {
    test(`the claims ${JSON.stringify(claims)} are metadata`, async () => {
      assert.deepEqual((await verify(await sign({ claims }))).metadata, metadata);
    });
  }

  const rooms: [string, AccessTokenInit, object | undefined][] = [
    ['a grant creates a room that ends without peers', {}, { roomId: 'room', peerlessPurgeTimeout: 300 }],
    [
      'a token sets less than the default',
      { claims: { roomConfig: { maxParticipants: 3, emptyTimeout: 0, departureTimeout: 20, metadata: '{"topic":1}' } } },
      { roomId: 'room', peerlessPurgeTimeout: 20, maxPeers: 3, metadata: { topic: 1 } },
    ],
    [
      'a token does not set more than its key',
      { keyId: 'small', key: bytes('s'.repeat(32)), claims: { roomConfig: { maxParticipants: 9, emptyTimeout: 900 } } },
      { roomId: 'room', peerlessPurgeTimeout: 60, maxPeers: 5 },
    ],
    ['a key that creates no rooms', { keyId: 'partner', key: bytes('p'.repeat(32)), room: 'partner-1' }, undefined],
  ];
  for (const [name, init, room] of rooms) {
    test(name, async () => {
      assert.deepEqual((await verify(await sign({ video: { roomCreate: true }, ...init }))).room, room);
    });
  }
});

describe('rejected with one message', () => {
  const signedBy = (secret: string) => ({ key: bytes(secret) });
  const longer = `invalid_token: The access token is valid for longer than ${day} s (SVC_ACCESS_TOKEN_MAX_TTL)`;
  const unsigned = 'invalid_token: The access token is not signed by the access key backend';
  const cases: [string, string | Promise<string>, string][] = [
    ['an empty text', '', 'invalid_token: The access token is not a JWT'],
    ['a text that is no JWT', 'a.b.c', 'invalid_token: The access token is not a JWT'],
    ['an unknown key', sign({ keyId: 'other' }), 'invalid_token: The access token names an unknown access key in iss'],
    ['no key', sign({ claims: { iss: undefined } }), 'invalid_token: The access token names an unknown access key in iss'],
    ['the name of a prototype', sign({ keyId: '__proto__' }), 'invalid_token: The access token names an unknown access key in iss'],
    ['the secret of another key', sign(signedBy('p'.repeat(32))), unsigned],
    ['changed claims', forged(({ payload }) => ({ payload: { ...payload, sub: 'mallory' } })), unsigned],
    ['no signature', forged(() => ({ signature: '' })), unsigned],
    [
      'alg none',
      forged(() => ({ header: { alg: 'none', typ: 'JWT' }, signature: '' })),
      'invalid_token: The access key backend requires tokens signed with HS256',
    ],
    [
      'another algorithm than that of the secret',
      sign({ alg: 'HS512', key: bytes('a_secret_of_the_backend_of_the_tests'.repeat(2)) }),
      'invalid_token: The access key backend requires tokens signed with HS256',
    ],
    [
      'a public key as secret',
      sign({ keyId: 'nist', alg: 'HS256', key: bytes(nist.pem) }),
      'invalid_token: The access key nist requires tokens signed with ES256',
    ],
    [
      'an extension that must be understood',
      forged(({ header }) => ({ header: { ...header, crit: ['exp2'], exp2: 1 } })),
      'invalid_token: The access token is not a JWT',
    ],
    ['an expired token', sign({ now: now - 660, ttl: 600 }), 'invalid_token: The access token has expired'],
    ['a clock that is 61 s ahead', sign({ now: now + 61 }), 'invalid_token: The access token is not valid yet'],
    ['no expiry', sign({ claims: { exp: undefined } }), 'invalid_token: The claim exp of the access token is missing or invalid'],
    [
      'an expiry that is no number',
      sign({ claims: { exp: 'never' } }),
      'invalid_token: The claim exp of the access token is missing or invalid',
    ],
    ['a longer validity', sign({ ttl: day + 61 }), longer],
    ['a longer validity that is almost over', sign({ now: now - 30 * day, ttl: 30 * day + 5 }), longer],
    ['a longer validity without its start', sign({ ttl: day + 61, claims: { nbf: undefined } }), longer],
    ['no identity', sign({ claims: { sub: undefined } }), 'invalid_token: The claim sub of the access token is missing or invalid'],
    ['an empty identity', sign({ identity: '' }), 'invalid_token: Access token: Expected sub to have at least 1 character, got: ""'],
    ['no grants', sign({ claims: { video: undefined } }), 'invalid_token: Access token: Required field video is missing'],
    ['no room', sign({ video: { room: undefined } }), 'invalid_token: Access token: Required field video.room is missing'],
    [
      'a room that is no id',
      sign({ room: '../x' }),
      'invalid_token: Access token: video.room may contain only alphanumeric characters, hyphens and underscores (1 to 128), got: "../x"',
    ],
    [
      'too large metadata',
      sign({ claims: { metadata: `[${'1e20,'.repeat(1_000)}1]` } }),
      'invalid_token: Access token: the metadata is too large',
    ],
    ['no grant to join', sign({ video: { roomJoin: false } }), 'forbidden: The access token has no grant roomJoin'],
    [
      'another room than the prefix of its key',
      sign({ keyId: 'partner', ...signedBy('p'.repeat(32)) }),
      'forbidden: The access key partner is valid for rooms with the prefix partner- only',
    ],
  ];
  for (const [name, token, message] of cases) {
    test(name, async () => {
      const text = await rejection(token);
      assert.equal(text, message);
      assert.ok(!text.includes(accessKey.secret));
    });
  }

  test('every token, if there are no keys', async () => {
    assert.equal(await rejection(sign(), []), 'invalid_token: This node accepts no access tokens: it has no access keys (SVC_ACCESS_KEYS)');
  });

  test('every token of a key that was removed', async () => {
    let list = keys;
    const tokens = new AccessTokens({ keys: () => list, maxTtl: () => day * 1000, now: () => now * 1000 });
    await tokens.verify(await sign());
    list = keys.slice(1);
    await assert.rejects(tokens.verify(await sign()), { code: 'invalid_token' });
  });
});

test('keys of a file and of the variable are checked', () => {
  const messageOf = (value: unknown) => accessKeys.safeParse(value).error?.issues[0]?.message;
  const secret = 'x'.repeat(32);
  assert.deepEqual(accessKeysOf(`a=${secret} b=${secret}==`), [
    { id: 'a', secret },
    { id: 'b', secret: `${secret}==` },
  ]);
  assert.equal(messageOf(accessKeysOf(`a=${secret}`)), undefined);
  assert.equal(messageOf([{ id: 'a', publicKey: edwards.pem, roomPrefix: 'x-' }]), undefined);
  assert.match(messageOf(accessKeysOf(secret)) ?? '', /^to be an id/);
  assert.match(messageOf(accessKeysOf('a=short')) ?? '', /^to be a secret of 32/);
  assert.match(messageOf([{ id: 'a', secret: edwards.pem }]) ?? '', /^to be a secret/);
  assert.match(messageOf([{ id: 'a' }]) ?? '', /^to have either a secret or a public key/);
  assert.match(messageOf([{ id: 'a', secret, publicKey: nist.pem }]) ?? '', /^to have either a secret or a public key/);
  const privateKey = edwards.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ type: 'spki', format: 'pem' }).toString();
  for (const publicKey of [privateKey, rsa, 'text']) assert.match(messageOf([{ id: 'a', publicKey }]) ?? '', /^to be the PEM/);
  const twice = [
    { id: 'a', secret },
    { id: 'a', secret },
  ];
  assert.equal(messageOf(twice), 'to have each id once');
});

describe('revocations', () => {
  test('tokens issued until the deletion, in the same second, or without a time are revoked', () => {
    const revoked = new Revocations({ maxTtl: () => day * 1000, max: 10, now: () => 10_700 });
    revoked.add('alice');
    assert.deepEqual(
      [0, 9_000, 10_000, 11_000].map((issuedAt) => revoked.includes('alice', issuedAt)),
      [true, true, true, false],
    );
    assert.equal(revoked.includes('bob', 0), false);
  });

  test('a later deletion counts, and that of a node whose clock is ahead counts from now', () => {
    const revoked = new Revocations({ maxTtl: () => day * 1000, max: 10, now: () => 50_000 });
    revoked.add('alice', 40_000);
    revoked.add('alice', 30_000);
    revoked.add('bob', 90_000);
    assert.deepEqual(revoked.all(), [
      { name: 'alice', at: 40_000 },
      { name: 'bob', at: 50_000 },
    ]);
  });

  test('they are forgotten when no token can be valid any more, and the oldest beyond the maximum', () => {
    let time = 0;
    const revoked = new Revocations({ maxTtl: () => 1_000, max: 2, now: () => time });
    revoked.add('a');
    time = 1_000;
    revoked.add('b');
    assert.deepEqual(revoked.all(), [{ name: 'b', at: 1_000 }]);
    revoked.add('c');
    revoked.add('d');
    assert.deepEqual(
      revoked.all().map(({ name }) => name),
      ['c', 'd'],
    );
  });
});

describe('renewed', () => {
  const hour = 3_600;
  const at = (time: number) => new AccessTokens({ keys: () => keys, maxTtl: () => day * 1000, now: () => time * 1000 });

  test('a token has the same claims and is valid for as long again, up to the longest validity since its issue', async () => {
    const token = await sign({ identity: 'alice', ttl: 20 * hour, claims: { name: 'Alice', iat: now } });
    const first = await at(now).verify(token);
    assert.equal(await at(now).renew(token), undefined);
    const renewed = await at(now + hour).renew(token);
    assert.equal(renewed?.expiresAt, (now + 21 * hour) * 1000);
    assert.deepEqual(await at(now + 21 * hour).verify(renewed.token), { ...first, expiresAt: renewed.expiresAt });
    const last = await at(now + 20 * hour).renew(renewed.token);
    assert.equal(last?.expiresAt, (now + day) * 1000);
    assert.equal(await at(now + 23 * hour).renew(last.token), undefined);
  });

  test('a token tells that its client joins again, and stays the same otherwise', async () => {
    const token = await sign({ identity: 'alice' });
    const again = (await at(now).forRejoin(token)) ?? '';
    assert.deepEqual(await at(now).verify(again), { ...(await at(now).verify(token)), rejoin: true });
    const renewed = await at(now + 60).renew(again);
    assert.equal((await at(now + 60).verify(renewed?.token ?? '')).rejoin, true);
  });

  test('an expired token is rejected, and a node with the public key alone signs none', async () => {
    await assert.rejects(at(now + 2 * hour).renew(await sign({ ttl: hour })), { code: 'invalid_token' });
    const token = await sign({ keyId: 'nist', key: nist.privateKey, alg: 'ES256' });
    assert.equal(await at(now + 60).renew(token), undefined);
    assert.equal(await at(now + 60).forRejoin(token), undefined);
  });
});
