// Placement on three hosts: bursts are spread, full and draining nodes are skipped, ids are unique.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import {
  addressOf,
  type ClusterNode,
  connected,
  countBy,
  enterRoom,
  makeRoom,
  makeRoomOn,
  makeRooms,
  onMachines,
  roomIds,
  startCluster,
  startOn,
  staticDiscovery,
} from './network-kit.ts';

/** Creates rooms concurrently, each request through the next node. @returns the number of rooms per node */
async function burst(rooms: number, through: readonly ClusterNode[]): Promise<Map<string, number>> {
  const made = await makeRooms(through, () =>
    Promise.all(
      Array.from({ length: rooms }, (_, index) => {
        const node = through[index % through.length];
        assert.ok(node);
        return makeRoom(node);
      }),
    ),
  );
  return countBy(made.map(({ address }) => address));
}

function spread(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([address, count]) => `${address} ${count}`).join(', ');
}

function total(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((sum, count) => sum + count, 0);
}

async function stateOf(seenBy: ClusterNode, node: ClusterNode): Promise<{ state: string; load: { rooms: number } }> {
  const { status, body } = await seenBy.api.get('/cluster/nodes');
  assert.equal(status, 200);
  return body.data.find(({ name }: { name: string }) => name === node.name);
}

async function threeNodes(t: TestContext): Promise<[ClusterNode, ClusterNode, ClusterNode]> {
  const network = await ClusterNetwork.make(t, 3);
  return (await startCluster(t, network)) as [ClusterNode, ClusterNode, ClusterNode];
}

/** One cluster for all. The rooms of a test stay for the next ones. */
test('a burst of rooms', onMachines, async (t) => {
  const nodes = await threeNodes(t);
  const [first] = nodes;

  // The first one, because its nodes must have no rooms.
  await t.test('is spread evenly, through one node and through all up to the effect of concurrent choices', async (s) => {
    const made = new Map<string, number>();
    for (const { through, tolerance } of [
      { through: [first], tolerance: 1 },
      // Nodes that choose at the same time see the same gap, and each fills it.
      { through: nodes, tolerance: 10 },
      { through: [first], tolerance: 1 },
    ]) {
      const started = performance.now();
      const counts = await burst(60, through);
      const time = Math.round(performance.now() - started);
      s.diagnostic(`60 concurrent rooms through ${through.length} of 3 nodes in ${time} ms: ${spread(counts)}`);
      for (const [address, count] of counts) made.set(address, (made.get(address) ?? 0) + count);
      for (const node of nodes) assert.ok(Math.abs((made.get(addressOf(node)) ?? 0) - total(made) / 3) <= tolerance, spread(made));
    }
  });

  await t.test('with one id at three nodes creates one room', async () => {
    for (let round = 0; round < 5; round += 1) {
      const roomId = `the-one-${round}`;
      const answers = await Promise.all(
        Array.from({ length: 20 }, (_, index) => nodes[index % nodes.length]?.api.post('/room', { roomId })),
      );
      const statuses = countBy(answers.map((answer) => answer?.status));
      assert.deepEqual([statuses.get(201), statuses.get(400)], [1, 19], JSON.stringify([...statuses]));
      const refused = answers.filter((answer) => answer?.status === 400);
      for (const answer of refused) assert.equal(answer?.body.code, 'already_exists');
      for (const node of nodes)
        assert.deepEqual(
          (await roomIds(node)).filter((id) => id === roomId),
          [roomId],
        );
    }
  });

  await t.test('with one externalId at three nodes creates one room, which all clients receive', async () => {
    const before = await roomIds(first);
    const externalId = 'the lesson of Monday';
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => nodes[index % nodes.length]?.api.post('/room', { externalId })),
    );
    const statuses = countBy(answers.map((answer) => answer?.status));
    assert.deepEqual([statuses.get(201), statuses.get(200)], [1, 19], JSON.stringify([...statuses]));
    assert.equal(countBy(answers.map((answer) => answer?.body.data.room.id)).size, 1);
    assert.equal(countBy(answers.map((answer) => answer?.body.data.svc_address)).size, 1);
    for (const node of nodes) assert.equal((await roomIds(node)).length, before.length + 1);
  });
});

