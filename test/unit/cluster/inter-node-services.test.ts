// Inter-node services of two nodes with only the public default cookie in common: sockets, files and events through both.

import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import type { RoomEvent } from '../../../api/events.ts';
import { proxiedHeader } from '../../../api/node.ts';
import { peerSocketPath } from '../../../api/peer.ts';
import { serverSocketPath } from '../../../api/socket/server.ts';
import type { NodeName } from '../../../node/cluster/cluster-transport.ts';
import { InterNodeServices } from '../../../node/cluster/inter-node-services.ts';
import type { Member } from '../../../node/cluster/nodes.ts';
import { EventLog } from '../../../node/events/event-log.ts';
import { ApiTokens } from '../../../node/rooms/tokens/api-tokens.ts';
import { PeerTokens } from '../../../node/rooms/tokens/peer-tokens.ts';
import { SignedCalls } from '../../../node/rooms/tokens/signed-calls.ts';
import { PeerSockets } from '../../../node/signaling/peer-sockets.ts';
import { ServerSockets } from '../../../node/signaling/server-sockets.ts';
import { flushNetwork } from '../../kit/fakes/cluster.ts';
import { makeDispatcher } from '../../kit/fakes/dispatcher.ts';
import { FakeNetwork } from '../../kit/fakes/fake-links.ts';
import { makeRooms } from '../../kit/fakes/rooms.ts';
import { makeContent, noRenders } from '../../kit/media/content.ts';
import { PeerSocket } from '../../kit/network/peer-socket.ts';
import { addFiles, makeResources } from '../../kit/processes/resources-folder.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { startServer, token } from '../http/server.ts';

const lostEntry = { externalId: null, webhookUrl: null, connected: ['p'] };

type Shared = { network: FakeNetwork; members: Map<NodeName, Member>; owner: NodeName };

async function startNode(t: TestContext, name: NodeName, { network, members, owner }: Shared) {
  const log = silentLog();
  const links = network.join(name);
  const { rooms } = makeRooms();
  const keys = new PeerTokens(['of all nodes']);
  const events = new EventLog(log, { node: name });
  const resources = await makeResources(t);
  const lostEvents: RoomEvent[] = [];
  const dispatcher = makeDispatcher({ links });
  const traffic = new InterNodeServices({
    links,
    dispatcher,
    log,
    events,
    content: makeContent(resources),
    renders: noRenders,
    secrets: [],
    cookie: 'svc_cookie',
    locator: { ownerOf: () => owner, locate: async () => owner },
    members,
    webhooks: { status: () => assert.fail(), deadLetters: () => assert.fail(), replay: () => assert.fail(), take: () => assert.fail() },
    onRoomLost: (event) => lostEvents.push(event),
  });
  links.listen({ up: (node) => traffic.nodeUp(node), down: (node) => traffic.nodeDown(node) });
  const common = { log, rateLimit: () => null, checkOrigin: () => 'any' as const, address: () => 'node.test/eu' };
  const peerSockets = new PeerSockets({
    ...common,
    findPeer: (roomId, peerId) => rooms.findPeer(roomId, peerId),
    whyMissing: (...who) => rooms.roomNotFoundError(...who),
    forward: traffic.forward,
    forwardedFor: traffic.forwardedFor,
    verifyToken: (each) => keys.verify(each),
    signToken: (claims) => keys.sign(claims),
    iceServers: () => [],
    resumeWindow: () => 10,
  });
  const apiTokens = new ApiTokens(() => [{ name: 'main', token: 'any', scope: 'admin' }]);
  const serverSockets = new ServerSockets({
    ...common,
    apiTokens,
    signedCalls: new SignedCalls({ tokens: apiTokens, address: () => 'node.test' }),
    events: traffic.events,
  });
  // Before the server closes, which waits for every socket.
  t.after(async () => {
    rooms.close('test over');
    traffic.events.close();
    await Promise.all([traffic.closeForwarding(), peerSockets.close(), serverSockets.close()]);
  });
  const { server, url } = await startServer(t, {
    host: () => 'node.test/eu',
    content: traffic.content,
    forwardedBy: traffic.forwardedBy,
    upgrade: (path) => {
      const door = path === peerSocketPath ? peerSockets : path === serverSocketPath ? serverSockets : undefined;
      return door && ((request, socket, head) => door.handleUpgrade(request, socket, head));
    },
  });
  members.set(name, {
    name,
    internalAddress: server.address,
    address: 'node.test/eu',
    version: '0',
    tls: false,
    state: 'accepting',
    rpc: 2,
  });
  return {
    name,
    url,
    rooms,
    keys,
    events,
    resources,
    traffic,
    lostEvents,
    socketUrl: (path: string) => `${url.replace('http', 'ws')}/eu${path}`,
  };
}

async function startPair(t: TestContext) {
  const shared: Shared = { network: new FakeNetwork(), members: new Map(), owner: 'svc@owner' };
  const owner = await startNode(t, 'svc@owner', shared);
  const other = await startNode(t, 'svc@other', shared);
  shared.network.connectAll();
  await flushNetwork();
  return { ...shared, owner, other };
}

