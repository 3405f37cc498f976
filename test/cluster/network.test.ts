// Three hosts with one address each: nodes find each other by a static list and by gossip, and share their rooms.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { listNodes } from '../../node/cluster/erlang/epmd/epmd-client.ts';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { runCommand } from '../kit/processes/command.ts';
import {
  addressOf,
  connected,
  countBy,
  counted,
  healthOf,
  logged,
  makeRoom,
  makeRooms,
  nodeName,
  onMachines,
  roomIds,
  startOn,
  staticDiscovery,
} from './network-kit.ts';

describe('nodes on three hosts', onMachines, () => {
  test('form a cluster from a list of nodes, on the default ports, and share their rooms', async (t) => {
    const { machines } = await ClusterNetwork.make(t, 3);
    const started = performance.now();
    const nodes = await Promise.all(machines.map((networkHost) => startOn(t, networkHost, staticDiscovery(machines))));
    const startTime = Math.round(performance.now() - started);
    t.diagnostic(`3 nodes started in ${startTime} ms, and each counted 3 after ${await connected(nodes)} ms`);

    for (const node of nodes) {
      assert.deepEqual(await healthOf(node), { enabled: true, nodeStatus: 'UP', nodesInCluster: 3 });
      assert.deepEqual(await listNodes({ host: node.machine.ip, port: 4369 }), [{ name: 'svc', port: 9000 }]);
      const { stdout } = await runCommand([...node.machine.wrap, 'epmd', '-names']);
      assert.match(stdout, /up and running on port 4369[\s\S]*name svc at port 9000/);
      const others = nodes.filter((other) => other !== node).map(({ name }) => name);
      const named = logged(node, 'connected to node').map((line) => line.node);
      assert.deepEqual([...new Set(named)].sort(), others.sort(), 'both sides log each connection');
    }

    const [first] = nodes;
    assert.ok(first);
    const made = await makeRooms([first], async () => {
      const rooms = [];
      for (let room = 0; room < 6; room += 1) rooms.push(await makeRoom(first));
      return rooms;
    });
    const spread = countBy(made.map(({ address }) => address));
    assert.deepEqual([...spread.keys()].sort(), nodes.map(addressOf), 'every node has rooms');
    assert.deepEqual([...spread.values()], [2, 2, 2]);
    assert.notEqual(made[0]?.address, made[1]?.address, 'two consecutive rooms have different addresses');
    const ids = made.map(({ id }) => id).sort();
    for (const node of nodes) assert.deepEqual(await roomIds(node), ids, `GET /room of ${node.name}`);
    for (const { api } of nodes) for (const id of ids) assert.equal((await api.get(`/room/${id}`)).status, 200);

    const [deleted = '', ...rest] = ids;
    assert.equal((await first.api.delete(`/room/${deleted}`)).status, 204);
    for (const node of nodes) await eventually('the room left the list', async () => !(await roomIds(node)).includes(deleted));
    for (const node of nodes) assert.deepEqual(await roomIds(node), rest);
  });

  test('are all connected if one is configured with the second, and the third with the second only', async (t) => {
    const { machines } = await ClusterNetwork.make(t, 3);
    const [a, b, c] = machines;
    assert.ok(a && b && c);
    const second = await startOn(t, b);
    const first = await startOn(t, a, { SVC_DIST_NODES: nodeName(b) });
    await counted([first, second], 2);
    const started = performance.now();
    const third = await startOn(t, c, { SVC_DIST_NODES: nodeName(b) });
    const startTime = Math.round(performance.now() - started);
    t.diagnostic(`the third node started in ${startTime} ms; all three are connected ${await connected([first, second, third])} ms later`);
    assert.ok(logged(first, 'connected to node').some(({ node }) => node === third.name));
  });

  test('connect as soon as the last one of a list is running, after any time', async (t) => {
    const { machines } = await ClusterNetwork.make(t, 2);
    const [a, b] = machines;
    assert.ok(a && b);
    const first = await startOn(t, a, staticDiscovery(machines));
    assert.equal((await healthOf(first)).nodesInCluster, 1);
    const second = await startOn(t, b, staticDiscovery(machines));
    t.diagnostic(`connected ${await connected([first, second])} ms after the start of the second node`);
  });

  test('find each other by service names in sname mode, like containers on a private network', async (t) => {
    const network = await ClusterNetwork.make(t, 3);
    const names = ['one', 'two', 'three'];
    const hosts = network.machines.map(({ ip }, index) => `${ip} ${names[index]}`);
    await network.setFile('hosts', `${['127.0.0.1 localhost', ...hosts].join('\n')}\n`);
    const nodes = await Promise.all(
      network.machines.map((networkHost, index) =>
        startOn(t, networkHost, {
          SVC_DIST_MODE: 'sname',
          SVC_DIST_NODE_NAME: `svc@${names[index]}`,
          SVC_DIST_NODES: 'svc@one',
        }),
      ),
    );
    t.diagnostic(`each counted 3 after ${await connected(nodes)} ms`);
    const third = nodes[2] ?? assert.fail();
    const made = await makeRooms([third], async () => [await makeRoom(third), await makeRoom(third), await makeRoom(third)]);
    assert.deepEqual(
      made.map(({ address }) => address).sort(),
      ['one:5002', 'three:5002', 'two:5002'],
      'clients receive the service names',
    );
  });
});
