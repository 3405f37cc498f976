// Metrics of a running node: current at the scrape, exact traffic counters, and valid for Prometheus.
import assert from 'node:assert/strict';
import { connect, type Socket } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { scrape } from '../kit/fakes/metrics.ts';
import { socketClosed } from '../kit/network/listen.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { enterRoom } from '../kit/network/room-sockets.ts';
import { sendBytes } from '../kit/network/stun.ts';
import { runCommand } from '../kit/processes/command.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { type StartedNode, startNode, wholeRooms } from '../kit/processes/start-node.ts';
import { opusParameters } from './kit.ts';

/** Values of one room, in the order of the names. */
async function room(node: StartedNode, roomId: string): Promise<(number | undefined)[]> {
  const samples = await scrape(node.metricsUrl);
  const names = ['peers', 'peer_connects_total', 'peer_disconnects_total', 'peer_crashes_total'];
  return names.map((name) => samples.get(`svc_room_${name}{room_id="${roomId}"}`));
}

test('metrics of a room follow its peers at once and are zero after its end', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  assert.equal((await scrape(node.metricsUrl)).get('svc_cluster_nodes'), 1);
  await api.post('/room', { roomId: 'r' });
  assert.deepEqual(await room(node, 'r'), [0, 0, 0, 0]);
  const alice = await enterRoom(t, node, 'r');
  await enterRoom(t, node, 'r');
  assert.deepEqual(await room(node, 'r'), [2, 2, 0, 0]);
  const from = performance.now();
  const before = await scrape(node.metricsUrl);
  await alice.request('leave');
  await alice.closed;
  assert.deepEqual(await room(node, 'r'), [1, 2, 1, 0]);
  const after = await scrape(node.metricsUrl);
  const grown = (name: string) => (after.get(`${name}{room_id="r"}`) ?? 0) - (before.get(`${name}{room_id="r"}`) ?? 0);
  const atMost = (performance.now() - from) / 1000;
  assert.ok(grown('svc_room_duration_seconds') > 0 && grown('svc_room_duration_seconds') <= atMost);
  assert.ok(grown('svc_room_peer_time_total_seconds') > grown('svc_room_duration_seconds'));
  assert.ok(grown('svc_room_peer_time_total_seconds') <= 2 * atMost);
  await api.delete('/room/r');
  assert.deepEqual(await room(node, 'r'), [0, 0, 0, 0]);
  const samples = await scrape(node.metricsUrl);
  for (const name of ['svc_room_duration_seconds', 'svc_room_peer_time_total_seconds'])
    assert.equal(samples.get(`${name}{room_id="r"}`), 0);
});

test('HTTP and websocket traffic equals the count of the client, during connections and after them', async (t) => {
  const node = await startNode(t);
  const traffic = async () => {
    const samples = await scrape(node.metricsUrl);
    return [samples.get('svc_traffic_ingress_http_total_bytes'), samples.get('svc_traffic_egress_http_total_bytes')];
  };
  assert.deepEqual(await traffic(), [0, 0]);
  const client = connect(node.port, '127.0.0.1');
  client.write(`GET /health HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${node.token}\r\nconnection: close\r\n\r\n`);
  assert.match(await textOf(client), /^HTTP\/1\.1 200 /);
  const [sent, received] = [client.bytesWritten, client.bytesRead];
  assert.deepEqual(await traffic(), [sent, received]);
  const sockets: Socket[] = [];
  const createConnection = () => {
    const socket = connect(node.port, '127.0.0.1');
    sockets.push(socket);
    return socket;
  };
  const peer = await PeerSocket.open(node.peerSocketUrl, { createConnection });
  await peer.request('authenticate', { token: 'x'.repeat(1000) });
  await peer.closed;
  const [socket] = sockets;
  assert.ok(socket && socket.bytesWritten > 1000);
  await socketClosed(socket);
  assert.deepEqual(await traffic(), [sent + socket.bytesWritten, received + socket.bytesRead]);
});

test('WebRTC traffic is counted to the last byte, including closed peers and rooms', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  const traffic = async () => {
    const samples = await scrape(node.metricsUrl);
    return [samples.get('svc_traffic_ingress_webrtc_total_bytes'), samples.get('svc_traffic_egress_webrtc_total_bytes')];
  };
  assert.deepEqual(await traffic(), [0, 0]);
  await api.post('/room', { roomId: 'r' });
  const expected = [0, 0];
  const send = async (transport: unknown) => {
    expected[1] = (expected[1] ?? 0) + (await sendBytes(transport, 1000));
    expected[0] = (expected[0] ?? 0) + 1000;
  };
  const alice = await enterRoom(t, node, 'r');
  const first = (await alice.request('createTransport', { direction: 'send' })).data;
  await send(first);
  assert.deepEqual(await traffic(), expected);
  await send(first);
  const second = (await alice.request('createTransport', { direction: 'send' })).data;
  assert.deepEqual(await traffic(), expected, 'a transport that was replaced');
  await send(second);
  await alice.request('leave');
  await alice.closed;
  assert.deepEqual(await traffic(), expected, 'a peer that left');
  const bob = await enterRoom(t, node, 'r');
  await send((await bob.request('createTransport', { direction: 'recv' })).data);
  await api.delete('/room/r');
  assert.deepEqual(await traffic(), expected, 'a room that ended');
  assert.equal(expected[0], 4000);
});

