// Rooms over several nodes: placement, unique names, routing, lists, node loss, partition and healing.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../../api/errors.ts';
import { peerSocketPath } from '../../../api/peer.ts';
import { flushNetwork, makeCluster, makeNode, type TestNode } from '../../kit/fakes/cluster.ts';
import { joinPeer } from '../../kit/fakes/rooms.ts';
import { fieldsOf } from '../../kit/fields.ts';

const rooms = (node: TestNode | undefined) => node?.local.size ?? 0;

/** Nodes that know each other. */
async function connected(count: number, limits: Parameters<typeof makeCluster>[1] = {}) {
  const { network, nodes } = makeCluster(count, limits);
  await flushNetwork();
  const [a, b, c] = nodes as [TestNode, TestNode, TestNode];
  return { network, nodes, a, b, c };
}

describe('placement', () => {
  test('two consecutive rooms created at one node are placed on two nodes', async () => {
    const { a } = await connected(3);
    const first = await a.cluster.rooms.createRoom({});
    const second = await a.cluster.rooms.createRoom({});
    assert.equal(first.address, 'a.test');
    assert.notEqual(second.address, first.address);
  });

  test('60 concurrent rooms are spread evenly, through one of three nodes and through all of them', async () => {
    const one = makeCluster(3);
    await flushNetwork();
    await Promise.all(Array.from({ length: 60 }, () => one.nodes[0]?.cluster.rooms.createRoom({})));
    for (const node of one.nodes) assert.ok(Math.abs(rooms(node) - 20) <= 1, `${node.name} has ${rooms(node)}`);
    const all = makeCluster(3);
    await flushNetwork();
    await Promise.all(Array.from({ length: 60 }, (_, index) => all.nodes[index % 3]?.cluster.rooms.createRoom({})));
    for (const node of all.nodes) assert.ok(Math.abs(rooms(node) - 20) <= 3, `${node.name} has ${rooms(node)}`);
  });

  test('placement skips nodes that are full, draining, more loaded or unresponsive', async () => {
    const { nodes } = makeCluster(4, { maxRooms: 2 });
    const [a, b, c, d] = nodes;
    await flushNetwork();
    if (!a || !b || !c || !d) throw new Error('no nodes');
    b.load.accepting = false;
    c.load.forwardedTracks = 1;
    d.links.frozen = true;
    await a.cluster.rooms.createRoom({});
    await a.cluster.rooms.createRoom({});
    assert.deepEqual(nodes.map(rooms), [2, 0, 0, 0]);
    await a.cluster.rooms.createRoom({});
    await a.cluster.rooms.createRoom({});
    assert.deepEqual(nodes.map(rooms), [2, 0, 2, 0]);
    await assert.rejects(a.cluster.rooms.createRoom({}), { code: 'no_node_accepts_rooms' });
  });
});

