// Quotas of rooms, peers and tracks: exact for concurrent requests to any node.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiAnswer } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { opusParameters } from './kit.ts';

/** Number of responses by status and code. */
function tally(answers: readonly ApiAnswer[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { status, body } of answers) {
    const name = status < 300 ? `${status}` : `${status} ${body.code}`;
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

const fifty = <T>(ask: (index: number) => Promise<T>) => Promise.all(Array.from({ length: 50 }, (_, index) => ask(index)));

test('fifty concurrent requests create exactly SVC_MAX_ROOMS rooms, and an ended room frees its place', async (t) => {
  const { api, node, metricsUrl } = await startNode(t, { SVC_MAX_ROOMS: '10' });
  const answers = await fifty(() => api.post('/room', {}));
  assert.deepEqual(tally(answers), { 201: 10, '503 no_node_accepts_rooms': 40 });
  assert.equal(answers.find(({ status }) => status === 503)?.headers.get('retry-after'), '5');
  assert.equal(node.parts.rooms.size, 10);
  assert.match(await (await fetch(metricsUrl)).text(), /^svc_rooms_rejected_total 40$/m);
  const made = answers.find(({ status }) => status === 201);
  assert.equal((await api.delete(`/room/${made?.body.data.room.id}`)).status, 204);
  assert.deepEqual(tally([await api.post('/room', {}), await api.post('/room', {})]), { 201: 1, '503 no_node_accepts_rooms': 1 });
});

test('each of two nodes accepts rooms up to its limit, through any node', async (t) => {
  const { owner, nonOwner } = await startNodePair(t, { both: { SVC_MAX_ROOMS: '10' } });
  const apis = [owner, nonOwner].map(({ api }) => api);
  const ask = (index: number) => apis[index % 2]?.post('/room', {}) as Promise<ApiAnswer>;
  const answers = await fifty(ask);
  const made = () => answers.filter(({ status }) => status === 201).length;
  // A node that answered the load request late gets no room for five seconds.
  const more = async () => {
    if (made() < 20) answers.push(...(await fifty(ask)));
    return made() >= 20;
  };
  await eventually(() => `20 rooms exist, not ${made()}`, more, { every: 500 });
  assert.deepEqual(tally(answers), { 201: 20, '503 no_node_accepts_rooms': answers.length - 20 });
  assert.deepEqual([owner.node.parts.rooms.size, nonOwner.node.parts.rooms.size], [10, 10]);
});

test('fifty concurrent requests through two nodes create exactly maxPeers peers, which all connect', async (t) => {
  const { owner, nonOwner } = await startNodePair(t);
  const apis = [owner, nonOwner].map(({ api }) => api);
  await owner.node.parts.rooms.createRoom({ roomId: 'r', maxPeers: 10 });
  const answers = await fifty((index) => apis[index % 2]?.post('/room/r/peer', { type: 'webrtc' }) as Promise<ApiAnswer>);
  assert.deepEqual(tally(answers), { 201: 10, '503 room_full': 40 });
  const tokens = answers.filter(({ status }) => status === 201).map(({ body }) => body.data.token);
  const sockets = await Promise.all(tokens.map((token) => PeerSocket.enter(owner.peerSocketUrl, token)));
  t.after(() => Promise.all(sockets.map((socket) => socket.cut())));
  assert.equal(owner.node.parts.rooms.find('r')?.peers.connectedCount, 10);
  // The same externalId is the same peer, also if the room is full.
  const known = answers.find(({ status }) => status === 201)?.body.data.peer.id;
  assert.equal((await apis[1]?.delete(`/room/r/peer/${known}`))?.status, 204);
  const again = await fifty((index) => apis[index % 2]?.post('/room/r/peer', { type: 'webrtc', externalId: 'one' }) as Promise<ApiAnswer>);
  assert.deepEqual(tally(again), { 200: 49, 201: 1 });
});

test('fifty concurrent publications create exactly SVC_MAX_TRACKS_PER_PEER tracks', async (t) => {
  const { api, node, peerSocketUrl } = await startNode(t, { SVC_MAX_TRACKS_PER_PEER: '5', SVC_RATE_LIMIT_SOCKET: 'none' });
  await api.post('/room', { roomId: 'r' });
  const { body } = await api.post('/room/r/peer', { type: 'webrtc', peerId: 'p' });
  const socket = await PeerSocket.enter(peerSocketUrl, body.data.token);
  t.after(() => socket.cut());
  const transport = await socket.request('createTransport', { direction: 'send' });
  const peer = node.parts.rooms.findPeer('r', 'p');
  assert.ok(peer);
  // In parallel, which is impossible on one socket because its requests are queued.
  const results = await Promise.allSettled(
    Array.from({ length: 50 }, (_, index) =>
      peer.session.publications.publish({
        transportId: String(transport.data?.id),
        kind: 'audio',
        rtpParameters: opusParameters(String(index)),
        paused: false,
      }),
    ),
  );
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 5);
  assert.ok(results.every((result) => result.status === 'fulfilled' || result.reason.code === 'tracks_full'));
  const next = { transportId: transport.data?.id, kind: 'audio', rtpParameters: opusParameters('50') };
  const pipelined = await Promise.all([1, 2, 3].map(() => socket.answer(socket.post('publish', next))));
  assert.deepEqual(
    pipelined.map(({ error }) => error?.code),
    ['tracks_full', 'tracks_full', 'tracks_full'],
  );
  assert.equal((await api.get('/room/r')).body.data.peers[0].tracks.length, 5);
});
