// Signed requests: as the operator signs them, and variations that must be rejected.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../../../api/errors.ts';
import { type ApiToken, ApiTokens } from '../../../../node/rooms/tokens/api-tokens.ts';
import { isSignature, SignedCalls } from '../../../../node/rooms/tokens/signed-calls.ts';
import { signedRequest, signedSocket } from '../../../../operator/nodes/signature.ts';

const token = 'the-token-of-the-operator-of-the-test';
const address = '10.0.0.1:8080';
const url = `http://${address}/room?limit=1`;
const body = '{"roomId":"r"}';
const request = { method: 'POST', path: '/room?limit=1' };
const client = '10.0.0.9';
const tokens: ApiToken[] = [
  { name: 'admin', token: 'another-token', scope: 'admin' },
  { name: 'operator', token, scope: 'admin' },
];

function node({ own = address, offset = 0, maxNonces = 100, failures = 1_000 } = {}) {
  const clock = { offset };
  const now = () => Date.now() + clock.offset;
  const started = new SignedCalls({ tokens: new ApiTokens(() => tokens, failures), address: () => own, now, maxNonces });
  const take = (signature: string, { method, path } = request, sent = body) => {
    const { token: found, takeBody } = started.request(signature, { method, path }, client);
    takeBody(Buffer.from(sent));
    return found.name;
  };
  return { take, clock, socket: (signature: string) => started.socket(signature, client).name };
}

const signed = (more: Partial<Parameters<typeof signedRequest>[0]> = {}) => signedRequest({ token, method: 'POST', url, body, ...more });

function refused(message: string, code = 'invalid_token') {
  return (error: unknown) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.deepEqual([error.code, error.message], [code, message]);
    return true;
  };
}

/** With one part replaced: 0 the version, then address, time, nonce, hash of the body, code. */
function withPart(signature: string, index: number, change: (part: string) => string): string {
  const [scheme = '', value = ''] = signature.split(' ');
  const parts = value.split('.').map((part, at) => (at === index ? change(part) : part));
  return `${scheme} ${parts.join('.')}`;
}
const flipped = (part: string) => `${part.startsWith('A') ? 'B' : 'A'}${part.slice(1)}`;

test('a signed request identifies its token without containing it', () => {
  const { take } = node();
  const signature = signed();
  assert.ok(isSignature(signature));
  assert.doesNotMatch(signature, /operator/);
  assert.equal(take(signature), 'operator');
  assert.equal(node().take(signed({ token: 'another-token' })), 'admin');
  assert.equal(node().take(signed({ method: 'GET', body: '' }), { ...request, method: 'GET' }, ''), 'operator');
  assert.equal(node({ own: '[fd00:0:0::1]:8080' }).take(signed({ url: 'http://[fd00::1]:8080/room?limit=1' })), 'operator');
});

describe('A signed request is rejected if it has', () => {
  const cases: [what: string, message: string, call: (started: ReturnType<typeof node>) => unknown][] = [
    ['another method', 'Invalid signature', ({ take }) => take(signed(), { ...request, method: 'DELETE' })],
    ['another path', 'Invalid signature', ({ take }) => take(signed(), { ...request, path: '/room/r' })],
    ['another query', 'Invalid signature', ({ take }) => take(signed(), { ...request, path: '/room?limit=2' })],
    ['another body', 'The body does not match the signature', ({ take }) => take(signed(), request, '{"roomId":"s"}')],
    ['no body', 'The body does not match the signature', ({ take }) => take(signed(), request, '')],
    ['a wrong token', 'Invalid signature', ({ take }) => take(signed({ token: `${token}x` }))],
    ['another address', 'Invalid signature', ({ take }) => take(withPart(signed(), 1, flipped))],
    ['another time', 'Invalid signature', ({ take }) => take(withPart(signed(), 2, (time) => String(Number(time) + 1)))],
    ['another nonce', 'Invalid signature', ({ take }) => take(withPart(signed(), 3, flipped))],
    ['the hash of another body', 'Invalid signature', ({ take }) => take(withPart(signed(), 4, flipped))],
    ['another code', 'Invalid signature', ({ take }) => take(withPart(signed(), 5, flipped))],
    ['a signature for another node', 'The signature is for another node', () => node({ own: '10.0.0.2:8080' }).take(signed())],
    [
      'the same port of another host',
      'The signature is for another node',
      ({ take }) => take(signed({ url: url.replace('10.0.0.1', '10.0.0.11') })),
    ],
    ['a signature of a socket', 'Unsupported signature format', ({ take }) => take(signedSocket({ token, url }))],
    ['a request signature used for a socket', 'Unsupported signature format', ({ socket }) => socket(signed())],
    ['a socket signature rewritten as one of a request', 'Invalid signature', ({ take }) => take(asRequest(signedSocket({ token, url })))],
    ['a wrong token for a socket', 'Invalid signature', ({ socket }) => socket(signedSocket({ token: 'x', url }))],
    ['a socket of another node', 'The signature is for another node', () => node({ own: 'b:80' }).socket(signedSocket({ token, url }))],
  ];
  for (const [what, message, call] of cases)
    test(what, () => {
      assert.throws(() => call(node()), refused(message));
    });

  test('a truncated or too long signature, or another version', () => {
    const { take } = node();
    const signature = signed();
    const form = refused('Unsupported signature format');
    for (let length = 'Mediarooms-Signature '.length; length < signature.length; length += 1)
      assert.throws(() => take(signature.slice(0, length)), form, String(length));
    for (let index = 0; index < 6; index += 1) {
      assert.throws(() => take(withPart(signature, index, () => '')), form);
      assert.throws(() => take(withPart(signature, index, (part) => part + 'A'.repeat(100_000))), form);
      assert.throws(() => take(withPart(signature, index, () => '\n')), form);
    }
    assert.throws(() => take(`${signature} ${signature}`), form);
    assert.throws(() => take(withPart(signature, 0, () => 'v2')), form);
    assert.equal(take(signature), 'operator');
  });
});