describe('names', () => {
  test('of 20 concurrent creations with one id at three nodes exactly one succeeds', async () => {
    for (let round = 0; round < 20; round += 1) {
      const { nodes } = await connected(3);
      const asked = Array.from({ length: 20 }, (_, index) => nodes[index % 3]?.cluster.rooms.createRoom({ roomId: 'one' }));
      const answers = await Promise.allSettled(asked);
      const refused = answers.filter((each) => each.status === 'rejected');
      assert.equal(refused.length, 19);
      for (const { reason } of refused) assert.equal(reason.code, 'already_exists');
      assert.equal(
        nodes.reduce((sum, node) => sum + rooms(node), 0),
        1,
      );
    }
  });

  test('20 concurrent creations with one externalId at three nodes return the same room', async () => {
    const { nodes } = await connected(3);
    const asked = Array.from({ length: 20 }, (_, index) =>
      nodes[index % 3]?.cluster.rooms.createRoom({ roomId: 'one', externalId: 'mine' }),
    );
    const answers = await Promise.all(asked);
    assert.equal(answers.filter((each) => each?.created).length, 1);
    assert.equal(new Set(answers.map((each) => each?.room.incarnation)).size, 1);
    assert.equal(new Set(answers.map((each) => each?.address)).size, 1);
  });

  test('100 concurrent requests at three nodes for a room that must exist create it once, on the least loaded node', async () => {
    const { nodes, b } = await connected(3);
    for (const node of nodes) node.load.forwardedTracks = node === b ? 0 : 5;
    await Promise.all(Array.from({ length: 100 }, (_, index) => nodes[index % 3]?.openRoom({ roomId: 'one', maxPeers: 200 })));
    assert.deepEqual(nodes.map(rooms), [0, 1, 0]);
    await Promise.all(nodes.map((node) => node.openRoom({ roomId: 'one' })));
    assert.equal(nodes.flatMap(({ events }) => events).filter(({ type }) => type === 'RoomCreated').length, 1);
  });

  test('a room that must exist and that no node accepts is rejected with the reason', async () => {
    const { a } = await connected(3, { maxRooms: 0 });
    await assert.rejects(a.openRoom({ roomId: 'one' }), { code: 'no_node_accepts_rooms' });
  });

  test('names are free at every node as soon as their room has ended', async () => {
    const { a, b, c } = await connected(3);
    for (let round = 0; round < 10; round += 1) {
      const made = await a.cluster.rooms.createRoom({ roomId: 'again', externalId: 'key' });
      assert.equal(made?.created, true);
      await b.run.deleteRoom({ roomId: 'again' });
      await flushNetwork();
      assert.equal(c.directory.size, 0);
    }
  });

  test('a name whose creation failed is free immediately', async () => {
    const { a, b } = await connected(2, { maxRooms: 0 });
    await assert.rejects(a.cluster.rooms.createRoom({ roomId: 'x' }), { code: 'no_node_accepts_rooms' });
    await assert.rejects(b.cluster.rooms.createRoom({ roomId: 'x' }), { code: 'no_node_accepts_rooms' });
  });
});

describe('routing', () => {
  test('every method reaches the owning node from every node, including errors', async () => {
    const { nodes, a, b, c } = await connected(3);
    await a.cluster.rooms.createRoom({ roomId: 'first' });
    await a.cluster.rooms.createRoom({ roomId: 'second' });
    const owner = nodes.find((node) => node.local.has('second'));
    const second = { roomId: 'second' };
    assert.notEqual(owner, a);
    for (const node of [a, b, c]) {
      const { run } = node;
      assert.equal((await run.getRoom(second)).id, 'second');
      const added = await run.addPeer(second, { type: 'webrtc', externalId: 'one' });
      assert.equal(added?.data.peer_websocket_url, `${owner?.name.split('@')[1]}.test${peerSocketPath}`);
      assert.equal((await run.updateRoom(second, { maxPeers: 3 })).config.maxPeers, 3);
      await assert.rejects(run.getPeer({ ...second, peerId: 'unknown' }), { code: 'peer_not_found' });
      await assert.rejects(run.deleteTrack({ ...second, trackId: 'nothing' }), { code: 'track_not_found' });
    }
    assert.equal((await c.run.getRoom(second)).peers.length, 1, 'one externalId, one peer');
    const peerId = (await c.run.getRoom(second)).peers[0]?.id ?? '';
    await b.run.deletePeer({ ...second, peerId });
    await b.run.deleteRoom(second);
    await flushNetwork();
    await assert.rejects(a.run.getRoom(second), ServiceError);
  });

  test('the list of rooms covers the cluster, pages without gaps, and names unresponsive nodes', async () => {
    const { a, b, c } = await connected(3);
    for (let index = 0; index < 31; index += 1) await a.cluster.rooms.createRoom({ roomId: `room-${index}` });
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await b.cluster.rooms.listRooms(cursor === undefined ? { limit: 7 } : { limit: 7, cursor });
      seen.push(...(page?.rooms.map(({ id }) => id) ?? []));
      cursor = page?.cursor;
    } while (cursor !== undefined);
    assert.equal(new Set(seen).size, 31);
    assert.equal(seen.length, 31);
    c.links.frozen = true;
    const page = await a.cluster.rooms.listRooms({});
    assert.deepEqual(page?.incomplete, ['svc@c']);
  });

  test('a room with an unresponsive owner is unreachable, and the error is retryable', async () => {
    const { network, a, b } = await connected(2);
    await b.local.createRoom({ roomId: 'r' });
    await flushNetwork();
    b.links.frozen = true;
    const asked = a.run.getRoom({ roomId: 'r' });
    setTimeout(() => network.cut(a.name, b.name), 20);
    await assert.rejects(
      asked,
      (error) => error instanceof ServiceError && error.code === 'node_unreachable' && error.retryable && error.retryAfter !== undefined,
    );
  });
});