test('a peer, a file and events of one node are available at the other', async (t) => {
  const { owner, other } = await startPair(t);
  await owner.rooms.createRoom({ roomId: 'r' });
  await owner.rooms.addPeer('r', { type: 'webrtc', peerId: 'p' });
  const peer = await PeerSocket.enter(other.socketUrl(peerSocketPath), await owner.keys.sign({ roomId: 'r', peerId: 'p' }));
  assert.equal(peer.welcome.data?.peerId, 'p');
  await addFiles(owner.resources, { 'hls/r/0.m4s': 'segment' });
  const file = await fetch(`${other.url}/eu/hls/r/0.m4s`, { headers: { authorization: `Bearer ${token}` } });
  assert.deepEqual([file.status, await file.text()], [200, 'segment']);
  const listener = await PeerSocket.enter(other.socketUrl(serverSocketPath), 'any');
  await listener.request('subscribe', { events: 'all' });
  owner.events.publish({
    id: 'e',
    type: 'RoomCreated',
    time: '2026-11-21T00:00:00.000Z',
    seq: 1,
    node: owner.name,
    incarnation: 'i',
    roomId: 'r',
  });
  await listener.waitFor('roomEvent', ({ id }) => id === 'e');
});

test('a client that missed events at one node receives them at another, and is notified of a lost node', async (t) => {
  const { network, owner, other } = await startPair(t);
  const say = (seq: number) =>
    owner.events.publish({
      id: `e${seq}`,
      type: 'PeerAdded',
      time: '2026-11-21T00:00:00.000Z',
      seq,
      node: owner.name,
      incarnation: 'i',
      roomId: 'r',
    });
  const first = await PeerSocket.enter(owner.socketUrl(serverSocketPath), 'any');
  const { cursor } = (await first.request('subscribe', { events: 'all' })).data as { cursor: Record<string, number> };
  say(1);
  await first.waitFor('roomEvent');
  await first.close();
  for (const seq of [2, 3, 4]) say(seq);
  await flushNetwork();
  const second = await PeerSocket.enter(other.socketUrl(serverSocketPath), 'any');
  const answer = await second.request('subscribe', { events: 'all', cursor: { ...cursor, [owner.events.source]: 1 } });
  assert.deepEqual(answer.data?.incomplete, []);
  say(5);
  await second.waitFor('roomEvent', ({ id }) => id === 'e5');
  assert.deepEqual(
    second.events('roomEvent').map(({ data }) => data.id),
    ['e2', 'e3', 'e4', 'e5'],
  );
  network.kill('svc@owner');
  other.traffic.roomsLost('svc@owner', [{ ...lostEntry, id: 'r', incarnation: 'i', owner: 'svc@owner' }]);
  const lost = await second.waitFor('roomEvent', ({ type }) => type === 'RoomCrashed');
  assert.deepEqual([lost.id, lost.reason, lost.seq], ['i-lost', 'node_lost', undefined]);
  const disconnected = second.events('roomEvent').filter(({ data }) => data.type === 'PeerDisconnected');
  assert.deepEqual(
    disconnected.map(({ data }) => [data.id, data.peerId]),
    [['i-lost-p', 'p']],
  );
  const { data } = await second.request('subscribe', { events: 'all', cursor: { [owner.events.source]: 5 } });
  assert.deepEqual(data?.incomplete, [owner.events.source]);
});

test('a token of a node that is not connected any more is rejected', async (t) => {
  const { network, owner, other } = await startPair(t);
  await addFiles(owner.resources, { 'hls/r/0.m4s': 'segment' });
  const ask = () => fetch(`${other.url}/hls/r/0.m4s`, { headers: { authorization: `Bearer ${token}` } });
  assert.equal((await ask()).status, 200);
  network.cut('svc@owner', 'svc@other');
  assert.equal((await ask()).status, 503);
  network.connect('svc@owner', 'svc@other');
  await flushNetwork();
  assert.equal((await ask()).status, 200);
  assert.equal((await fetch(`${owner.url}/hls/r/0.m4s`, { headers: { [proxiedHeader]: 'v1.e30.e30' } })).status, 401);
});

test('one node sends webhooks of rooms lost with a node, and the next one if that node is lost too', async (t) => {
  const shared: Shared = { network: new FakeNetwork(), members: new Map(), owner: 'svc@b' };
  const [a, b, c, d] = [
    await startNode(t, 'svc@a', shared),
    await startNode(t, 'svc@b', shared),
    await startNode(t, 'svc@c', shared),
    await startNode(t, 'svc@d', shared),
  ];
  shared.network.connectAll();
  await flushNetwork();
  const lose = (node: typeof a, other: typeof a) => {
    shared.network.cut(node.name, other.name);
    node.traffic.roomsLost(other.name, [{ ...lostEntry, id: `of-${other.name}`, incarnation: other.name, owner: other.name }]);
  };
  const lostIds = (node: typeof a) => node.lostEvents.map(({ id }) => id);
  // The host of a and b loses power, and the others notice that one after the other.
  lose(c, b);
  lose(d, b);
  assert.deepEqual([lostIds(c), lostIds(d)], [[], []], 'they still see a as connected, so a would send it');
  lose(d, a);
  lose(c, a);
  assert.deepEqual([lostIds(c), lostIds(d)], [['svc@b-lost-p', 'svc@b-lost', 'svc@a-lost-p', 'svc@a-lost'], []]);
});
