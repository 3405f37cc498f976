// Media addresses: wildcards, announced addresses, ICE candidates, listen addresses.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { candidatesFor, clientAddresses, isWildcard, listenInfos } from '../../../node/media/addresses.ts';

test('wildcard addresses are recognized', () => {
  for (const ip of ['0.0.0.0', '::', '0:0:0:0:0:0:0:0']) assert.equal(isWildcard(ip), true, ip);
  for (const ip of ['127.0.0.1', '::1', '10.0.0.0', '2001:db8::']) assert.equal(isWildcard(ip), false, ip);
});

test('clients get the announced addresses, else the listen address, never a wildcard', () => {
  assert.deepEqual(clientAddresses('0.0.0.0', ['203.0.113.1', '203.0.113.2']), ['203.0.113.1', '203.0.113.2']);
  assert.deepEqual(clientAddresses('10.0.0.1', []), ['10.0.0.1']);
  assert.throws(() => clientAddresses('::', []), { code: 'unavailable', message: 'The address for media of this node is not known yet' });
});

test('each address gets separate candidates with distinct priorities and foundations', () => {
  const udp = {
    foundation: 'udp',
    priority: 1_076_558_079,
    ip: 'x',
    address: 'x',
    protocol: 'udp' as const,
    port: 1,
    type: 'host' as const,
  };
  const tcp = { ...udp, foundation: 'tcp', priority: 1_076_276_479, protocol: 'tcp' as const, tcpType: 'passive' as const };
  const candidates = candidatesFor([udp, tcp], ['a', 'b', 'c']);
  assert.deepEqual(
    candidates.map(({ address, ip, protocol }) => `${address}${ip}${protocol}`),
    ['aaudp', 'aatcp', 'bbudp', 'bbtcp', 'ccudp', 'cctcp'],
  );
  assert.equal(new Set(candidates.map(({ priority }) => priority)).size, 6);
  assert.equal(new Set(candidates.map(({ foundation }) => foundation)).size, 6);
  assert.deepEqual(candidates[0], { ...udp, ip: 'a', address: 'a' });
  assert.equal(candidatesFor([udp], Array(1000).fill('a')).length, 64);
});

test('a worker listens on UDP and TCP of one port, with buffers of 4 MiB', () => {
  assert.deepEqual(listenInfos('::1', 7), [
    { protocol: 'udp', ip: '::1', port: 7, recvBufferSize: 4_194_304, sendBufferSize: 4_194_304 },
    { protocol: 'tcp', ip: '::1', port: 7 },
  ]);
});