describe('components', () => {
  test('starting a process at another node may exceed the RPC timeout', async (t) => {
    const { a, b } = await connected(2);
    await b.local.createRoom({ roomId: 'r' });
    await flushNetwork();
    const slow = Promise.withResolvers<void>();
    b.components.gate = slow.promise;
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const added = a.run.addComponent({ roomId: 'r' }, { type: 'file' });
    await flushNetwork();
    t.mock.timers.tick(16_000);
    slow.resolve();
    assert.equal((await added).data.type, 'file');
    b.components.gate = new Promise(() => {});
    const never = assert.rejects(a.run.addComponent({ roomId: 'r' }, { type: 'file' }), { code: 'node_unreachable' });
    await flushNetwork();
    t.mock.timers.tick(25_000);
    await never;
  });
});

describe('node loss and partition', () => {
  test('rooms of a lost node leave the directory and are reported to the remaining nodes', async () => {
    const { network, a, b, c } = await connected(3);
    await c.local.createRoom({ roomId: 'gone' });
    await flushNetwork();
    network.kill('svc@c');
    for (const node of [a, b]) {
      assert.deepEqual(fieldsOf(node.lost, 'id'), ['gone']);
      assert.equal(node.directory.size, 0);
      assert.equal(node.members.get('svc@c'), undefined);
    }
    assert.equal((await a.cluster.rooms.createRoom({ roomId: 'gone' })).created, true);
  });

  test('every node remembers deleted rooms, also one that joins later, so that access tokens of them stay revoked', async () => {
    const { network, a, b, c } = await connected(3);
    await b.local.createRoom({ roomId: 'gone' });
    await flushNetwork();
    await c.run.deleteRoom({ roomId: 'gone' });
    await flushNetwork();
    const joining = makeNode(network, 'svc@joining');
    network.connectAll();
    await flushNetwork();
    for (const { local } of [a, b, c, joining])
      assert.deepEqual([local.revoked.includes('gone', 0), local.revoked.includes('gone', Date.now() + 1_000)], [true, false]);
  });

  test('names reserved by a lost node are free', async () => {
    const { network, a, b, c } = await connected(3);
    // c reserves the name at the arbiter a, and is lost before it has created the room.
    assert.deepEqual(await c.links.call('svc@a', 'reserve', { names: [{ space: 'id', name: 'x' }], ticket: 't' }, 1000), { ok: true });
    await assert.rejects(b.cluster.rooms.createRoom({ roomId: 'x' }), { code: 'already_exists' });
    network.kill('svc@c');
    assert.equal((await b.cluster.rooms.createRoom({ roomId: 'x' })).created, true);
    await flushNetwork();
    assert.notEqual(a.locator.ownerOf('x'), undefined);
  });

  test('after a partition with a duplicate room id every node keeps the older room', async () => {
    const { network, a, b, c } = await connected(3);
    network.cut('svc@a', 'svc@c');
    network.cut('svc@b', 'svc@c');
    const older = await c.cluster.rooms.createRoom({ roomId: 'twice' });
    const younger = await a.cluster.rooms.createRoom({ roomId: 'twice' });
    assert.ok(older.room.incarnation < younger.room.incarnation);
    network.connectAll();
    await flushNetwork();
    for (const node of [a, b, c]) {
      assert.equal(node.locator.ownerOf('twice'), 'svc@c');
      assert.equal((await node.run.getRoom({ roomId: 'twice' })).incarnation, older.room.incarnation);
    }
    const ended = [...a.events, ...b.events].filter((event) => event.type === 'RoomDeleted');
    assert.deepEqual(fieldsOf(ended, 'reason'), ['duplicate']);
  });

  test('a recreated room is found at its new node although the end of the previous one is not announced yet', async () => {
    const { nodes, a, b, c } = await connected(3);
    await b.local.createRoom({ roomId: 'again', externalId: 'old' });
    await flushNetwork();
    // Messages of b reach c late.
    const late = Promise.withResolvers<void>();
    const cast = b.links.cast.bind(b.links);
    const call = c.links.call.bind(c.links);
    b.links.cast = (node, method, data) =>
      node === c.name ? void late.promise.then(() => cast(node, method, data)) : cast(node, method, data);
    c.links.call = async (node, ...rest) => (node === b.name ? late.promise.then(() => call(node, ...rest)) : call(node, ...rest));
    await a.run.deleteRoom({ roomId: 'again' });
    await flushNetwork();
    for (const { load } of [a, b]) load.accepting = false;
    const made = await a.cluster.rooms.createRoom({ roomId: 'again', externalId: 'new' });
    await flushNetwork();
    late.resolve();
    await flushNetwork();
    assert.equal(c.local.find('again')?.incarnation, made.room.incarnation);
    for (const node of nodes) {
      assert.equal(node.locator.ownerOf('again'), c.name);
      assert.equal(node.directory.findByExternalId('new')?.incarnation, made.room.incarnation);
    }
    await a.run.deleteRoom({ roomId: 'again' });
    await flushNetwork();
    assert.deepEqual(
      nodes.map(({ directory }) => directory.size),
      [0, 0, 0],
    );
  });

  test('a node that joins late receives all rooms', async () => {
    const { network, nodes } = makeCluster(2);
    const [a, b] = nodes;
    network.cut('svc@a', 'svc@b');
    for (let index = 0; index < 10; index += 1) await a?.local.createRoom({ roomId: `r${index}` });
    await a?.local.deleteRoom('r3');
    network.connectAll();
    await flushNetwork();
    assert.equal(b?.directory.ownedBy('svc@a').length, 9);
    assert.deepEqual(b?.members.get('svc@a')?.address, 'a.test');
  });

  test('invalid messages change nothing', async () => {
    const { a, b } = await connected(2);
    for (const method of ['hello', 'rooms', 'state', 'release', 'nothing']) b.links.cast('svc@a', method, { rooms: 7 });
    for (const method of ['reserve', 'room.createRoom', 'room.nothing', 'room.constructor']) {
      await assert.rejects(b.links.call('svc@a', method, { names: 7 }, 1000));
    }
    await flushNetwork();
    assert.equal((await a.cluster.rooms.createRoom({ roomId: 'fine' })).created, true);
  });
});