test('a media worker crash is counted, and traffic counters do not decrease', async (t) => {
  const node = await startNode(t, wholeRooms);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const alice = await enterRoom(t, node, 'r');
  await sendBytes((await alice.request('createTransport', { direction: 'send' })).data, 500);
  const before = await scrape(node.metricsUrl);
  assert.equal(before.get('svc_traffic_ingress_webrtc_total_bytes'), 500);
  assert.equal(before.get('svc_workers'), 1);
  assert.equal(before.get('svc_worker_rooms{worker="0"}'), 1);
  assert.ok((before.get('svc_worker_resident_memory_bytes{worker="0"}') ?? 0) > 1_000_000);
  process.kill(node.node.parts.media.workers()[0]?.pid ?? 0, 'SIGKILL');
  await alice.closed;
  await eventually('the worker', () => node.node.parts.media.workers()[0]?.state === 'running');
  const after = await scrape(node.metricsUrl);
  assert.equal(after.get('svc_traffic_ingress_webrtc_total_bytes'), 500);
  assert.equal(after.get('svc_worker_restarts_total{worker="0"}'), 1);
  assert.equal(after.get('svc_rooms_crashed_total'), 1);
  assert.equal(after.get('svc_room_peers{room_id="r"}'), 0);
});

test('promtool check metrics accepts a scrape of a running node', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const alice = await enterRoom(t, node, 'r');
  const send = await alice.request('createTransport', { direction: 'send' });
  await alice.request('join', { rtpCapabilities: {} });
  await alice.request('publish', { transportId: send.data?.id, kind: 'audio', rtpParameters: opusParameters('0') });
  const text = await (await fetch(node.metricsUrl)).text();
  assert.match(text, /^svc_room_peers\{room_id="r"\} 1$/m);
  const { stderr } = await runCommand(['promtool', 'check', 'metrics'], { input: text });
  assert.equal(stderr, '');
});

test('the number of series stays bounded for any HTTP requests', async (t) => {
  const node = await startNode(t);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  const requests = (samples: Map<string, number>) =>
    [...samples.keys()].filter((name) => /^svc_http_request_duration_seconds_count/.test(name));
  const ask = (path: string) => fetch(`${node.url}${path}`, { headers: { authorization: `Bearer ${node.token}` } });
  for (let i = 0; i < 50; i += 1) await Promise.all([ask(`/unknown-${i}?${i}`), ask(`/room/room-${i}`), ask(`/room/r/peer/${i}`)]);
  const samples = await scrape(node.metricsUrl);
  assert.deepEqual(requests(samples).sort(), [
    'svc_http_request_duration_seconds_count{route="/room",method="POST",status="201"}',
    'svc_http_request_duration_seconds_count{route="/room/{roomId}",method="GET",status="404"}',
    'svc_http_request_duration_seconds_count{route="/room/{roomId}/peer/{peerId}",method="GET",status="404"}',
    'svc_http_request_duration_seconds_count{route="none",method="GET",status="404"}',
  ]);
  const labels = new Set([...samples.keys()].filter((name) => name.startsWith('svc_')).flatMap((name) => name.match(/\w+(?==")/g) ?? []));
  assert.deepEqual([...labels].sort(), ['kind', 'le', 'method', 'room_id', 'route', 'status', 'type', 'worker']);
});

test('nodes of a cluster count each other, and a room has its series on its owning node', async (t) => {
  const { owner, nonOwner } = await startNodePair(t);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const [here, there] = await Promise.all([scrape(owner.metricsUrl), scrape(nonOwner.metricsUrl)]);
  assert.deepEqual([here.get('svc_cluster_nodes'), there.get('svc_cluster_nodes')], [2, 2]);
  assert.deepEqual([here.get('svc_room_peers{room_id="r"}'), there.get('svc_room_peers{room_id="r"}')], [0, undefined]);
  await nonOwner.close();
  await eventually('the loss of the node', () => owner.node.parts.distribution.status.nodesInCluster === 1);
  assert.equal((await scrape(owner.metricsUrl)).get('svc_cluster_nodes'), 1);
});
