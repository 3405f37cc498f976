// DNS resolver: getaddrinfo as fallback, bounded in time and threads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type HostLookup, systemResolver } from '../../../../node/cluster/discovery/resolver.ts';

const signal = new AbortController().signal;
/** A port without listener, which ICMP rejects immediately. */
const nowhere = ['127.0.0.1:1'];

test('results of getaddrinfo are returned by family', async () => {
  const dnsResolver = systemResolver({ servers: nowhere, hosts: async () => ['fd00::1', '10.0.0.1'] });
  assert.deepEqual(await dnsResolver('nodes.test', signal), { ipv4: { addresses: ['10.0.0.1'] }, ipv6: { addresses: ['fd00::1'] } });
});

test('an IP address resolves to itself', async () => {
  const dnsResolver = systemResolver({ servers: nowhere });
  assert.deepEqual(await dnsResolver('10.0.0.1', signal), { ipv4: { addresses: ['10.0.0.1'] }, ipv6: { addresses: [] } });
});

test('a hanging getaddrinfo times out and is not started again while it hangs', async () => {
  const started: string[] = [];
  const hung = Promise.withResolvers<string[]>();
  const hosts: HostLookup = (host) => {
    started.push(host);
    return hung.promise;
  };
  const dnsResolver = systemResolver({ servers: nowhere, deadline: 50, hosts });
  for (let poll = 0; poll < 3; poll += 1) assert.ok('failure' in (await dnsResolver('nodes.test', signal)).ipv4);
  assert.deepEqual(started, ['nodes.test']);
  hung.resolve(['10.0.0.1']);
  assert.deepEqual((await dnsResolver('nodes.test', signal)).ipv4, { addresses: ['10.0.0.1'] });
  assert.equal(started.length, 2);
});

test('if getaddrinfo fails too, the reason of the DNS failure is returned', async () => {
  const dnsResolver = systemResolver({ servers: nowhere, hosts: () => Promise.reject(new Error('ENOTFOUND')) });
  assert.deepEqual(await dnsResolver('nodes.test', signal), { ipv4: { failure: 'ECONNREFUSED' }, ipv6: { failure: 'ECONNREFUSED' } });
});

test('a signal ends the wait for getaddrinfo', async () => {
  const ending = new AbortController();
  const asked = Promise.withResolvers<void>();
  const hosts: HostLookup = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  const answer = systemResolver({ servers: nowhere, deadline: 60_000, hosts })('nodes.test', ending.signal);
  await asked.promise;
  ending.abort();
  assert.ok('failure' in (await answer).ipv4);
});
