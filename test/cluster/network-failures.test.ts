// Node failures as seen by the other nodes: kill, pause, power loss, and replacement under the same name.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { describe, type TestContext, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import type { PeerSocket } from '../kit/network/peer-socket.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import {
  addressOf,
  type ClusterNode,
  connected,
  counted,
  enterRoom,
  healthOf,
  logged,
  makeRoom,
  makeRoomOn,
  onMachines,
  roomIds,
  startCluster,
  startOn,
  staticDiscovery,
} from './network-kit.ts';

const quickTick = { SVC_DIST_TICK: '4' };

type Cluster = { network: ClusterNetwork; nodes: [ClusterNode, ClusterNode, ClusterNode] };

async function threeNodes(t: TestContext, env = {}): Promise<Cluster> {
  const network = await ClusterNetwork.make(t, 3);
  return { network, nodes: (await startCluster(t, network, env)) as Cluster['nodes'] };
}

/** Notifications of one node, all event types. */
const notifications = (t: TestContext, { machine }: ClusterNode): Promise<PeerSocket> =>
  watchEvents(t, { serverSocketUrl: `ws://${machine.ip}:5002/socket/server/websocket`, token: apiToken });

/** Resolves when there is one connection to each other node: after simultaneous dials one is closed a moment later. */
async function twoConnections(nodes: readonly ClusterNode[]): Promise<void> {
  for (const node of nodes) await eventually('one connection to each other node', async () => (await distributionSockets(node)) === 2);
}

/** Distribution connections on the host of a node according to its kernel. */
async function distributionSockets({ process: { pid } }: ClusterNode): Promise<number> {
  const tables = await Promise.all(['tcp', 'tcp6'].map((table) => readFile(`/proc/${pid}/net/${table}`, 'utf8')));
  const port = `:${(9000).toString(16)} `;
  const established = ' 01 ';
  const lines = tables.flatMap((table) => table.split('\n'));
  return lines.filter((line) => line.includes(port) && line.includes(established)).length;
}

