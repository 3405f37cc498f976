// Pending sockets: eviction if too many wait for authentication.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PendingSockets } from '../../../node/websocket/pending-sockets.ts';

/** `add` adds a socket of an address; `evicted` lists the evicted sockets in order. */
function pendingOf(total: number, perNetwork: number) {
  const pending = new PendingSockets({ total, perNetwork });
  const evicted: string[] = [];
  const add = (name: string, address: string) => {
    const leave = pending.add(address, () => {
      evicted.push(name);
      leave();
    });
    return leave;
  };
  return { pending, evicted, add };
}

test('a network above its limit evicts its oldest socket, and no other network is affected', () => {
  const { pending, evicted, add } = pendingOf(10, 2);
  add('person', '192.0.2.1');
  for (const name of ['a', 'b', 'c', 'd']) add(name, '198.51.100.7');
  assert.deepEqual([evicted, pending.size], [['a', 'b'], 3]);
});

test('above the total limit the network with most sockets evicts its oldest', () => {
  const { pending, evicted, add } = pendingOf(4, 3);
  add('person', '192.0.2.1');
  for (const name of ['a', 'b', 'c']) add(name, '198.51.100.7');
  add('another', '192.0.2.2');
  add('third', '192.0.2.3');
  assert.deepEqual([evicted, pending.size], [['a', 'b'], 4]);
});

test('an IPv6 address counts as its /64, an IPv4 address as itself', () => {
  const { evicted, add } = pendingOf(10, 1);
  add('a', '2001:db8:0:1::1');
  add('b', '2001:db8:0:1:ffff::2');
  add('c', '2001:db8:0:2::1');
  add('d', '192.0.2.1');
  add('e', '192.0.2.2');
  assert.deepEqual(evicted, ['a']);
});

test('a removed socket frees one place and is not evicted', () => {
  const { pending, evicted, add } = pendingOf(10, 1);
  const leave = add('a', '192.0.2.1');
  leave();
  leave();
  add('b', '192.0.2.1');
  leave();
  assert.deepEqual([evicted, pending.size], [[], 1]);
});
