// Client addresses behind trusted and untrusted proxies.
import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'node:test';
import { clientBehind } from '../../../../node/http/middleware/client-address.ts';

const any: readonly string[] = [];
const inside = ['10.0.0.0/8', 'fd00::/8', '192.0.2.200'];

for (const [hops, networks, from, header, client] of [
  [0, any, '10.0.0.1', '198.51.100.7', '10.0.0.1'],
  [null, inside, '192.0.2.1', undefined, '192.0.2.1'],
  [null, inside, '192.0.2.1', '198.51.100.7', '192.0.2.1'],
  [null, inside, '10.0.0.1', '198.51.100.7', '198.51.100.7'],
  [null, inside, '192.0.2.200', '198.51.100.7', '198.51.100.7'],
  [null, inside, '::ffff:10.0.0.1', '198.51.100.7', '198.51.100.7'],
  [null, inside, 'fd00::1', '2001:db8::1', '2001:db8::1'],
  [null, inside, '10.0.0.1', '203.0.113.9, 198.51.100.7', '198.51.100.7'],
  [null, inside, '10.0.0.1', '198.51.100.7, 10.0.0.2', '198.51.100.7'],
  [null, inside, '10.0.0.1', '10.0.0.3, 10.0.0.2', '10.0.0.3'],
  [null, inside, '10.0.0.1', ' , ', '10.0.0.1'],
  [null, inside, '10.0.0.1', undefined, '10.0.0.1'],
  // One proxy: entries added by its client are ignored, regardless of the address of the client.
  [1, any, '10.0.0.1', '203.0.113.9, 10.0.0.2', '10.0.0.2'],
  [1, any, '203.0.113.1', '198.51.100.7', '198.51.100.7'],
  [1, any, '10.0.0.1', undefined, '10.0.0.1'],
  [2, any, '10.0.0.1', '203.0.113.9, 198.51.100.7, 10.0.0.2', '198.51.100.7'],
  [1, inside, '10.0.0.1', '203.0.113.9, 10.0.0.2', '10.0.0.2'],
  [1, inside, '203.0.113.1', '198.51.100.7', '203.0.113.1'],
  // Invalid addresses are ignored.
  [1, any, '10.0.0.1', 'unknown', '10.0.0.1'],
  [2, any, '10.0.0.1', `${'x'.repeat(1000)}, 198.51.100.7`, '198.51.100.7'],
  [1, any, '10.0.0.1', '198.51.100.7:49152', '198.51.100.7'],
  [1, any, '10.0.0.1', '[2001:db8::1]:49152', '2001:db8::1'],
] as const) {
  const trusted = `${hops ?? 'all'} of ${networks.join(' ') || 'any network'}`;
  test(`trusting ${trusted}, from ${from} with x-forwarded-for ${(header ?? 'missing').slice(-60)} the client is ${client}`, () => {
    const socket = { remoteAddress: from } as Socket;
    const clientAddressOf = clientBehind({ hops, networks });
    assert.equal(clientAddressOf({ socket, headers: header === undefined ? {} : { 'x-forwarded-for': header } }), client);
  });
}
