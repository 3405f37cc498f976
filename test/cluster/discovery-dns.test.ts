// DNS discovery with the real resolver and a real DNS server: added, removed and kept addresses.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { startDiscovery } from '../../node/cluster/discovery/discovery.ts';
import { nodeNameFromDns } from '../../node/cluster/discovery/node-name-from-dns.ts';
import { type DnsResult, type HostLookup, systemResolver } from '../../node/cluster/discovery/resolver.ts';
import { FakeConnector } from '../kit/fakes/fake-connector.ts';
import { type DnsServer, startDnsServer } from '../kit/network/dns-server.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { silentLog } from '../kit/silent-log.ts';

const query = 'nodes.test';
const noHosts = async () => [];
const signal = new AbortController().signal;

const resolverOf = (server: DnsServer, deadline = 20_000, hosts: HostLookup = noHosts) =>
  systemResolver({ servers: [server.address], deadline, hosts });

function discover(t: TestContext, server: DnsServer, connector: FakeConnector, log = silentLog()): void {
  const strategy = { name: 'DNS', query, pollingInterval: 20 } as const;
  const discovery = startDiscovery({ mode: 'name', strategy }, connector, log, {
    // A response that is late because this process was paused counts as a failure.
    resolve: resolverOf(server, 4_000),
    localAddresses: () => [],
  });
  t.after(() => discovery.close());
}

test('three records lead to two connections, an added record to a third, and a removed one is not redialed', async (t) => {
  const server = await startDnsServer(t);
  server.add(query, '10.0.0.1', '10.0.0.2', '10.0.0.3');
  const connector = new FakeConnector('svc@10.0.0.1');
  discover(t, server, connector);
  await connector.connected('svc@10.0.0.2', 'svc@10.0.0.3');
  server.add(query, '10.0.0.4', 'fd00::5');
  await connector.connected('svc@10.0.0.4', 'svc@fd00::5');
  server.remove(query, '10.0.0.3');
  await server.queries(4);
  connector.cut('svc@10.0.0.3');
  await server.queries(6);
  assert.deepEqual(connector.nodes(), ['svc@10.0.0.2', 'svc@10.0.0.4', 'svc@fd00::5']);
  assert.equal(connector.dialled.filter((name) => name === 'svc@10.0.0.3').length, 1);
  assert.ok(!connector.dialled.includes('svc@10.0.0.1'));
});

test('a failing server keeps the known addresses, with one log line per record type', async (t) => {
  const server = await startDnsServer(t);
  server.add(query, '10.0.0.2', 'fd00::3');
  const connector = new FakeConnector('svc@10.0.0.1');
  const { log, of } = recordedLog();
  discover(t, server, connector, log);
  await connector.connected('svc@10.0.0.2', 'svc@fd00::3');
  for (const fault of ['nxdomain', 'servfail', 'silent', 'garbage', 'refused'] as const) {
    server.fail(fault);
    await server.queries(4);
    connector.cut('svc@10.0.0.2');
    await connector.connected('svc@10.0.0.2');
    assert.deepEqual(connector.nodes(), ['svc@10.0.0.2', 'svc@fd00::3'], fault);
  }
  assert.deepEqual(
    of('warn')
      .map(({ record }) => record)
      .sort(),
    ['A', 'AAAA'],
  );
  server.restore();
  server.add(query, '10.0.0.4');
  await connector.connected('svc@10.0.0.4');
  assert.deepEqual(
    of('info').map(({ msg, record }) => `${record}: ${msg}`),
    ['A: DNS query recovered', 'AAAA: DNS query recovered'],
  );
});

test('a record type that is never answered does not affect the other', async (t) => {
  const server = await startDnsServer(t);
  server.add(query, '10.0.0.2', 'fd00::3');
  server.fail('silent', 'AAAA');
  const connector = new FakeConnector('svc@10.0.0.1');
  discover(t, server, connector);
  await connector.connected('svc@10.0.0.2');
  server.restore();
  await connector.connected('svc@fd00::3');
});

test('close during a query ends it, and no query or dial follows', async (t) => {
  const server = await startDnsServer(t);
  server.fail('silent');
  const connector = new FakeConnector('svc@10.0.0.1');
  const strategy = { name: 'DNS', query, pollingInterval: 20 } as const;
  const ended = Promise.withResolvers<DnsResult>();
  const discovery = startDiscovery({ mode: 'name', strategy }, connector, silentLog(), {
    resolve: async (host, signal) => {
      const dnsResult = await resolverOf(server, 60_000, () => new Promise(() => {}))(host, signal);
      ended.resolve(dnsResult);
      return dnsResult;
    },
  });
  await server.queries(2);
  const elapsed = stopwatch();
  discovery.close();
  assert.deepEqual(await ended.promise, { ipv4: { failure: 'ECANCELLED' }, ipv6: { failure: 'ECANCELLED' } });
  // The server never responds, and the timeout is a minute.
  assertPrompt('the end of the query', elapsed(), { promised: 1_000, bound: 30_000 });
  assert.deepEqual(connector.dialled, []);
});

