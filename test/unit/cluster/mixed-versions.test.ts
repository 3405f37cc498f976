// Clusters of two versions during an upgrade: each side requests and serves RPCs as nodes of 0.7 do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Operation } from '../../../api/core/operation.ts';
import { ServiceError } from '../../../api/errors.ts';
import type { DrainView } from '../../../api/node.ts';
import { type CreatedRoom, nodeRpcs } from '../../../api/operations/node-rpcs.ts';
import { operations } from '../../../api/operations/table.ts';
import type { RoomView } from '../../../api/room.ts';
import type { Handler } from '../../../node/rooms/services/operations.ts';
import { flushNetwork, makeNode } from '../../kit/fakes/cluster.ts';
import { makeDispatcher, makeRouter } from '../../kit/fakes/dispatcher.ts';
import { FakeNetwork } from '../../kit/fakes/fake-links.ts';

const config = {
  roomId: 'r',
  maxPeers: null,
  videoCodec: null,
  webhookUrl: null,
  metadata: null,
  admission: 'automatic' as const,
  peerlessPurgeTimeout: null,
  peerDisconnectedTimeout: null,
};
const room: RoomView = { id: 'r', incarnation: 'i', externalId: null, config, components: [], peers: [], legs: [] };
const permissions = { publish: ['audio' as const], subscribe: true, data: false };
const oldPeer = {
  id: 'p',
  type: 'webrtc' as const,
  externalId: null,
  status: 'connected' as const,
  metadata: null,
  permissions,
  tracks: [],
};
const peer = { ...oldPeer, attributes: {}, hidden: false, admitted: true };
const address = 'b.test/eu';
const url = `${address}/socket/peer/websocket`;
const component = { id: 'c', type: 'file' as const, externalId: null, properties: {}, tracks: [] };
const call = { id: 'k', phoneNumber: '1', direction: 'outgoing' as const, state: 'calling' as const };
const drain: DrainView = { state: 'accepting', deadline: null, defaultDeadline: 60, rooms: 1, roomsWithPeers: 0, connectedPeers: 0 };
const stats = { roomId: 'r', time: '2026-11-25T00:00:00.000Z', peers: [], components: [] };
const [r, p, t, c] = [{ roomId: 'r' }, { roomId: 'r', peerId: 'p' }, { roomId: 'r', trackId: 't' }, { roomId: 'r', componentId: 'c' }];
const node = { nodeName: 'svc@b' };

type Side = { params: Record<string, string>; body?: unknown; result: unknown };
/** Operation of this version; method, arguments and result of 0.7. */
const rows: readonly [id: keyof typeof operations, side: Side, method: string, args: unknown, result: unknown][] = [
  ['getRoom', { params: r, result: room }, 'room.getRoom', ['r'], room],
  ['getRoomStats', { params: r, result: stats }, 'room.getRoomStats', ['r'], stats],
  ['updateRoom', { params: r, body: { maxPeers: 3 }, result: room }, 'room.patchRoom', ['r', { maxPeers: 3 }], room],
  ['deleteRoom', { params: r, result: undefined }, 'room.deleteRoom', ['r'], null],
  [
    'addPeer',
    { params: r, body: { type: 'webrtc' }, result: { created: true, data: { peer, token: 'x', peer_websocket_url: url } } },
    'room.addPeer',
    ['r', { type: 'webrtc' }],
    { created: true, peer, token: 'x', address },
  ],
  ['getPeer', { params: p, result: { peer, peer_websocket_url: url } }, 'room.getPeer', ['r', 'p'], { peer, address }],
  [
    'updatePeer',
    { params: p, body: { permissions: { data: false } }, result: { peer, peer_websocket_url: url } },
    'room.patchPeer',
    ['r', 'p', { permissions: { data: false } }],
    { peer, address },
  ],
  ['deletePeer', { params: p, result: undefined }, 'room.deletePeer', ['r', 'p'], null],
  ['renewPeerToken', { params: p, result: { token: 'x' } }, 'room.renewPeerToken', ['r', 'p'], 'x'],
  ['deleteTrack', { params: t, result: undefined }, 'room.removeTrack', ['r', 't'], null],
  ['muteTrack', { params: t, result: undefined }, 'room.setTrackMuted', ['r', 't', true], null],
  ['unmuteTrack', { params: t, result: undefined }, 'room.setTrackMuted', ['r', 't', false], null],
  [
    'sendData',
    { params: r, body: { label: 'l', payload: 1 }, result: undefined },
    'room.sendData',
    ['r', { label: 'l', payload: 1 }],
    null,
  ],
  [
    'addComponent',
    { params: r, body: { type: 'file' }, result: { created: false, data: component } },
    'room.addComponent',
    ['r', { type: 'file' }],
    { created: false, component },
  ],
  ['getComponent', { params: c, result: component }, 'room.getComponent', ['r', 'c'], component],
  ['deleteComponent', { params: c, result: undefined }, 'room.deleteComponent', ['r', 'c'], null],
  ['subscribeComponent', { params: c, body: { origins: ['p'] }, result: undefined }, 'room.subscribeComponent', ['r', 'c', ['p']], null],
  ['startCall', { params: c, body: { phoneNumber: '1' }, result: call }, 'room.startCall', ['r', 'c', { phoneNumber: '1' }], call],
  ['endCalls', { params: c, result: undefined }, 'room.endCalls', ['r', 'c', null], null],
  ['endCall', { params: { ...c, callId: 'k' }, result: undefined }, 'room.endCalls', ['r', 'c', 'k'], null],
  [
    'sendDigits',
    { params: { ...c, callId: 'k' }, body: { digits: '1' }, result: undefined },
    'room.sendDigits',
    ['r', 'c', 'k', '1'],
    null,
  ],
  ['getDrain', { params: node, result: drain }, 'drainView', null, drain],
  ['drainNode', { params: node, body: { deadline: 7 }, result: undefined }, 'drain', { deadline: 7 }, null],
  ['cancelDrain', { params: node, result: undefined }, 'cancelDrain', null, null],
];

