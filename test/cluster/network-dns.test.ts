// The DNS strategy on machines of their own: a real DNS server on the network, whose records change while the nodes run.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { Environment } from '../../node/env.ts';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { startDnsServer } from '../kit/network/dns-server.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { connected, counted, healthOf, logged, nodeName, onMachines, startOn } from './network-kit.ts';

const query = 'nodes.cluster.test';
const byDns: Environment = {
  SVC_DIST_STRATEGY_NAME: 'DNS',
  SVC_DIST_QUERY: query,
  SVC_DIST_POLLING_INTERVAL: '500',
};

describe('the DNS strategy', onMachines, () => {
  test('finds two nodes, one that is added, and dials one no more that is removed', async (t) => {
    const network = await ClusterNetwork.make(t, 3);
    const dns = await startDnsServer(t, { ip: network.here, port: 53 });
    await network.setFile('resolv.conf', `nameserver ${network.here}\n`);
    const [a, b, c] = network.machines;
    assert.ok(a && b && c);
    dns.add(query, a.ip, b.ip);
    const [first, second] = await Promise.all([startOn(t, a, byDns), startOn(t, b, byDns)]);
    t.diagnostic(`2 nodes under the query are connected ${await connected([first, second])} ms after they had started`);
    assert.ok(dns.asked.includes(`A ${query}`) && dns.asked.includes(`AAAA ${query}`));

    // It asks for a name that it is not under itself yet, and is found by nobody: as a node that is not registered so far.
    const third = await startOn(t, c, { ...byDns, SVC_DIST_QUERY: 'nothing.cluster.test' });
    await dns.queries(4);
    assert.equal((await healthOf(third)).nodesInCluster, 1);
    dns.add(query, c.ip);
    t.diagnostic(`a third record is a third node after ${await connected([first, second, third])} ms`);

    dns.remove(query, c.ip);
    await dns.queries(8);
    assert.equal((await healthOf(first)).nodesInCluster, 3, 'a connection outlives its record');
    const dialled = logged(first, 'connected to node').length;
    third.process.kill('SIGKILL');
    t.diagnostic(`its end is seen after ${await counted([first, second], 2)} ms`);
    const again = await startOn(t, c, { ...byDns, SVC_DIST_QUERY: 'nothing.cluster.test' });
    await dns.queries(8);
    for (const node of [first, second]) assert.equal((await healthOf(node)).nodesInCluster, 2, `${node.name} dials it no more`);
    assert.equal((await healthOf(again)).nodesInCluster, 1);
    assert.equal(logged(first, 'connected to node').length, dialled);

    dns.add(query, c.ip);
    t.diagnostic(`its record is back: connected after ${await connected([first, second, again])} ms`);
  });

  test('names a node by its address where it is given a host name, and goes on while the server does not answer', async (t) => {
    const network = await ClusterNetwork.make(t, 2);
    const dns = await startDnsServer(t, { ip: network.here, port: 53 });
    await network.setFile('resolv.conf', `nameserver ${network.here}\n`);
    const [a, b] = network.machines;
    assert.ok(a && b);
    dns.add(query, a.ip, b.ip);
    dns.add('one.cluster.test', a.ip);
    const first = await startOn(t, a, { ...byDns, SVC_DIST_NODE_NAME: 'svc@one.cluster.test' });
    const second = await startOn(t, b, byDns);
    await connected([first, second]);
    assert.deepEqual(
      logged(second, 'connected to node').map(({ node }) => node),
      [nodeName(a)],
    );
    dns.fail('servfail');
    const failing = () => logged(second, 'the DNS query fails, what is known of it stays').map(({ record }) => record);
    await eventually('the log says so', () => ['A', 'AAAA'].every((record) => failing().includes(record)));
    first.process.kill('SIGKILL');
    await counted([second], 1);
    const again = await startOn(t, a, byDns);
    t.diagnostic(`without DNS a node that was known is found again in ${await connected([second, again])} ms`);
  });

  test('asks whoever comes for a room of another node to come again, as long as it could not look for the others', async (t) => {
    const network = await ClusterNetwork.make(t, 2);
    const dns = await startDnsServer(t, { ip: network.here, port: 53 });
    dns.fail('servfail');
    await network.setFile('resolv.conf', `nameserver ${network.here}\n`);
    const [a, b] = network.machines;
    assert.ok(a && b);
    dns.add(query, a.ip, b.ip);
    const [first, second] = await Promise.all([startOn(t, a, byDns), startOn(t, b, byDns)]);
    assert.equal((await first.api.post('/room', { roomId: 'r' })).status, 201);
    const made = await first.api.post('/room/r/peer', { type: 'webrtc', peerId: 'anna' });
    assert.equal(made.status, 201);
    const enter = async () => {
      const { welcome, closed, webSocket } = await PeerSocket.enter(`ws://${b.ip}:5002/socket/peer/websocket`, made.body.data.token);
      webSocket.close();
      await closed;
      return welcome.ok ? 'let in' : welcome.error?.code;
    };
    assert.equal(await enter(), 'unavailable');
    dns.mend();
    await connected([first, second]);
    // Connected nodes tell each other who they are a moment later.
    await eventually('it is let in', async () => (await enter()) === 'let in');
  });
});
