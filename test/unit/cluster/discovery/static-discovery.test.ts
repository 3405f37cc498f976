// Static discovery (NODES_LIST): unlimited backoff, and an immediate redial after a disconnect.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DialPool } from '../../../../node/cluster/discovery/dial-pool.ts';
import { backoffDelay } from '../../../../node/cluster/discovery/redialer.ts';
import { StaticDiscovery } from '../../../../node/cluster/discovery/static-discovery.ts';
import { FakeConnector } from '../../../kit/fakes/fake-connector.ts';
import { recordedLog } from '../../../kit/recorded-log.ts';
import { mockClock, settle } from './clock.ts';

function start(t: TestContext, nodes: string[], unreachable: string[] = []) {
  const clock = mockClock(t);
  const connector = new FakeConnector('svc@a');
  for (const node of unreachable) connector.unreachable.add(node);
  const { log, of } = recordedLog();
  const list = new StaticDiscovery({ nodes, connector, pool: new DialPool(connector), log, random: () => 0, now: clock.now });
  t.after(() => list.close());
  const lose = (node: string) => {
    connector.cut(node);
    list.down(node);
  };
  return { clock, connector, list, of, lose };
}

test('dialed is true once every listed node was dialed', async (t) => {
  const { connector, list } = start(t, ['svc@a', 'svc@b', 'svc@c'], ['svc@c']);
  assert.equal(list.dialed, false);
  await settle();
  assert.deepEqual([list.dialed, connector.nodes()], [true, ['svc@b']]);
});

test('the delay doubles from 500 ms to the limit, minus up to a half at random', () => {
  const waits = [1, 2, 3, 4, 5, 6, 7, 8, 100_000].map((failures) => backoffDelay(failures, 30_000, 0));
  assert.deepEqual(waits, [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(backoffDelay(1, 30_000, 0.999_999), 250);
  assert.equal(backoffDelay(9, 5_000, 0.5), 3_750);
  assert.equal(backoffDelay(1, 20, 0), 20);
});

test('every listed node except this one is dialed immediately', async (t) => {
  const { connector } = start(t, ['svc@a', 'svc@b', 'svc@c']);
  await settle();
  assert.deepEqual(connector.dialled, ['svc@b', 'svc@c']);
  assert.deepEqual(connector.nodes(), ['svc@b', 'svc@c']);
});

test('an unreachable node is retried forever with backoff and logged once', async (t) => {
  const { clock, connector, of } = start(t, ['svc@b'], ['svc@b']);
  await settle();
  for (const wait of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]) {
    const before = connector.dialled.length;
    await clock.pass(wait - 1);
    assert.equal(connector.dialled.length, before, `${wait} ms have not passed`);
    await clock.pass(1);
    assert.equal(connector.dialled.length, before + 1, `${wait} ms have passed`);
  }
  assert.deepEqual(
    of('info', 'warn', 'error').map(({ msg, node }) => `${node}: ${msg}`),
    ['svc@b: configured node unreachable, retrying'],
  );
  connector.unreachable.clear();
  await clock.pass(30_000);
  assert.deepEqual(connector.nodes(), ['svc@b']);
});

test('a node that disconnects is redialed immediately, then with backoff from the start', async (t) => {
  const { clock, connector, lose } = start(t, ['svc@b', 'svc@c'], ['svc@b']);
  for (const wait of [500, 1_000, 2_000]) await clock.pass(wait);
  connector.unreachable.clear();
  await clock.pass(4_000);
  assert.deepEqual(connector.nodes(), ['svc@b', 'svc@c']);
  await clock.pass(60_000);
  connector.unreachable.add('svc@b');
  const dials = connector.dialsOf('svc@b');
  lose('svc@b');
  await settle();
  assert.equal(connector.dialsOf('svc@b'), dials + 1);
  await clock.pass(500);
  assert.equal(connector.dialsOf('svc@b'), dials + 2);
  connector.unreachable.clear();
  await clock.pass(1_000);
  assert.deepEqual(connector.nodes(), ['svc@b', 'svc@c']);
  assert.equal(connector.dialsOf('svc@c'), 1);
});

test('a disconnect during a dial of the same node does not count twice', async (t) => {
  const { clock, connector, list } = start(t, ['svc@b'], ['svc@b']);
  connector.held = true;
  await clock.pass(500);
  list.down('svc@b');
  connector.release();
  await clock.pass(499);
  assert.equal(connector.dialsOf('svc@b'), 2);
  await clock.pass(1);
  assert.equal(connector.dialsOf('svc@b'), 3);
});

test('a connection that is lost right after it was established counts as a failed dial', async (t) => {
  const { clock, connector, lose } = start(t, ['svc@b']);
  await settle();
  for (const wait of [500, 1_000, 2_000]) {
    lose('svc@b');
    await clock.pass(wait - 1);
    assert.deepEqual(connector.nodes(), []);
    await clock.pass(1);
    assert.deepEqual(connector.nodes(), ['svc@b']);
  }
});

test('a node that connects to this one is not dialed, but redialed when lost', async (t) => {
  const { clock, connector, lose } = start(t, ['svc@b'], ['svc@b']);
  await settle();
  connector.meet('svc@b');
  connector.unreachable.clear();
  await clock.pass(60_000);
  assert.equal(connector.dialsOf('svc@b'), 1);
  lose('svc@b');
  await settle();
  assert.equal(connector.dialsOf('svc@b'), 2);
});

test('a connection replaced by another of the same node is not a loss', async (t) => {
  const { clock, connector, list, of } = start(t, ['svc@b']);
  await settle();
  list.down('svc@b');
  await clock.pass(60_000);
  assert.deepEqual([connector.dialled, of('info')], [['svc@b'], []]);
});

test('nodes that are not listed are not redialed', async (t) => {
  const { clock, connector, lose } = start(t, ['svc@b']);
  connector.meet('svc@x');
  await clock.pass(60_000);
  lose('svc@x');
  await clock.pass(60_000);
  assert.deepEqual(connector.dialled, ['svc@b']);
});

test('close stops timers, and running dials start nothing more', async (t) => {
  const { clock, connector, list } = start(t, ['svc@b', 'svc@c'], ['svc@b', 'svc@c']);
  await settle();
  connector.held = true;
  await clock.pass(500);
  list.close();
  connector.release();
  await clock.pass(100_000);
  list.down('svc@b');
  await clock.pass(100_000);
  assert.equal(connector.dialled.length, 4);
});