for (const [id, { params, body, result }, method, args, oldResult] of rows) {
  const operation: Operation = operations[id] as Operation;

  test(`${id} is requested from a node of 0.7 as ${method}`, async () => {
    const network = new FakeNetwork();
    const router = makeRouter(makeDispatcher({ links: network.join('svc@a'), members: { get: () => ({ rpc: 1 }) } }), 'svc@b');
    const asked: unknown[] = [];
    network.join('svc@b').handle({
      call: async (_from, ...request) => {
        asked.push(request);
        return oldResult;
      },
      cast: () => {},
    });
    network.connectAll();
    assert.deepEqual(await router.run(operation, { params, body, query: undefined }), result);
    assert.deepEqual(asked, [[method, args]]);
  });

  test(`${method} of a node of 0.7 is ${id}`, async () => {
    const network = new FakeNetwork();
    const served: unknown[] = [];
    const handle: Handler<Operation> = (input) => {
      served.push({ params: input.params, body: input.body });
      return result;
    };
    makeDispatcher({ links: network.join('svc@b') }).serve(operations as Record<string, Operation>, { [id]: handle });
    const old = network.join('svc@old');
    network.connectAll();
    assert.deepEqual(await old.call('svc@b', method, args, 1_000), oldResult);
    assert.deepEqual(served, [{ params, body }]);
    if (Array.isArray(args)) await assert.rejects(old.call('svc@b', method, [], 1_000), { code: 'bad_request' });
  });
}

test('a room of a node of 0.7 gets the defaults of later fields', () => {
  const { metadata: _, ...oldConfig } = config;
  assert.deepEqual(operations.getRoom.result.parse({ ...room, config: oldConfig, peers: [oldPeer] }), { ...room, peers: [peer] });
});

test('an operation that 0.7 does not have is rejected by a node of 0.7, not sent under another name', async () => {
  const network = new FakeNetwork();
  const router = makeRouter(makeDispatcher({ links: network.join('svc@a'), members: { get: () => ({ rpc: 1 }) } }), 'svc@b');
  network.join('svc@b').handle({ call: (_from, method) => Promise.reject(new ServiceError('bad_request', method)), cast: () => {} });
  network.connectAll();
  const added = { ...(operations.getRoom as Operation), id: 'addedLater' };
  await assert.rejects(router.run(added, { params: r, body: undefined, query: undefined }), { message: 'op.addedLater' });
});

test('a node of 0.7 creates, finds and uses a room of this version, and the reverse', async () => {
  const network = new FakeNetwork();
  const current = makeNode(network, 'svc@b');
  const old = network.join('svc@old');
  const asked: [method: string, data: unknown][] = [];
  const created: CreatedRoom = { created: true, room: { ...room, id: 'of-old' }, address: 'old.test' };
  const answers: Record<string, unknown> = {
    load: { forwardedTracks: 0, rooms: 0, cpu: 0, accepting: true, sent: {}, received: {} },
    'room.createRoom': created,
    'room.listRooms': { rooms: [created.room], incomplete: [] },
    'room.getRoom': created.room,
  };
  const hellos: unknown[] = [];
  old.handle({
    call: async (_from, method, data) => {
      asked.push([method, data]);
      return answers[method];
    },
    cast: (_from, method, data) => void (method === 'hello' && hellos.push(data)),
  });
  network.connectAll();
  const entry = { id: 'of-old', incarnation: 'i', externalId: null, webhookUrl: null, connected: [] };
  const hello = { internalAddress: 'old.test:8080', address: 'old.test', version: '0.7.0', tls: false, state: 'accepting' };
  old.cast('svc@b', 'hello', { ...hello, rooms: [entry] });
  await flushNetwork();
  assert.equal((hellos[0] as { rpc: number }).rpc, 2);
  const own = (await old.call('svc@b', 'room.createRoom', [{ roomId: 'new' }, null], 1_000)) as CreatedRoom;
  assert.deepEqual([own.created, own.room.id, own.address], [true, 'new', 'b.test']);
  assert.equal(((await old.call('svc@b', 'room.listRooms', [{ limit: 5 }], 1_000)) as { rooms: RoomView[] }).rooms[0]?.id, 'new');
  assert.equal(await old.call('svc@b', 'has', 'new', 1_000), true);
  assert.equal((await current.run.getRoom({ roomId: 'of-old' })).id, 'of-old');
  assert.deepEqual((await current.run.listRooms({}, undefined, {})).data.map(({ id }) => id).sort(), ['new', 'of-old']);
  current.load.accepting = false;
  assert.equal((await current.run.createRoom({}, { roomId: 'third' })).data.svc_address, 'old.test');
  const last = asked.find(([method]) => method === 'room.createRoom')?.[1] as [{ roomId: string }, { ticket: string }];
  assert.deepEqual([last.length, last[0], typeof last[1].ticket], [2, { roomId: 'third' }, 'string']);
  assert.ok(asked.every(([method]) => !method.startsWith('op.')));
});

test('operations and RPCs with one id have different methods', () => {
  assert.ok(Object.keys(nodeRpcs).some((id) => id in operations));
  const both = makeDispatcher();
  both.serve(operations, { deleteRecording: () => {} });
  both.serve(nodeRpcs, { deleteRecording: () => null });
  assert.throws(() => both.serve(nodeRpcs, { deleteRecording: () => null }), /two handlers of deleteRecording/);
});