describe('a node that accepts no rooms', onMachines, () => {
  test('is skipped if it is full', async (t) => {
    const { machines } = await ClusterNetwork.make(t, 3);
    const nodes = await Promise.all(
      machines.map((networkHost, index) =>
        startOn(t, networkHost, { ...staticDiscovery(machines), ...(index === 2 && { SVC_MAX_ROOMS: '5' }) }),
      ),
    );
    await connected(nodes);
    const [first, second, full] = nodes;
    assert.ok(first && second && full);
    const counts = await burst(31, nodes);
    t.diagnostic(`31 concurrent rooms, one node accepts 5: ${spread(counts)}`);
    assert.equal(counts.get(addressOf(full)), 5);
    const rest = await burst(20, [full]);
    t.diagnostic(`20 more through that node: ${spread(rest)}`);
    assert.equal(rest.get(addressOf(full)), undefined, 'its own requests are placed elsewhere');
    // The imbalance of concurrent choices is evened out.
    const made = [first, second].map((node) => (counts.get(addressOf(node)) ?? 0) + (rest.get(addressOf(node)) ?? 0));
    assert.deepEqual(made, [23, 23]);
  });

  test('is skipped while it drains, until the drain is cancelled', async (t) => {
    const [first, second, third] = await threeNodes(t);
    const path = `/cluster/nodes/${third.name}/drain`;
    const kept = await makeRoomOn(third, first);
    const peer = await enterRoom(t, first, kept);
    const empty = await makeRoomOn(third, first);
    assert.equal((await first.api.post(path, { deadline: 600 })).status, 202);
    assert.ok(await peer.waitFor('draining', ({ deadline }) => typeof deadline === 'string'));
    for (const node of [first, second, third]) {
      await eventually(`${node.name} sees that the third node drains`, async () => (await stateOf(node, third)).state === 'draining');
      assert.equal((await stateOf(node, first)).state, 'accepting');
    }
    await eventually('a room without peers ends immediately', async () => !(await roomIds(second)).includes(empty));
    const during = await burst(12, [first, second, third]);
    assert.equal(during.get(addressOf(third)), undefined, spread(during));
    assert.ok((await roomIds(second)).includes(kept), 'a room with a peer stays');

    assert.equal((await second.api.delete(path)).status, 204);
    assert.ok(await peer.waitFor('draining', ({ deadline }) => deadline === null));
    for (const node of [first, second, third]) {
      await eventually(`${node.name} sees the drain cancelled`, async () => (await stateOf(node, third)).state === 'accepting');
    }
    const after = await burst(3, [first]);
    assert.equal(after.get(addressOf(third)), 3, `it has the fewest rooms: ${spread(after)}`);
  });

  test('ends its rooms at the deadline of its drain, and notifies their peers', async (t) => {
    const [first, second, third] = await threeNodes(t);
    const room = await makeRoomOn(third, first);
    const peer = await enterRoom(t, first, room);
    const [started, asked] = [performance.now(), Date.now()];
    assert.equal((await first.api.post(`/cluster/nodes/${third.name}/drain`, { deadline: 2 })).status, 202);
    const { deadline } = await peer.waitFor('draining');
    const drainedAt = Date.parse(String(deadline)) - 2_000;
    const now = Date.now();
    assert.ok(drainedAt >= asked && drainedAt <= now, String(deadline));
    assert.deepEqual(await peer.closed, { code: 1001, reason: 'Node going away: join again at another node' });
    const time = Math.round(performance.now() - started);
    t.diagnostic(`the peer was closed ${time} ms after a drain with a deadline of 2 s`);
    assert.ok(time > 1_500, `${time} ms`);
    // Two seconds, and one to close.
    assertPrompt('the end of its rooms', time, { promised: 3_000 });
    await eventually('the room left the list', async () => !(await roomIds(second)).includes(room));
    assert.equal((await stateOf(first, third)).state, 'draining');
  });
});
