// A real Erlang node on a separate host, next to three Mediarooms nodes.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { startEpmd, startErl } from '../kit/processes/erlang-node.ts';
import { stopwatch } from '../kit/promised-time.ts';
import { type ClusterNode, connected, healthOf, logged, makeRoom, nodeName, onMachines, startOn, staticDiscovery } from './network-kit.ts';

const cookie = 'the_cookie_of_a_test';

describe('a real Erlang node on another host', onMachines, () => {
  test('connects to all of our nodes through one, and is rejected with a wrong cookie', async (t) => {
    const network = await ClusterNetwork.make(t, 4);
    const [a, b, c, d] = network.machines;
    assert.ok(a && b && c && d);
    const ours = [a, b, c];
    const env = { ...staticDiscovery(ours), SVC_DIST_COOKIE: cookie, SVC_DIST_ERLANG: 'true' };
    const [nodes] = await Promise.all([Promise.all(ours.map((networkHost) => startOn(t, networkHost, env))), startEpmd(t, 4369, d)]);
    await connected(nodes);
    const [first] = nodes;
    assert.ok(first);
    const options = { epmdPort: 4369, wrap: d.wrap };
    const erl = await startErl(t, { ...options, name: `erl@${d.ip}`, cookie });
    assert.equal(await erl.eval(`net_adm:ping('${nodeName(a)}')`), 'pong');
    const names = `[${ours.map((networkHost) => `'${nodeName(networkHost)}'`).join(',')}]`;
    const elapsed = stopwatch();
    await eventually('nodes() has all of ours', async () => (await erl.eval('lists:sort(nodes())')) === names);
    t.diagnostic(`nodes() on Erlang lists all three of ours ${Math.round(elapsed())} ms after it pinged one`);
    assert.match(await erl.eval(`net_adm:names("${b.ip}")`), /\{ok,\[\{"svc",9000\}\]\}/);
    for (const node of nodes) {
      // The dialed node lists the other before that has read the end of the handshake.
      await eventually('it is also connected at our nodes', () =>
        logged(node, 'connected to node').some(({ node: name }) => name === `erl@${d.ip}`),
      );
      assert.equal((await healthOf(node)).nodesInCluster, 3, 'a node that is not part of the service is not counted');
    }
    await makeRoom(first);

    const foreign = await startErl(t, { ...options, name: `foreign@${d.ip}`, cookie: 'another' });
    assert.equal(await foreign.eval(`net_adm:ping('${nodeName(b)}')`), 'pang');
    assert.equal(await foreign.eval('nodes()'), '[]');
    const second = nodes[1];
    assert.ok(second);
    await eventually('a log line of ours', () =>
      logged(second, 'node rejected: wrong cookie').some(({ node }) => node === `foreign@${d.ip}`),
    );
    await foreign.printed(new RegExp(`[Ii]nvalid challenge reply|disallowed node|'${nodeName(b)}'`));

    erl.kill('SIGKILL');
    // After simultaneous dials one connection may have replaced another.
    const connections = (node: ClusterNode) => logged(node, 'connected to node').filter(({ node: name }) => name === `erl@${d.ip}`).length;
    await eventually('its end is detected', () =>
      nodes.every((node) => logged(node, 'lost connection to node').length === connections(node)),
    );
    assert.deepEqual(
      (await Promise.all(nodes.map(healthOf))).map(({ nodesInCluster }) => nodesInCluster),
      [3, 3, 3],
    );
  });
});
