// Network partitions: both parts keep working, and after healing the older of two rooms with one id is kept.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../kit/eventually.ts';
import { ClusterNetwork } from '../kit/network/cluster-network.ts';
import { assertPrompt, stopwatch } from '../kit/promised-time.ts';
import { connected, counted, enterRoom, healthOf, logged, makeRoomOn, onMachines, roomIds, startCluster } from './network-kit.ts';

describe('a network partition', onMachines, () => {
  test('of one node from two others is detected by both sides, and healed by the age of incarnations', async (t) => {
    const network = await ClusterNetwork.make(t, 3);
    const nodes = await startCluster(t, network, { SVC_DIST_TICK: '4' });
    const [first, second, third] = nodes;
    assert.ok(first && second && third);
    const before = await makeRoomOn(third, first);
    const cut = performance.now();
    for (const node of [first, second]) await network.cut(node.machine, third.machine);
    const times = await Promise.all([
      counted([first, second], 2).then(() => performance.now() - cut),
      counted([third], 1).then(() => performance.now() - cut),
    ]);
    t.diagnostic(`two of three were lost for the others after ${times.map(Math.round).join(' and ')} ms (tick 4 s)`);
    // One and a quarter of a tick.
    for (const time of times) {
      assert.ok(time > 2_900, `${time} ms`);
      assertPrompt('the loss', time, { promised: 5_000 });
    }
    assert.ok(!(await roomIds(first)).includes(before));
    assert.ok((await roomIds(third)).includes(before));

    // The same ids in both parts: one is older at the isolated node, the other at the two nodes.
    const rooms = [
      { roomId: 'older-alone', older: third, younger: first, peerThrough: second },
      { roomId: 'older-of-two', older: second, younger: third, peerThrough: third },
    ];
    const twins = [];
    for (const { roomId, older, younger, peerThrough } of rooms) {
      const { status, body } = await older.api.post('/room', { roomId });
      assert.equal(status, 201);
      await sleep(20);
      assert.equal((await younger.api.post('/room', { roomId })).status, 201);
      const olderPeer = await enterRoom(t, older, roomId);
      const youngerPeer = await enterRoom(t, peerThrough, roomId);
      twins.push({ roomId, incarnation: body.data.room.incarnation, olderPeer, youngerPeer });
    }

    const restoredAt = performance.now();
    for (const node of [first, second]) await network.restore(node.machine, third.machine);
    await connected(nodes);
    const healed = Math.round(performance.now() - restoredAt);
    for (const { youngerPeer } of twins) assert.equal((await youngerPeer.closed).reason, 'Room stopped');
    const closed = Math.round(performance.now() - restoredAt);
    t.diagnostic(`healed: all three counted after ${healed} ms, the peers of the younger rooms were closed after ${closed} ms`);
    for (const { roomId, incarnation, olderPeer } of twins) {
      for (const node of nodes) {
        await eventually('the older room is the only one', async () => {
          const { status, body } = await node.api.get(`/room/${roomId}`);
          const listed = (await roomIds(node)).filter((id) => id === roomId);
          return status === 200 && body.data.incarnation === incarnation && listed.length === 1;
        });
      }
      assert.equal((await olderPeer.request('ping', { received: 0 })).ok, true, 'the peer of the older room is still connected');
      assert.equal((await first.api.post('/room', { roomId })).status, 400);
      const tellers = nodes.filter((node) => logged(node, 'duplicate room id, keeping the older room').some(({ room }) => room === roomId));
      assert.ok(tellers.length > 0, 'a log line exists');
    }
    for (const node of nodes) assert.ok((await roomIds(node)).includes(before));
  });

  test('in one direction between two of three nodes disconnects both, and no other node', async (t) => {
    const network = await ClusterNetwork.make(t, 3);
    const nodes = await startCluster(t, network, { SVC_DIST_TICK: '4' });
    const [first, second, third] = nodes;
    assert.ok(first && second && third);
    const elapsed = stopwatch();
    await network.drop(first.machine, third.machine);
    await counted([first, third], 2);
    t.diagnostic(`both have detected it after ${Math.round(elapsed())} ms (tick 4 s)`);
    // The node that receives nothing disconnects. The other one does not receive that and waits for its tick from then on: twice one and a
    // quarter of a tick.
    assertPrompt('the loss', elapsed(), { promised: 10_000 });
    assert.equal((await healthOf(second)).nodesInCluster, 3);
    assert.deepEqual(logged(second, 'lost connection to node'), []);
    const room = await makeRoomOn(second, first);
    for (const node of nodes) assert.equal((await node.api.get(`/room/${room}`)).status, 200);
    await network.pass(first.machine, third.machine);
    t.diagnostic(`healed: all three counted after ${await connected(nodes)} ms`);
  });
});
