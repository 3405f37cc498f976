// Whole node with real media workers: REST, peer websockets, notification socket and metrics.
import assert from 'node:assert/strict';
import { describe, type TestContext, test } from 'node:test';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { type StartedNode, startNode, wholeRooms } from '../kit/processes/start-node.ts';
import { opusParameters, videoParameters } from './kit.ts';

type Joined = { socket: PeerSocket; peerId: string; send: string };

async function addPeer(api: ApiClient, roomId: string, options: object = {}): Promise<{ peerId: string; token: string }> {
  const { status, body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc', ...options });
  assert.equal(status, 201);
  return { peerId: body.data.peer.id, token: body.data.token };
}

async function enter(t: TestContext, node: StartedNode, token: string, more: Record<string, unknown> = {}): Promise<Joined> {
  const socket = await PeerSocket.enter(node.peerSocketUrl, token, more);
  t.after(() => socket.webSocket.terminate());
  assert.equal(socket.welcome.ok, true, JSON.stringify(socket.welcome));
  const send = await socket.request('createTransport', { direction: 'send' });
  await socket.request('createTransport', { direction: 'recv' });
  await socket.request('join', { rtpCapabilities: socket.welcome.data?.rtpCapabilities });
  return { socket, peerId: String(socket.welcome.data?.peerId), send: String(send.data?.id) };
}

async function join(t: TestContext, node: StartedNode, api: ApiClient, roomId: string, options: object = {}): Promise<Joined> {
  const { token } = await addPeer(api, roomId, options);
  return enter(t, node, token);
}

function publication(peer: Joined, kind: 'audio' | 'video', key: string | undefined): Record<string, unknown> {
  const rtpParameters = kind === 'audio' ? opusParameters('0') : videoParameters('1', 'VP8', true);
  return { transportId: peer.send, kind, rtpParameters, key };
}

async function publish(peer: Joined, kind: 'audio' | 'video', key?: string): Promise<string> {
  const { ok, data, error } = await peer.socket.request('publish', publication(peer, kind, key));
  assert.ok(ok, error?.message);
  return String(data?.trackId);
}

/** All room events of the node, from the notification socket. */
async function watch(t: TestContext, node: StartedNode): Promise<() => string[]> {
  const socket = await watchEvents(t, node);
  return () =>
    socket.events('roomEvent').map(({ data }) => (data.peerId === undefined ? String(data.type) : `${data.type}:${data.peerId}`));
}

describe('a room of two', () => {
  test('goes through its life with every event once and in order', async (t) => {
    const node = await startNode(t);
    const { api } = node;
    const events = await watch(t, node);
    await api.post('/room', { roomId: 'r' });
    const alice = await join(t, node, api, 'r', { peerId: 'alice', metadata: { name: 'Alice' } });
    const bob = await join(t, node, api, 'r', { peerId: 'bob' });
    const video = await publish(alice, 'video');
    const subscribed = await bob.socket.waitFor('trackSubscribed', ({ trackId }) => trackId === video);
    assert.equal(subscribed.kind, 'video');
    assert.equal((await bob.socket.request('trackReady', { trackId: video })).ok, true);
    const { body } = await api.get('/room/r');
    assert.deepEqual(
      body.data.peers.map((peer: { id: string; status: string; tracks: unknown[] }) => [peer.id, peer.status, peer.tracks.length]),
      [
        ['alice', 'connected', 1],
        ['bob', 'connected', 0],
      ],
    );
    assert.deepEqual(body.data.peers[0].tracks[0], {
      id: video,
      type: 'video',
      metadata: null,
      encoding: 'vp8',
      simulcast: true,
      paused: false,
      muted: false,
      encrypted: false,
    });
    await alice.socket.request('leave');
    assert.deepEqual(await alice.socket.closed, { code: 1000, reason: 'Peer left' });
    await bob.socket.waitFor('peerLeft');
    assert.equal((await api.delete('/room/r')).status, 204);
    assert.deepEqual(await bob.socket.closed, { code: 1000, reason: 'Room stopped' });
    await eventually('RoomDeleted', () => events().includes('RoomDeleted'));
    assert.deepEqual(events(), [
      'RoomCreated',
      'PeerAdded:alice',
      'PeerConnected:alice',
      'PeerAdded:bob',
      'PeerConnected:bob',
      'TrackAdded:alice',
      'TrackRemoved:alice',
      'PeerDisconnected:alice',
      'PeerDeleted:alice',
      'PeerDisconnected:bob',
      'PeerDeleted:bob',
      'RoomDeleted',
    ]);
    assert.equal((await api.get('/room/r')).body.code, 'room_ended');
  });

  test('a peer reconnects with its token, and a connected peer is only replaced with takeover', async (t) => {
    const node = await startNode(t);
    const { api } = node;
    await api.post('/room', { roomId: 'r' });
    const { token } = await addPeer(api, 'r', { peerId: 'alice' });
    const first = await enter(t, node, token);
    const second = await PeerSocket.enter(node.peerSocketUrl, token);
    assert.equal(second.welcome.ok, false);
    assert.equal((await second.closed).code, 4401);
    const third = await enter(t, node, token, { takeover: true });
    assert.equal((await first.socket.closed).code, 4409);
    await third.socket.request('leave');
    await third.socket.closed;
    const fourth = await enter(t, node, token);
    assert.equal((await api.get('/room/r/peer/alice')).body.data.peer.status, 'connected');
    assert.equal((await api.delete('/room/r/peer/alice')).status, 204);
    assert.deepEqual(await fourth.socket.closed, { code: 1000, reason: 'Peer removed' });
  });

  test('permissions and moderation apply to a running session', async (t) => {
    const node = await startNode(t);
    const { api } = node;
    await api.post('/room', { roomId: 'r' });
    const alice = await join(t, node, api, 'r', { peerId: 'alice' });
    const bob = await join(t, node, api, 'r', { peerId: 'bob' });
    const audio = await publish(alice, 'audio');
    await bob.socket.waitFor('trackSubscribed');
    assert.equal((await api.post(`/room/r/track/${audio}/mute`)).status, 204);
    for (const { socket } of [alice, bob]) assert.equal((await socket.waitFor('trackPaused')).by, 'server');
    assert.equal((await api.get('/room/r')).body.data.peers[0].tracks[0].muted, true);
    assert.equal((await api.post(`/room/r/track/${audio}/unmute`)).status, 204);
    assert.equal((await bob.socket.waitFor('trackResumed')).trackId, audio);
    assert.equal((await api.patch('/room/r/peer/alice', { permissions: { publish: [], data: false } })).status, 200);
    assert.equal((await alice.socket.waitFor('trackRemoved')).trackId, audio);
    const refused = await alice.socket.request('publish', { transportId: alice.send, kind: 'audio', rtpParameters: opusParameters('5') });
    assert.equal(refused.error?.code, 'forbidden');
    assert.equal((await alice.socket.request('sendData', { label: 'x', payload: 1 })).error?.code, 'forbidden');
    assert.equal((await api.patch('/room/r/peer/alice', { permissions: { publish: ['audio'], data: true } })).status, 200);
    const again = await alice.socket.request('publish', { transportId: alice.send, kind: 'audio', rtpParameters: opusParameters('6') });
    assert.equal(again.ok, true, again.error?.message);
    assert.equal((await api.delete(`/room/r/track/${again.data?.trackId}`)).status, 204);
    await bob.socket.waitFor('trackRemoved', ({ trackId }) => trackId === again.data?.trackId);
    assert.equal((await api.post('/room/r/data', { label: 'notice', payload: { n: 1 }, to: ['bob'] })).status, 202);
    assert.deepEqual(await bob.socket.waitFor('data'), { from: null, label: 'notice', payload: { n: 1 } });
  });

  test('a lost socket keeps its tracks for the resume window; afterwards they are removed, while peer and moderation stay', async (t) => {
    const node = await startNode(t, { SVC_PEER_RESUME_WINDOW: '5' });
    const { api } = node;
    const events = await watch(t, node);
    await api.post('/room', { roomId: 'r' });
    const alice = await join(t, node, api, 'r', { peerId: 'alice' });
    const bob = await join(t, node, api, 'r', { peerId: 'bob' });
    const video = await publish(alice, 'video', 'camera');
    const audio = await publish(alice, 'audio', 'microphone');
    const { token } = (await api.post('/room/r/peer/alice/token')).body.data;
    alice.socket.webSocket.terminate();
    await alice.socket.closed;
    const welcome = alice.socket.frames[0] as { data: { sessionId: string } };
    const resumed = await PeerSocket.enter(node.peerSocketUrl, token, { resume: welcome.data.sessionId });
    assert.equal(resumed.welcome.data?.resumed, true);
    assert.deepEqual(bob.socket.events('trackRemoved'), []);
    assert.equal((await api.post(`/room/r/track/${video}/mute`)).status, 204);
    assert.equal((await api.delete(`/room/r/track/${audio}`)).status, 204);
    resumed.webSocket.terminate();
    await bob.socket.waitFor('trackRemoved', ({ trackId }) => trackId === video);
    await eventually('PeerDisconnected', () => events().includes('PeerDisconnected:alice'));
    assert.equal((await api.get('/room/r/peer/alice')).body.data.peer.status, 'disconnected');
    const again = await enter(t, node, token);
    const ask = (kind: 'audio' | 'video', key: string) => again.socket.request('publish', publication(again, kind, key));
    assert.equal((await ask('audio', 'microphone')).error?.message, `Track ${audio} was removed by the server`);
    const { data } = await ask('video', 'camera');
    assert.equal(data?.muted, true);
    const seen = await bob.socket.waitFor('trackAdded', ({ track }) => (track as { id: string }).id === data?.trackId);
    assert.equal((seen.track as { muted: boolean }).muted, true);
    assert.equal((await api.get('/room/r/peer/alice')).body.data.peer.tracks[0].muted, true);
    assert.equal((await api.post(`/room/r/track/${data?.trackId}/unmute`)).status, 204);
    assert.equal((await again.socket.waitFor('trackResumed')).by, 'server');
  });
});

describe('timeouts', () => {
  test('apply to a disconnected peer and to a room without peers', async (t) => {
    const node = await startNode(t);
    const { api } = node;
    const events = await watch(t, node);
    await api.post('/room', { roomId: 'r', peerDisconnectedTimeout: 5, peerlessPurgeTimeout: 7 });
    const alice = await join(t, node, api, 'r', { peerId: 'alice' });
    await addPeer(api, 'r', { peerId: 'never' });
    await eventually('the peer that never connected', () => events().includes('PeerDeleted:never'));
    await alice.socket.request('leave');
    await eventually('the end of the room', () => events().includes('RoomDeleted'));
    assert.deepEqual(events().slice(-3), ['PeerDisconnected:alice', 'PeerDeleted:alice', 'RoomDeleted']);
  });
});

describe('asking twice', () => {
  test('the same externalId, in sequence and twenty times at once, creates one room and one peer', async (t) => {
    const { api } = await startNode(t);
    assert.equal((await api.post('/room', { externalId: 'x' })).status, 201);
    const again = await api.post('/room', { externalId: 'x' });
    assert.equal(again.status, 200);
    const answers = await Promise.all(Array.from({ length: 20 }, () => api.post('/room', { externalId: 'y' })));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [...Array.from({ length: 19 }, () => 200), 201]);
    const roomId = answers[0]?.body.data.room.id;
    const peers = await Promise.all(
      Array.from({ length: 20 }, () => api.post(`/room/${roomId}/peer`, { type: 'webrtc', externalId: 'y/a' })),
    );
    assert.deepEqual(peers.map(({ status }) => status).sort(), [...Array.from({ length: 19 }, () => 200), 201]);
    assert.equal(new Set(peers.map(({ body }) => body.data.peer.id)).size, 1);
    assert.equal((await api.get('/room')).body.data.length, 2);
  });
});

