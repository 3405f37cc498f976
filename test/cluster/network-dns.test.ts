// DNS discovery on separate hosts: a real DNS server whose records change while the nodes run.
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

describe('DNS discovery', onMachines, () => {
  test('connects two nodes, then an added one, and does not redial a removed one', async (t) => {
    const network = await ClusterNetwork.make(t, 3);
    const dns = await startDnsServer(t, { ip: network.here, port: 53 });
    await network.setFile('resolv.conf', `nameserver ${network.here}\n`);
    const [a, b, c] = network.machines;
    assert.ok(a && b && c);
    dns.add(query, a.ip, b.ip);
    const [first, second] = await Promise.all([startOn(t, a, byDns), startOn(t, b, byDns)]);
    t.diagnostic(`2 nodes of the query are connected ${await connected([first, second])} ms after their start`);
    assert.ok(dns.asked.includes(`A ${query}`) && dns.asked.includes(`AAAA ${query}`));

    // It polls another name, and its address is not in the query yet, like a node that is not registered in DNS.
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
    t.diagnostic(`its end is detected after ${await counted([first, second], 2)} ms`);
    const again = await startOn(t, c, { ...byDns, SVC_DIST_QUERY: 'nothing.cluster.test' });
    await dns.queries(8);
    for (const node of [first, second]) assert.equal((await healthOf(node)).nodesInCluster, 2, `${node.name} does not redial it`);
    assert.equal((await healthOf(again)).nodesInCluster, 1);
    assert.equal(logged(first, 'connected to node').length, dialled);

    dns.add(query, c.ip);
    t.diagnostic(`its record is added again: connected after ${await connected([first, second, again])} ms`);
  });

  test('names a node by its address if it has a host name, and keeps working while the server does not respond', async (t) => {
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
    const failing = () => logged(second, 'DNS query failed, keeping last known addresses').map(({ record }) => record);
    await eventually('a log line', () => ['A', 'AAAA'].every((record) => failing().includes(record)));
    first.process.kill('SIGKILL');
    await counted([second], 1);
    const again = await startOn(t, a, byDns);
    t.diagnostic(`without DNS a known node is reconnected in ${await connected([second, again])} ms`);
  });

  test('returns a retryable error for rooms of other nodes until discovery has finished', async (t) => {
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
    dns.restore();
    await connected([first, second]);
    // Connected nodes exchange their snapshots a moment later.
    await eventually('the peer is admitted', async () => (await enter()) === 'let in');
  });
});
