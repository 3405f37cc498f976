// TURN: credentials and the configuration of coturn.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { turnHost } from '../../../node/config/turn.ts';
import { relaysIn } from '../../../node/turn/coturn-cli.ts';
import { coturnConfig } from '../../../node/turn/coturn-config.ts';
import { turnCredential } from '../../../node/turn/credentials.ts';

const settings = {
  ...{ listenIp: '0.0.0.0', port: 3478, tls: undefined, mediaIp: '10.0.0.7', secret: 'thesecret', folder: '/tmp/x' },
  cli: { port: 5766, password: 'thepassword' },
};

test('a credential contains its expiry and user, signed with HMAC-SHA1', () => {
  // Computed with: printf '1700000000:bob' | openssl dgst -sha1 -hmac thesecret -binary | base64
  assert.deepEqual(turnCredential('thesecret', 'bob', 1_700_000_000_999), {
    username: '1700000000:bob',
    credential: 'Yd/XgW9q5cIAK3j+10peUzpaP0k=',
  });
});

test('coturn relays only to the media address of its node, and unused features are off', () => {
  const lines = coturnConfig(settings).split('\n');
  assert.deepEqual(
    lines.filter((line) => line.includes('peer')),
    [
      'no-multicast-peers',
      'denied-peer-ip=0.0.0.0-255.255.255.255',
      'denied-peer-ip=::-ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
      'allowed-peer-ip=10.0.0.7',
    ],
  );
  for (const line of [
    'no-tcp-relay',
    'cli-ip=127.0.0.1',
    'cli-password=thepassword',
    'no-dtls',
    'no-tls',
    'user-quota=16',
    'total-quota=8192',
  ])
    assert.ok(lines.includes(line), line);
});

test('relays have the address family of the media address', () => {
  const family = (mediaIp: string) => coturnConfig({ ...settings, mediaIp }).match(/^allocation-default-address-family=(.*)$/m)?.[1];
  assert.deepEqual([family('10.0.0.7'), family('2001:db8::7')], ['ipv4', 'ipv6']);
});

test('relays in a list of coturn have their session and user, whatever the time of the credentials', () => {
  const list = [
    '',
    '    1) id=000000000000000007, user <1700000000:room/bob>:',
    '      realm: mediarooms',
    '      started 3 secs ago',
    '',
    '    2) id=001000000000000001, user <1700000300:other_room/bob-2>:',
    '',
    '  Total sessions: 2',
    '> ',
  ];
  assert.deepEqual(relaysIn(list.join('\r\n')), [
    { id: '000000000000000007', user: 'room/bob' },
    { id: '001000000000000001', user: 'other_room/bob-2' },
  ]);
});

test('with a certificate it supports TLS 1.2 and later, and relays to loopback only if media is there', () => {
  const tls = { port: 5349, keyPath: '/k', certPath: '/c' };
  const lines = coturnConfig({ ...settings, mediaIp: '127.0.0.1', tls }).split('\n');
  for (const line of ['tls-listening-port=5349', 'cert=/c', 'pkey=/k', 'no-tlsv1', 'no-tlsv1_1', 'allow-loopback-peers'])
    assert.ok(lines.includes(line), line);
});

test('the host of TURN over TLS is a name, or derived from the announced address for wildcard certificates', () => {
  assert.equal(turnHost('turn.example', '203.0.113.7'), 'turn.example');
  assert.equal(turnHost('*', '203.0.113.7'), '203.0.113.7');
  assert.equal(turnHost('*.turn.example', '203.0.113.7'), '203-0-113-7.turn.example');
  assert.equal(turnHost('*.turn.example', '2001:db8::7'), '2001-db8--7.turn.example');
});
