// Node discovery: the configured strategy together with gossip.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startDiscovery } from '../../../../node/cluster/discovery/discovery.ts';
import { FakeConnector } from '../../../kit/fakes/fake-connector.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { mockClock, settle } from './clock.ts';

test('static discovery dials listed and advertised nodes once, redials lost ones, and stops after close', async (t) => {
  const clock = mockClock(t);
  const connector = new FakeConnector('svc@a');
  connector.held = true;
  const strategy = { name: 'NODES_LIST', nodes: ['svc@a', 'svc@b'] } as const;
  const discovery = startDiscovery({ mode: 'sname', strategy }, connector, silentLog(), { now: clock.now });
  discovery.addKnownNodes('svc@x', ['svc@b', 'svc@c', 'svc@c.test']);
  connector.release();
  await clock.pass(60_000);
  assert.deepEqual(connector.dialled, ['svc@b', 'svc@c']);
  for (const node of ['svc@b', 'svc@c']) {
    connector.cut(node);
    discovery.down(node);
  }
  await settle();
  assert.deepEqual(connector.nodes(), ['svc@b', 'svc@c']);
  discovery.close();
  discovery.close();
  connector.cut('svc@b');
  discovery.down('svc@b');
  discovery.addKnownNodes('svc@x', ['svc@d']);
  await clock.pass(600_000);
  assert.deepEqual(connector.dialled, ['svc@b', 'svc@c', 'svc@b', 'svc@c']);
});

test('DNS discovery dials the addresses of the query and the nodes that these advertise', async (t) => {
  const connector = new FakeConnector('svc@10.0.0.1');
  const strategy = { name: 'DNS', query: 'nodes.test', pollingInterval: 5_000 } as const;
  const asked: string[] = [];
  const discovery = startDiscovery({ mode: 'name', strategy }, connector, silentLog(), {
    localAddresses: () => [],
    resolve: async (host) => {
      asked.push(host);
      return { ipv4: { addresses: ['10.0.0.2'] }, ipv6: { failure: 'ESERVFAIL' } };
    },
  });
  t.after(() => discovery.close());
  await connector.connected('svc@10.0.0.2');
  discovery.addKnownNodes('svc@10.0.0.2', ['svc@10.0.0.1', 'other@10.0.0.3']);
  await connector.connected('other@10.0.0.3');
  assert.deepEqual(connector.dialled, ['svc@10.0.0.2', 'other@10.0.0.3']);
  assert.deepEqual(asked, ['nodes.test']);
});