describe('the other nodes, if a node', onMachines, () => {
  test('is killed, detect it immediately: its rooms are lost and reported', async (t) => {
    const { network, nodes } = await threeNodes(t, quickTick);
    const [first, second, third] = nodes;
    const lost = [await makeRoomOn(third, first), await makeRoomOn(third, second)];
    const kept = await makeRoomOn(second, first);
    const reported = await notifications(t, first);
    third.process.kill('SIGKILL');
    const health = await counted([first, second], 2);
    const elapsed = stopwatch();
    await eventually('its rooms left the list', async () => {
      const ids = [...(await roomIds(first)), ...(await roomIds(second))];
      return lost.every((id) => !ids.includes(id));
    });
    t.diagnostic(`after kill -9: /health of the others ${health} ms, its rooms left GET /room ${Math.round(elapsed())} ms later`);
    for (const node of [first, second]) {
      assert.ok((await roomIds(node)).includes(kept));
      assert.equal(logged(node, 'lost connection to node').at(-1)?.reason, 'connection_closed');
      for (const id of lost) assert.equal((await node.api.get(`/room/${id}`)).status, 404);
    }
    for (const id of lost) {
      const crash = await reported.waitFor('roomEvent', ({ type, roomId }) => type === 'RoomCrashed' && roomId === id);
      assert.equal(crash.reason, 'node_lost');
      assert.equal(crash.id, `${crash.incarnation}-lost`);
    }
    assert.equal((await second.api.post('/room', { roomId: lost[0] })).status, 201, 'its id is free');

    const again = await startOn(t, network.machines[2] ?? third.machine, { ...staticDiscovery(network.machines), ...quickTick });
    t.diagnostic(`after its restart it is counted by all after ${await connected([first, second, again])} ms`);
    assert.ok((await roomIds(again)).includes(kept));
    // makeRoomOn may have left additional rooms there, which were lost too.
    const crashes = reported.events().flatMap(({ data }) => (data.type === 'RoomCrashed' ? String(data.roomId) : []));
    assert.deepEqual(crashes.toSorted(), [...new Set(crashes)].sort(), 'once for each room');
    assert.ok(!crashes.includes(kept), 'rooms of other nodes stay active');
    await twoConnections([first, second, again]);
  });

  test('is paused, lose it after a tick: requests for its rooms fail, and it is reconnected when it continues', async (t) => {
    const { nodes } = await threeNodes(t, quickTick);
    const [first, second, third] = nodes;
    const room = await makeRoomOn(third, first);
    const stopped = performance.now();
    third.process.kill('SIGSTOP');
    t.after(() => third.process.kill('SIGCONT'));
    const since = async <T>(call: Promise<T>) => ({ ...(await call), time: Math.round(performance.now() - stopped) });
    const [answer, list, made] = await Promise.all([
      since(first.api.get(`/room/${room}`)),
      since(second.api.get('/room')),
      since(makeRoom(second)),
    ]);
    assert.equal(answer.status, 503);
    assert.equal(answer.body.code, 'node_unreachable');
    assert.ok(Number(answer.headers.get('retry-after')) >= 1);
    assert.deepEqual(list.body.incomplete, [third.name]);
    assert.notEqual(made.address, addressOf(third));
    t.diagnostic(
      `after SIGSTOP: a room was created elsewhere after ${made.time} ms, listed without the node after ${list.time} ms, a request for its room failed after ${answer.time} ms`,
    );
    await counted([first, second], 2);
    const down = Math.round(performance.now() - stopped);
    t.diagnostic(`it was down after ${down} ms (tick 4 s)`);
    assert.ok(down > 2_900, `${down} ms`);
    // One and a quarter of a tick.
    assertPrompt('the loss', down, { promised: 5_000 });
    for (const node of [first, second]) {
      assert.equal(logged(node, 'lost connection to node').at(-1)?.reason, 'net_tick_timeout');
      assert.ok(!(await roomIds(node)).includes(room));
    }
    third.process.kill('SIGCONT');
    t.diagnostic(`after SIGCONT it is counted by all after ${await connected(nodes)} ms`);
    for (const node of nodes) await eventually('its room is listed again', async () => (await roomIds(node)).includes(room));
    assert.equal((await first.api.get(`/room/${room}`)).status, 200);
  });

  test('loses power, all detect it when they need it, long before a tick of a minute has passed', async (t) => {
    const { network, nodes } = await threeNodes(t);
    const [first, second, third] = nodes;
    const lost = await makeRoomOn(third, first);
    const began = performance.now();
    for (const { machine } of [first, second]) await network.cut(machine, third.machine);
    third.process.kill('SIGKILL');
    await eventually('the room is reported as lost', async () => (await first.api.get(`/room/${lost}`)).status === 404);
    const found = performance.now() - began;
    const later = await counted([first, second], 2);
    t.diagnostic(`with continuous requests, its room was lost after ${Math.round(found)} ms, and at both nodes ${later} ms later`);
    // After ten seconds without data, the last of which arrived some time before the cut.
    assert.ok(found >= 9_000, `it is not lost too early: ${found} ms`);
    for (const node of [first, second]) assert.equal(logged(node, 'lost connection to node').at(-1)?.reason, 'unanswered');
    assert.equal((await second.api.post('/room', { roomId: lost })).status, 201, 'its id is free');
  });

  test('loses power and restarts under its name, replace the old one by the new one', async (t) => {
    const { network, nodes } = await threeNodes(t);
    const [first, second, third] = nodes;
    const lost = await makeRoomOn(third, first);
    await twoConnections(nodes);
    const networkHost = await network.replace(third.machine, async () => {
      third.process.kill('SIGKILL');
      await third.process.ended;
    });
    assert.equal((await healthOf(first)).nodesInCluster, 3, 'the loss is not detected yet');
    const again = await startOn(t, networkHost, staticDiscovery(network.machines));
    const time = await connected([first, second, again]);
    for (const node of [first, second]) {
      await eventually('the old connection was replaced', () => logged(node, 'lost connection to node').length === 1);
      await eventually('the rooms of the old one are removed', async () => !(await roomIds(node)).includes(lost));
    }
    const reasons = [first, second].map((node) => logged(node, 'lost connection to node')[0]?.reason);
    t.diagnostic(`the new one is counted by all ${time} ms after its start; the old connections: ${reasons.join(', ')}`);
    for (const node of [first, second])
      assert.equal(logged(node, 'connected to node').filter(({ node: other }) => other === third.name).length, 2);
    assert.equal((await first.api.post('/room', { roomId: lost })).status, 201);
    await makeRoomOn(again, first);
    // No connection is left over.
    await twoConnections([first, second, again]);
  });

  test('shuts down, detect it before its process has ended', async (t) => {
    const { nodes } = await threeNodes(t);
    const [first, second, third] = nodes;
    const room = await makeRoomOn(third, first);
    const peer = await enterRoom(t, first, room);
    const started = performance.now();
    third.process.kill('SIGTERM');
    assert.deepEqual(await peer.closed, { code: 1001, reason: 'Node going away: join again at another node' });
    assert.deepEqual(await third.process.ended, { code: 0, signal: null });
    const ended = Math.round(performance.now() - started);
    const noticed = await counted([first, second], 2);
    t.diagnostic(`it ended ${ended} ms after SIGTERM, and was removed ${noticed} ms later`);
    // Without the notification a tick of a minute would detect it.
    assertPrompt('the end', noticed, { promised: 2_000 });
    assert.ok(!(await roomIds(second)).includes(room));
  });
});