test('a response truncated over UDP is fetched over TCP', async (t) => {
  const server = await startDnsServer(t);
  server.add('few.test', '10.0.0.1', 'fd00::1');
  server.fail('truncated', 'A');
  assert.deepEqual(await resolverOf(server)('few.test', signal), { ipv4: { addresses: ['10.0.0.1'] }, ipv6: { addresses: ['fd00::1'] } });
  assert.equal(server.asked.filter((each) => each === 'A few.test').length, 2);
  const many = Array.from({ length: 900 }, (_, index) => `10.1.${index >> 8}.${index & 255}`);
  server.add('many.test', ...many);
  const { ipv4 } = await resolverOf(server)('many.test', signal);
  assert.deepEqual('addresses' in ipv4 && [...ipv4.addresses].sort(), [...many].sort());
});

test('a name without records, an unknown name and an unresponsive server fail in time, with the reason', async (t) => {
  const server = await startDnsServer(t);
  server.add('empty.test');
  const failure = async (name: string, deadline?: number) => {
    const { ipv4, ipv6 } = await resolverOf(server, deadline)(name, signal);
    return ['failure' in ipv4 && ipv4.failure, 'failure' in ipv6 && ipv6.failure];
  };
  assert.deepEqual(await failure('empty.test'), ['no addresses', 'no addresses']);
  assert.deepEqual(await failure('unknown.test'), ['no addresses', 'no addresses']);
  server.fail('servfail');
  assert.deepEqual(await failure('empty.test'), ['ESERVFAIL', 'ESERVFAIL']);
  server.fail('refused');
  assert.deepEqual(await failure('empty.test'), ['EREFUSED', 'EREFUSED']);
  server.fail('silent');
  const elapsed = stopwatch();
  const [reason] = await failure('empty.test', 400);
  assert.ok(reason === 'ETIMEOUT' || reason === 'ECANCELLED', String(reason));
  assertPrompt('a query with a timeout of 400 ms', elapsed(), { promised: 400, bound: 10_000 });
});

test('records are not cached, regardless of their TTL', async (t) => {
  const server = await startDnsServer(t);
  const dnsResolver = resolverOf(server);
  server.add(query, '10.0.0.1', '10.0.0.2');
  await dnsResolver(query, signal);
  server.remove(query, '10.0.0.1');
  assert.deepEqual((await dnsResolver(query, signal)).ipv4, { addresses: ['10.0.0.2'] });
});

test('a name unknown to DNS is resolved like getaddrinfo does: /etc/hosts', async (t) => {
  const server = await startDnsServer(t);
  const { ipv4, ipv6 } = await systemResolver({ servers: [server.address], deadline: 30_000 })('localhost', signal);
  const found = [ipv4, ipv6].flatMap((dnsAnswer) => ('addresses' in dnsAnswer ? dnsAnswer.addresses : []));
  assert.ok(found.includes('127.0.0.1') || found.includes('::1'), String(found));
});

test('a node name with a host name becomes one with an address of the query, IPv4 first', async (t) => {
  const server = await startDnsServer(t);
  const name = (nodeName: string) => nodeNameFromDns(nodeName, query, resolverOf(server), signal);
  server.add('both.test', '10.0.0.7', '10.0.0.8', 'fd00::7');
  server.add('six.test', 'fd00::9', 'fe80::1');
  assert.equal(await name('svc@both.test'), 'svc@10.0.0.7');
  server.add(query, 'fd00::7');
  assert.equal(await name('svc@both.test'), 'svc@fd00::7');
  server.add(query, '10.0.0.8');
  assert.equal(await name('svc@both.test'), 'svc@10.0.0.8');
  assert.equal(await name('svc@six.test'), 'svc@fd00::9');
  assert.equal(await name('svc@10.0.0.1'), 'svc@10.0.0.1');
  assert.equal(await name('svc@FD00:0:0::1'), 'svc@fd00::1');
  server.add('loop.test', '127.0.1.1', '10.0.0.5');
  assert.equal(await name('svc@loop.test'), 'svc@10.0.0.5');
  await assert.rejects(name('svc@unknown.test'), /to have an address \(DNS strategy\), got none: svc@unknown\.test/);
});

test('a node name with a host name does not dial the addresses of that host', async (t) => {
  const server = await startDnsServer(t);
  server.add('own.test', '10.0.0.1', 'fd00::1');
  server.add(query, '10.0.0.1', 'fd00::1', '10.0.0.2');
  const connector = new FakeConnector('svc@own.test');
  discover(t, server, connector);
  await connector.connected('svc@10.0.0.2');
  await server.queries(4);
  assert.deepEqual(connector.dialled, ['svc@10.0.0.2']);
});
