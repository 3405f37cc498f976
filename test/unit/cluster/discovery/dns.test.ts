// DNS discovery: polling without overlap, filtering, two address families, limits, and close in progress.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DialPool } from '../../../../node/cluster/discovery/dial-pool.ts';
import { DnsDiscovery } from '../../../../node/cluster/discovery/dns.ts';
import type { DnsResult } from '../../../../node/cluster/discovery/resolver.ts';
import { FakeConnector } from '../../../kit/fakes/fake-connector.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { type Clock, mockClock, settle } from './clock.ts';

const found = (ipv4: string[], ipv6: string[] = []): DnsResult => ({ ipv4: { addresses: ipv4 }, ipv6: { addresses: ipv6 } });
const failure: DnsResult = { ipv4: { failure: 'ESERVFAIL' }, ipv6: { failure: 'ESERVFAIL' } };

type Setup = { self?: string; answer?: DnsResult | (() => Promise<DnsResult>); local?: string[]; unreachable?: string[] };

function start(t: TestContext, { self = 'svc@10.0.0.1', answer = found([]), local = [], unreachable = [] }: Setup) {
  const clock = mockClock(t);
  const connector = new FakeConnector(self);
  for (const node of unreachable) connector.unreachable.add(node);
  const { log, of } = recordedLog();
  const dns = { answer, asked: 0 };
  const discovery = new DnsDiscovery({
    ...{ connector, log, pool: new DialPool(connector), query: 'nodes.test', pollingInterval: 5_000, random: () => 0, now: clock.now },
    localAddresses: () => local,
    resolve: async () => {
      dns.asked += 1;
      return typeof dns.answer === 'function' ? dns.answer() : dns.answer;
    },
  });
  t.after(() => discovery.close());
  return { clock, connector, discovery, dns, of };
}

/** Advances until polls have the normal interval. */
async function firstLooks({ pass }: Clock): Promise<void> {
  for (let time = 0; time < 5_000; time += 1_000) await pass(1_000);
}

test('every address is dialed with the base name of this node, except its own address', async (t) => {
  const { connector } = start(t, { answer: found(['10.0.0.3', '10.0.0.1', '10.0.0.2']) });
  await settle();
  assert.deepEqual(connector.dialled, ['svc@10.0.0.2', 'svc@10.0.0.3']);
});

test('the first polls are a second apart, because nodes that start together appear one after the other', async (t) => {
  const { clock, discovery, dns } = start(t, { answer: found(['10.0.0.1']) });
  for (const asked of [1, 2, 3, 4, 5]) {
    await settle();
    assert.deepEqual([dns.asked, discovery.discovering], [asked, true]);
    await clock.pass(999);
    assert.equal(dns.asked, asked);
    await clock.pass(1);
  }
  assert.deepEqual([dns.asked, discovery.discovering], [6, false]);
  await clock.pass(4_999);
  assert.equal(dns.asked, 6);
});

test('dialed is true once the query succeeded and all its addresses were dialed once', async (t) => {
  const { clock, connector, discovery, dns } = start(t, { answer: failure });
  await settle();
  assert.equal(discovery.dialed, false);
  connector.held = true;
  dns.answer = found(['10.0.0.1', '10.0.0.2']);
  await clock.pass(1_000);
  assert.equal(discovery.dialed, false);
  connector.release();
  await settle();
  assert.equal(discovery.dialed, true);
});

test('looking is true until the query succeeded twice and all its addresses were dialed once', async (t) => {
  const { clock, connector, discovery, dns } = start(t, { answer: failure });
  await firstLooks(clock);
  await clock.pass(60_000);
  assert.equal(discovery.discovering, true);
  dns.answer = found(['10.0.0.1']);
  await clock.pass(5_000);
  assert.equal(discovery.discovering, true);
  connector.held = true;
  dns.answer = found(['10.0.0.1', '10.0.0.2']);
  await clock.pass(5_000);
  assert.equal(discovery.discovering, true);
  connector.release();
  await settle();
  assert.equal(discovery.discovering, false);
  connector.cut('svc@10.0.0.2');
  discovery.down('svc@10.0.0.2');
  assert.equal(discovery.discovering, false);
});

test('an unreachable address does not keep looking true', async (t) => {
  const { clock, discovery } = start(t, { answer: found(['10.0.0.2']), unreachable: ['svc@10.0.0.2'] });
  await firstLooks(clock);
  assert.equal(discovery.discovering, false);
});

test('polls are an interval apart and never overlap', async (t) => {
  const { clock, connector, dns } = start(t, { answer: found(['10.0.0.2']) });
  await firstLooks(clock);
  const before = dns.asked;
  await clock.pass(4_999);
  assert.equal(dns.asked, before);
  const slow = Promise.withResolvers<DnsResult>();
  dns.answer = () => slow.promise;
  await clock.pass(1);
  assert.equal(dns.asked, before + 1);
  await clock.pass(600_000);
  assert.equal(dns.asked, before + 1);
  dns.answer = found(['10.0.0.2', '10.0.0.3']);
  slow.resolve(found(['10.0.0.2']));
  await settle();
  await clock.pass(5_000);
  assert.equal(dns.asked, before + 2);
  assert.deepEqual(connector.dialled, ['svc@10.0.0.2', 'svc@10.0.0.3']);
});