/** Valid format, invalid content. */
function asRequest(signature: string): string {
  const [scheme = '', value = ''] = signature.split(' ');
  const parts = value.split('.');
  return `${scheme} ${[...parts.slice(0, 4), 'A'.repeat(43), parts[4]].join('.')}`;
}

test('a signature is valid once, whatever the first body was', () => {
  const { take, socket } = node();
  const signature = signed();
  assert.throws(() => take(signature, request, 'something else'), refused('The body does not match the signature'));
  assert.equal(take(signature), 'operator');
  assert.throws(() => take(signature), refused('The signature was already used'));
  const listening = signedSocket({ token, url });
  assert.equal(socket(listening), 'operator');
  assert.throws(() => socket(listening), refused('The signature was already used'));
});

test('a signature is valid for one minute, with clocks up to a minute apart, and its nonce is stored as long', () => {
  const message = 'The time of the signature differs by more than 60 s from the clock of the node';
  for (const offset of [70_000, -70_000]) assert.throws(() => node({ offset }).take(signed()), refused(message), String(offset));
  assert.equal(node({ offset: -50_000 }).take(signed()), 'operator');
  // A node whose clock is late accepts it from the future, and must store it until that time has passed.
  const { take, clock } = node({ offset: -50_000 });
  const signature = signed();
  take(signature);
  for (const offset of [0, 50_000]) {
    clock.offset = offset;
    assert.throws(() => take(signature), refused('The signature was already used'));
  }
  clock.offset = 70_000;
  assert.throws(() => take(signature), refused(message));
});

test('a signature older than the start of the node is rejected, because it may have been used', () => {
  assert.throws(() => node({ offset: 10_000 }).take(signed()), refused('The signature is older than the start of the node'));
});

test('beyond the nonce limit requests are rejected until the oldest nonces expire', (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() });
  const { take } = node({ maxNonces: 3 });
  const full = refused('Too many signed requests within two minutes', 'too_many_requests');
  for (let call = 0; call < 3; call += 1) take(signed());
  assert.throws(() => take(signed()), full);
  t.mock.timers.tick(119_000);
  assert.throws(() => take(signed()), full);
  t.mock.timers.tick(1_000);
  for (let call = 0; call < 3; call += 1) assert.equal(take(signed()), 'operator');
  assert.throws(() => take(signed()), full);
});

test('a client that guesses is rate limited, while a valid signature passes', () => {
  const { take } = node({ failures: 3 });
  for (let guess = 0; guess < 3; guess += 1) assert.throws(() => take(signed({ token: `guess ${guess}` })), refused('Invalid signature'));
  assert.throws(() => take(signed({ token: 'guess' })), refused('Too many requests with a wrong token', 'too_many_requests'));
  const signature = signed();
  assert.equal(take(signature), 'operator');
  // A replay is not a failed attempt.
  for (let time = 0; time < 5; time += 1) assert.throws(() => take(signature), refused('The signature was already used'));
});
