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

const wrongSettings: { what: string; env: Environment; sentence: RegExp }[] = [
  {
    what: 'sname with a dotted host',
    env: { SVC_DIST_MODE: 'sname', SVC_DIST_NODE_NAME: 'svc@one.example.org' },
    sentence: /^Expected SVC_DIST_NODE_NAME to have a host without a dot while SVC_DIST_MODE is sname, got: "?svc@one\.example\.org"?$/m,
  },
  {
    what: 'sname with a dotted host in the list of nodes',
    env: { SVC_DIST_NODE_NAME: 'svc@one', SVC_DIST_NODES: 'svc@two svc@three.example.org' },
    sentence: /^Expected SVC_DIST_NODES to have a host without a dot while SVC_DIST_MODE is sname, got: "?svc@three\.example\.org"?$/m,
  },
  {
    what: 'DNS with sname',
    env: { SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_QUERY: 'nodes.example.org', SVC_DIST_NODE_NAME: 'svc@one' },
    sentence: /^Expected SVC_DIST_MODE to be name with SVC_DIST_STRATEGY_NAME=DNS, got: "?sname"?$/m,
  },
  {
    what: 'DNS without a query',
    env: { SVC_DIST_STRATEGY_NAME: 'DNS', SVC_DIST_MODE: 'name', SVC_DIST_NODE_NAME: 'svc@127.0.0.1' },
    sentence: /^Expected SVC_DIST_QUERY to be set with SVC_DIST_STRATEGY_NAME=DNS, got: "?nothing"?$/m,
  },
  {
    what: 'an empty range of ports',
    env: { SVC_DIST_MIN_PORT: '9001', SVC_DIST_MAX_PORT: '9000' },
    sentence: /^Expected SVC_DIST_MIN_PORT and SVC_DIST_MAX_PORT to be a nonempty range, got: 9001 to 9000$/m,
  },
  {
    what: 'a name without a host',
    env: { SVC_DIST_NODE_NAME: 'svc' },
    sentence: /^Expected SVC_DIST_NODE_NAME .*, got: "?svc"?$/m,
  },
  {
    what: 'name with a host that has no dot',
    env: { SVC_DIST_MODE: 'name', SVC_DIST_NODE_NAME: 'svc@one' },
    sentence: /^Expected SVC_DIST_NODE_NAME to have a host with a dot or an IP address while SVC_DIST_MODE is name, got: "?svc@one"?$/m,
  },
];

describe('a node fails to start with an error message, with', () => {
  for (const { what, env, sentence } of wrongSettings) {
    test(what, async () => {
      const { code, output } = await runNodeToEnd({ SVC_DIST_ENABLED: 'true', ...env });
      assert.equal(code, 1);
      assert.match(output, sentence);
      assert.equal(output.trim().split('\n').length, 1, output);
    });
  }

  test('a name that another node of this host has', onMachines, async (t) => {
    const [networkHost] = (await ClusterNetwork.make(t, 1)).machines;
    const env = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODE_NAME: 'taken@localhost' };
    await startNodeProcess(t, env, networkHost);
    const { code, output } = await runNodeToEnd(env, networkHost);
    assert.equal(code, 1, output);
    assert.match(output, /"reason":"Another node is registered as taken at the EPMD of this host","msg":"could not start node"/);
  });
});