test('a failing query keeps the known addresses and is logged once until it recovers', async (t) => {
  const { clock, connector, discovery, dns, of } = start(t, { answer: found(['10.0.0.2']) });
  await clock.pass(10_000);
  for (const answer of [failure, () => Promise.reject(new Error('broken'))]) {
    dns.answer = answer;
    await clock.pass(5_000);
    await clock.pass(5_000);
    connector.cut('svc@10.0.0.2');
    discovery.down('svc@10.0.0.2');
    await settle();
    assert.deepEqual(connector.nodes(), ['svc@10.0.0.2']);
  }
  assert.deepEqual(
    of('warn').map(({ record, reason }) => `${record} ${reason}`),
    ['A ESERVFAIL', 'AAAA ESERVFAIL'],
  );
  dns.answer = found(['10.0.0.2']);
  await clock.pass(5_000);
  dns.answer = failure;
  await clock.pass(5_000);
  assert.equal(of('warn').length, 4);
});

test('an address that leaves the query is not redialed, and its connection stays open', async (t) => {
  const { clock, connector, discovery, dns } = start(t, { answer: found(['10.0.0.2', '10.0.0.3']), unreachable: ['svc@10.0.0.3'] });
  await settle();
  dns.answer = found(['10.0.0.4']);
  await clock.pass(5_000);
  const dialled = connector.dialsOf('svc@10.0.0.3');
  assert.deepEqual(connector.nodes(), ['svc@10.0.0.2', 'svc@10.0.0.4']);
  connector.cut('svc@10.0.0.2');
  discovery.down('svc@10.0.0.2');
  await clock.pass(60_000);
  assert.deepEqual(connector.nodes(), ['svc@10.0.0.4']);
  assert.equal(connector.dialsOf('svc@10.0.0.3'), dialled);
});

test('an unreachable address is retried at least every interval, logged once, and connected when available', async (t) => {
  const { clock, connector, of } = start(t, { answer: found(['10.0.0.2']), unreachable: ['svc@10.0.0.2'] });
  await settle();
  for (let time = 0; time < 120_000; time += 100) await clock.pass(100);
  const dials = connector.dialsOf('svc@10.0.0.2');
  assert.ok(dials >= 24 && dials <= 32, String(dials));
  assert.deepEqual(fieldsOf(of('info', 'warn'), 'node'), ['svc@10.0.0.2']);
  connector.unreachable.clear();
  await clock.pass(5_000);
  assert.deepEqual(connector.nodes(), ['svc@10.0.0.2']);
});

test('IPv4 has priority, IPv6 next to it is dialed rarely and not logged, and IPv6 alone is dialed normally', async (t) => {
  const both = start(t, { answer: found(['10.0.0.2'], ['fd00::2']), unreachable: ['svc@fd00::2'] });
  await settle();
  assert.deepEqual(both.connector.dialled, ['svc@10.0.0.2', 'svc@fd00::2']);
  for (let time = 0; time < 300_000; time += 500) await both.clock.pass(500);
  const dials = both.connector.dialsOf('svc@fd00::2');
  assert.ok(dials >= 12 && dials <= 18, String(dials));
  assert.deepEqual(both.of('info', 'warn'), []);
  both.discovery.close();
  t.mock.timers.reset();
  const alone = start(t, { self: 'svc@fd00::1', answer: found([], ['fd00::1', 'FD00:0::2']) });
  await settle();
  assert.deepEqual(alone.connector.dialled, ['svc@fd00::2']);
});

test('local addresses of the other family are this node, those of the same family may be other nodes', async (t) => {
  const answer = found(['10.0.0.1', '10.0.0.2', '10.0.0.3'], ['fd00::1', 'fd00::3']);
  const { connector } = start(t, { answer, local: ['127.0.0.1', '10.0.0.1', '10.0.0.2', 'fd00::1', 'fe80::1%eth0'] });
  await settle();
  assert.deepEqual(connector.dialled, ['svc@10.0.0.2', 'svc@10.0.0.3', 'svc@fd00::3']);
});

test('addresses that cannot belong to nodes are ignored', async (t) => {
  const { connector } = start(t, {
    answer: found(['0.0.0.0', '224.0.0.1', 'x', '10.0.0.2'], ['::', 'fe80::1', 'ff02::1', 'fe80::1%eth0', '']),
  });
  await settle();
  assert.deepEqual(connector.dialled, ['svc@10.0.0.2']);
});

test('at most 1,000 addresses count, and few are dialed at a time', async (t) => {
  const many = Array.from({ length: 70_000 }, (_, index) => `10.${1 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`);
  const { clock, connector, of } = start(t, { answer: found(many) });
  for (let turn = 0; turn < 100; turn += 1) await settle();
  await clock.pass(5_000);
  assert.equal(connector.dialled.length, 1_000);
  assert.ok(connector.busiest <= 32);
  assert.equal(of('warn').length, 1);
});

test('close during a query or dials starts nothing more', async (t) => {
  const slow = Promise.withResolvers<DnsResult>();
  const asking = start(t, { answer: () => slow.promise });
  asking.discovery.close();
  slow.resolve(found(['10.0.0.2']));
  await asking.clock.pass(100_000);
  assert.deepEqual([asking.connector.dialled, asking.dns.asked], [[], 1]);
  t.mock.timers.reset();
  const dialling = start(t, { answer: found(['10.0.0.2']), unreachable: ['svc@10.0.0.2'] });
  dialling.connector.held = true;
  await settle();
  dialling.discovery.close();
  dialling.connector.release();
  await dialling.clock.pass(100_000);
  assert.deepEqual([dialling.connector.dialled, dialling.dns.asked], [['svc@10.0.0.2'], 1]);
});
