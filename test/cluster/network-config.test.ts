// Two nodes with the minimal configuration of a cluster, and invalid cluster configurations.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Environment } from '../../node/env.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { freePorts } from '../kit/network/free-ports.ts';
import { runNodeToEnd, startNodeProcess } from '../kit/processes/node-process.ts';
import { stopwatch } from '../kit/promised-time.ts';
import { onMachines } from './network-kit.ts';

describe('two nodes on one host', () => {
  test('form a cluster with three variables and without any secret', async (t) => {
    const names = ['one', 'two'].map((name) => `${name}${process.pid}@localhost`);
    // Bound only after the start, seconds later.
    const [http, otherHttp, metrics, otherMetrics] = (await freePorts(4)).map(String);
    const ports = [
      { SVC_PORT: http, SVC_METRICS_PORT: metrics },
      { SVC_PORT: otherHttp, SVC_METRICS_PORT: otherMetrics },
    ];
    const nodes = await Promise.all(
      names.map((name, index) => {
        const env: Environment = {
          SVC_DIST_ENABLED: 'true',
          SVC_DIST_NODE_NAME: name,
          SVC_DIST_NODES: names[1 - index] ?? '',
          ...ports[index],
        };
        return startNodeProcess(t, env, { bare: true });
      }),
    );
    // Each generated a separate token.
    const sessions = await Promise.all(nodes.map(({ url }) => apiClient(url).get('/console/session')));
    const clients = nodes.map(({ url }, index) => apiClient(url, sessions[index]?.body.token));
    const elapsed = stopwatch();
    for (const { get } of clients)
      await eventually('both are one cluster', async () => {
        const { distribution } = (await get('/health')).body.data;
        assert.equal(distribution.enabled, true);
        return distribution.nodesInCluster === 2;
      });
    t.diagnostic(`2 of 2 nodes are counted ${Math.round(elapsed())} ms after both had started`);
    for (const [index, node] of nodes.entries()) {
      const output = node.output();
      assert.match(output, new RegExp(`connected to node.*${names[1 - index]}`));
      assert.match(output, /WARN: SVC_SECRET_KEY_BASE is not set: peer tokens are valid only on this node/);
      // The public default cookie is accepted on loopback, and the distribution is not reachable from outside.
      assert.match(output, /"dist":\{[^}]*\}[^}]*"ip":"127\.0\.0\.1"/);
    }
    const addresses: string[] = [];
    for (let room = 0; room < 2; room += 1) {
      const created = await clients[0]?.post('/room');
      assert.equal(created?.status, 201);
      addresses.push(created.body.data.svc_address);
    }
    assert.deepEqual(addresses.sort(), nodes.map(({ port }) => `127.0.0.1:${port}`).sort());
  });
});

// All invalid settings with their messages: test/unit/config/config-errors.test.ts.
describe('a node fails to start with an error message, with', () => {
  test('a name without a host', async () => {
    const { code, output } = await runNodeToEnd({ SVC_DIST_ENABLED: 'true', SVC_DIST_NODE_NAME: 'svc' });
    assert.equal(code, 1);
    assert.match(output, /^Expected SVC_DIST_NODE_NAME .*, got: "?svc"?$/m);
    assert.equal(output.trim().split('\n').length, 1, output);
  });

  test('a name that another node of this host has', onMachines, async (t) => {
    const [networkHost] = (await ClusterNetwork.make(t, 1)).machines;
    const env = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODE_NAME: 'taken@localhost' };
    await startNodeProcess(t, env, networkHost);
    const { code, output } = await runNodeToEnd(env, networkHost);
    assert.equal(code, 1, output);
    assert.match(output, /"reason":"Another node is registered as taken at the EPMD of this host","msg":"could not start node"/);
  });
});
