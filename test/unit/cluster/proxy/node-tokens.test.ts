// Node tokens: who can create them, their scope and validity.
import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { NodeTokens, type NodeTokensOptions } from '../../../../node/cluster/proxy/node-tokens.ts';

const path = '/hls/room/index.m3u8';
let now = 1_000_000;

function make(self: string, options: Partial<NodeTokensOptions> = {}) {
  const casts: unknown[][] = [];
  const links = { self, cast: (...cast: unknown[]) => void casts.push(cast) };
  let receive: (from: string, key: unknown) => void = () => assert.fail();
  const dispatcher: NodeTokensOptions['dispatcher'] = {
    receive: (_method, schema, handle) => {
      receive = (from, key) => handle(from, schema.parse(key));
    },
  };
  const given = { links, dispatcher, secrets: ['the secret of all nodes'], cookie: 'a cookie', now: () => now, ...options };
  return { tokens: new NodeTokens(given), casts, receive: (from: string, key: unknown) => receive(from, key) };
}

test('a node accepts the token of another one with the same secret, and reads the client from it', () => {
  const header = make('svc@a').tokens.sign({ client: '192.0.2.7', path });
  assert.deepEqual(make('svc@b').tokens.verify(header, path), { node: 'svc@a', client: '192.0.2.7' });
});

test('a token is valid for one path and 30 s, regardless of the clock of its creator', () => {
  const { tokens } = make('svc@b');
  const header = make('svc@a').tokens.sign({ client: '192.0.2.7', path });
  assert.equal(tokens.verify(header, '/hls/other/index.m3u8'), undefined);
  now += 30_001;
  assert.equal(tokens.verify(header, path), undefined);
  const ahead = make('svc@a', { now: () => now + 3_600_000 }).tokens.sign({ client: '192.0.2.7', path });
  assert.equal(tokens.verify(ahead, path), undefined);
});

test('a token for one node is rejected at any other', () => {
  const header = make('svc@a').tokens.sign({ client: '192.0.2.7', path, to: 'svc@b' });
  assert.deepEqual(make('svc@b').tokens.verify(header, path), { node: 'svc@a', client: '192.0.2.7' });
  assert.equal(make('svc@c').tokens.verify(header, path), undefined);
});

test('tokens with other secrets, changed claims or other forms are rejected', () => {
  const { tokens } = make('svc@b');
  const good = make('svc@a').tokens.sign({ client: '192.0.2.7', path });
  const [version, body = '', mac = ''] = good.split('.');
  const forged = Buffer.from(body, 'base64url').toString().replace('192.0.2.7', '192.0.2.8');
  const other = make('svc@a', { secrets: ['another secret'] }).tokens.sign({ client: '192.0.2.7', path });
  const unkeyed = createHmac('sha256', '').update(`${version}.${body}`).digest('base64url');
  for (const header of [
    undefined,
    '',
    '.',
    '..',
    'x',
    '192.0.2.7',
    other,
    `${version}.${Buffer.from(forged).toString('base64url')}.${mac}`,
    `${version}.${body}.`,
    `${version}.${body}.${unkeyed}`,
    `${version}.${body}.${mac.slice(0, -4)}`,
    `v2.${body}.${mac}`,
    `${body}.${mac}`,
    `${good}${'='.repeat(3_000)}`,
    [good, good],
  ]) {
    assert.equal(tokens.verify(header, path), undefined, String(header));
  }
  assert.ok(tokens.verify(good, path));
});

test('secrets rotate: the first signs, all verify', () => {
  const { tokens } = make('svc@b');
  const old = make('svc@a').tokens.sign({ client: '::1', path });
  tokens.replace(['a new secret', 'the secret of all nodes']);
  assert.ok(tokens.verify(old, path));
  const fresh = tokens.sign({ client: '::1', path });
  assert.equal(make('svc@a').tokens.verify(fresh, path), undefined);
  assert.ok(make('svc@a', { secrets: ['a new secret'] }).tokens.verify(fresh, path));
  tokens.replace(['a new secret']);
  assert.equal(tokens.verify(old, path), undefined);
});

test('without a secret the key is derived from the cookie', () => {
  const a = make('svc@a', { secrets: [] });
  const b = make('svc@b', { secrets: [] });
  assert.ok(b.tokens.verify(a.tokens.sign({ client: '::1', path }), path));
  assert.equal(make('svc@b', { secrets: [], cookie: 'other' }).tokens.verify(a.tokens.sign({ client: '::1', path }), path), undefined);
  a.tokens.nodeUp('svc@b');
  assert.deepEqual(a.casts, []);
});

test('with the public default cookie, nodes exchange random keys, and other processes cannot sign', () => {
  const a = make('svc@a', { secrets: [], cookie: 'svc_cookie' });
  const b = make('svc@b', { secrets: [], cookie: 'svc_cookie' });
  const untrusted = make('svc@a', { secrets: ['svc_cookie'] });
  assert.equal(b.tokens.verify(untrusted.tokens.sign({ client: '::1', path }), path), undefined);
  assert.equal(b.tokens.verify(a.tokens.sign({ client: '::1', path }), path), undefined);
  a.tokens.nodeUp('svc@b');
  const [[to, method, key] = []] = a.casts;
  assert.deepEqual([to, method], ['svc@b', 'nodeKey']);
  b.receive('svc@a', key);
  assert.deepEqual(b.tokens.verify(a.tokens.sign({ client: '::1', path }), path), { node: 'svc@a', client: '::1' });
  b.tokens.nodeDown('svc@a');
  assert.equal(b.tokens.verify(a.tokens.sign({ client: '::1', path }), path), undefined);
  // A node sends only its own key.
  b.receive('svc@c', key);
  assert.equal(b.tokens.verify(a.tokens.sign({ client: '::1', path }), path), undefined);
  assert.throws(() => b.receive('svc@a', 'short'));
});