test('remaining nodes know the connected peers of a lost node, also nodes that joined later', async () => {
  const { network, nodes } = makeCluster(2);
  const [a, b] = nodes as [TestNode, TestNode];
  await a.local.createRoom({ roomId: 'room' });
  await joinPeer(a.local, 'room', 'stays');
  const left = await joinPeer(a.local, 'room', 'left');
  await a.local.addPeer('room', { type: 'webrtc', peerId: 'absent' });
  left.peer.disconnect();
  await flushNetwork();
  const later = makeNode(network, 'svc@later');
  network.connectAll();
  await flushNetwork();
  network.kill('svc@a');
  await flushNetwork();
  for (const { lost } of [b, later]) assert.deepEqual(fieldsOf(lost, 'id', 'connected'), [['room', ['stays']]]);
});

test('every node reports why a room ended until its id is reused, and a lost room as not found', async () => {
  const { network, nodes } = makeCluster(3);
  const [a, b, c] = nodes as [TestNode, TestNode, TestNode];
  await a.local.createRoom({ roomId: 'room' });
  await a.local.createRoom({ roomId: 'other' });
  await flushNetwork();
  await b.run.deleteRoom({ roomId: 'room' });
  a.media.room('other').crash('worker died');
  await flushNetwork();
  for (const node of [a, b, c]) {
    await assert.rejects(node.run.getRoom({ roomId: 'room' }), { code: 'room_ended', reason: 'deleted' });
    await assert.rejects(node.run.addPeer({ roomId: 'other' }, { type: 'webrtc' }), { code: 'room_ended', reason: 'crashed' });
  }
  await b.local.createRoom({ roomId: 'room' });
  await flushNetwork();
  assert.equal((await c.run.getRoom({ roomId: 'room' })).id, 'room');
  network.kill('svc@b');
  await flushNetwork();
  await assert.rejects(c.run.getRoom({ roomId: 'room' }), { code: 'room_not_found' });
});
