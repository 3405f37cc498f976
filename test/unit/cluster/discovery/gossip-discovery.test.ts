// Gossip discovery: advertised nodes are dialed a few times, within limits, and only if their names are valid.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DialPool } from '../../../../node/cluster/discovery/dial-pool.ts';
import { GossipDiscovery } from '../../../../node/cluster/discovery/gossip-discovery.ts';
import { FakeConnector } from '../../../kit/fakes/fake-connector.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { mockClock, settle } from './clock.ts';

function start(t: TestContext, mode: 'sname' | 'name' = 'sname') {
  const clock = mockClock(t);
  const connector = new FakeConnector('svc@a');
  const { log, of } = recordedLog();
  const transitivity = new GossipDiscovery({ connector, pool: new DialPool(connector), log, mode, random: () => 0, now: clock.now });
  t.after(() => transitivity.close());
  return { clock, connector, transitivity, of };
}

test('an advertised node is dialed, except this node, the sender, and connected nodes', async (t) => {
  const { connector, transitivity } = start(t);
  connector.meet('svc@b');
  connector.meet('svc@d');
  transitivity.learn('svc@b', ['svc@a', 'svc@b', 'svc@c', 'svc@d', 'svc@e', 'svc@c']);
  await settle();
  assert.deepEqual(connector.dialled, ['svc@c', 'svc@e']);
});

test('if A and C are connected to B only, all three connect', async (t) => {
  mockClock(t);
  const { log } = recordedLog();
  const names = ['svc@a', 'svc@b', 'svc@c'];
  const nodes = new Map<string, { connector: FakeConnector; transitivity: GossipDiscovery }>();
  const meet = (one: string, other: string) => {
    for (const [self, peer] of [
      [one, other],
      [other, one],
    ] as const)
      nodes.get(self)?.connector.meet(peer);
    for (const [self, peer] of [
      [one, other],
      [other, one],
    ] as const)
      nodes.get(self)?.transitivity.learn(peer, nodes.get(peer)?.connector.nodes() ?? []);
  };
  for (const self of names) {
    const connector = new FakeConnector(self);
    connector.onMeet = (peer) => meet(self, peer);
    const transitivity = new GossipDiscovery({
      connector,
      pool: new DialPool(connector),
      log,
      mode: 'sname',
      random: () => 0,
      now: () => 0,
    });
    t.after(() => transitivity.close());
    nodes.set(self, { connector, transitivity });
  }
  await nodes.get('svc@a')?.connector.connect('svc@b');
  await nodes.get('svc@c')?.connector.connect('svc@b');
  await settle();
  for (const [self, { connector }] of nodes) {
    assert.deepEqual(
      connector.nodes(),
      names.filter((name) => name !== self),
    );
  }
});

test('an unreachable node is retried a few times, then dropped until it is advertised again', async (t) => {
  const { clock, connector, transitivity, of } = start(t);
  connector.unreachable.add('svc@c');
  transitivity.learn('svc@b', ['svc@c']);
  await settle();
  for (let minute = 0; minute < 60; minute += 1) await clock.pass(60_000);
  assert.equal(connector.dialsOf('svc@c'), 7);
  assert.deepEqual(fieldsOf(of('info', 'warn'), 'node'), ['svc@c']);
  connector.unreachable.clear();
  transitivity.learn('svc@b', ['svc@c']);
  await settle();
  assert.deepEqual(connector.nodes(), ['svc@c']);
});

test('a repeated advertisement does not shorten the backoff', async (t) => {
  const { clock, connector, transitivity } = start(t);
  connector.unreachable.add('svc@c');
  for (let time = 0; time < 1_400; time += 100) {
    transitivity.learn(`svc@b${time}`, ['svc@c']);
    await clock.pass(100);
  }
  assert.equal(connector.dialsOf('svc@c'), 2);
});

test('an advertised node that is lost is redialed', async (t) => {
  const { clock, connector, transitivity } = start(t);
  transitivity.learn('svc@b', ['svc@c']);
  await clock.pass(60_000);
  connector.cut('svc@c');
  transitivity.down('svc@c');
  await settle();
  assert.deepEqual(connector.nodes(), ['svc@c']);
});

test('names that are invalid or not allowed by the mode are not dialed', async (t) => {
  const hostile = ['', '@', 'svc@', '@c', 'svc', 'svc@c@d', 'svc@c\n', 'svc @c', `svc@${'c'.repeat(300)}`];
  const short = start(t);
  short.transitivity.learn('svc@b', [...hostile, 'svc@c.test', 'svc@10.0.0.1', 'svc@fd00::1', 'svc@c']);
  await settle();
  assert.deepEqual(short.connector.dialled, ['svc@c']);
  t.mock.timers.reset();
  const long = start(t, 'name');
  long.transitivity.learn('svc@b', [...hostile, 'svc@c.test', 'svc@10.0.0.1', 'svc@fd00::1', 'svc@c']);
  await settle();
  assert.deepEqual(long.connector.dialled, ['svc@c.test', 'svc@10.0.0.1', 'svc@fd00::1']);
});

test('at most 1,000 advertised nodes are remembered, from all senders together', async (t) => {
  const { connector, transitivity, of } = start(t);
  connector.held = true;
  const invented = (from: string) => Array.from({ length: 5_000 }, (_, index) => `svc@${from}-${index}`);
  for (const from of ['x', 'y', 'z']) transitivity.learn(`svc@${from}`, invented(from));
  connector.release();
  await settle();
  await settle();
  assert.ok(connector.busiest <= 32);
  for (let turn = 0; turn < 100; turn += 1) await settle();
  assert.equal(connector.dialled.length, 1_000);
  assert.equal(of('warn').length, 1);
});