describe('a media worker killed with -9', () => {
  test('ends only its rooms with RoomCrashed, and is restarted', async (t) => {
    const node = await startNode(t, { ...wholeRooms, SVC_WEBRTC_WORKERS: '2' });
    const { api } = node;
    const events = await watch(t, node);
    for (const roomId of ['one', 'two']) await api.post('/room', { roomId });
    const [one, two] = [await join(t, node, api, 'one', { peerId: 'a' }), await join(t, node, api, 'two', { peerId: 'b' })];
    const before = node.node.parts.media.workers();
    assert.deepEqual(
      before.map(({ rooms }) => rooms),
      [1, 1],
    );
    process.kill(before[0]?.pid ?? 0, 'SIGKILL');
    const closed = await Promise.race([
      one.socket.closed.then((closing) => ({ closing, lives: two })),
      two.socket.closed.then((closing) => ({ closing, lives: one })),
    ]);
    assert.deepEqual(closed.closing, { code: 1011, reason: 'Internal server error' });
    await eventually('RoomCrashed', () => events().includes('RoomCrashed'));
    assert.equal(events().filter((kind) => kind.startsWith('PeerDisconnected')).length, 1);
    assert.equal((await closed.lives.socket.request('ping')).ok, true);
    await publish(closed.lives, 'video');
    await eventually('the worker', () =>
      node.node.parts.media.workers().every(({ pid, state }) => state === 'running' && pid !== before[0]?.pid),
    );
    await api.post('/room', { roomId: 'three' });
    await publish(await join(t, node, api, 'three'), 'audio');
    assert.equal(node.node.parts.media.workers().filter(({ rooms }) => rooms === 1).length, 2);
  });
});

describe('metrics', () => {
  test('are current at the moment of the scrape', async (t) => {
    const node = await startNode(t);
    const { api } = node;
    const scrape = async (name: string) => new RegExp(`^${name} (\\S+)$`, 'm').exec(await (await fetch(node.metricsUrl)).text())?.[1];
    await api.post('/room', { roomId: 'r' });
    const alice = await join(t, node, api, 'r');
    const bob = await join(t, node, api, 'r');
    await publish(alice, 'video');
    await bob.socket.waitFor('trackSubscribed');
    assert.deepEqual(await Promise.all(['svc_rooms', 'svc_peers', 'svc_tracks\\{kind="video"\\}', 'svc_forwarded_tracks'].map(scrape)), [
      '1',
      '2',
      '1',
      '1',
    ]);
    await api.delete('/room/r');
    assert.deepEqual(await Promise.all(['svc_rooms', 'svc_peers', 'svc_tracks\\{kind="video"\\}', 'svc_forwarded_tracks'].map(scrape)), [
      '0',
      '0',
      '0',
      '0',
    ]);
  });
});
