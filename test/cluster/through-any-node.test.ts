// Two nodes with real distribution: every feature works at the node that does not own the room.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { DisconnectReason, LeaveRequest_Action, Ping } from '@livekit/protocol';
import { accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import { LiveKitSocket } from '../kit/livekit/livekit-socket.ts';
import { receivingOffer } from '../kit/livekit/receiving-offer.ts';
import { obs } from '../kit/media/sdp-offers.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { enterRoom, watchEvents } from '../kit/network/room-sockets.ts';
import { type NodePair, startNodePair, waitForMesh } from '../kit/processes/node-pair.ts';
import { addFiles, makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { opusParameters } from '../media/kit.ts';

async function startPair(t: TestContext): Promise<NodePair & { resources: string }> {
  const resources = await makeResources(t);
  const pair = await startNodePair(t, { owner: { SVC_RESOURCES_BASE_PATH: resources } });
  await pair.owner.node.parts.rooms.createRoom({ roomId: 'r' });
  return { ...pair, resources };
}

test('REST, a peer websocket, the notification websocket and files are proxied by the other node', async (t) => {
  const { owner, nonOwner, api, resources } = await startPair(t);
  const events = await watchEvents(t, nonOwner);

  assert.equal((await api.get('/room/r')).body.data.id, 'r');
  assert.equal((await api.patch('/room/r', { maxPeers: 5 })).body.data.config.maxPeers, 5);
  const made = await api.post('/room/r/peer', { type: 'webrtc', peerId: 'alice' });
  assert.equal(made.status, 201);
  assert.equal(made.body.data.peer_websocket_url, `127.0.0.1:${owner.port}/socket/peer/websocket`);
  assert.deepEqual(
    (await api.get('/room')).body.data.map(({ id }: { id: string }) => id),
    ['r'],
  );

  const alice = await PeerSocket.enter(nonOwner.peerSocketUrl, made.body.data.token);
  t.after(() => alice.cut());
  assert.equal(alice.welcome.data?.roomId, 'r');
  assert.equal((await alice.request('createTransport', { direction: 'send' })).ok, true);
  assert.equal((await api.post('/room/r/data', { label: 'x', payload: 'hello', to: ['alice'] })).status, 202);
  assert.equal((await alice.waitFor('data')).payload, 'hello');
  assert.equal((await api.patch('/room/r/peer/alice', { permissions: { data: false } })).status, 200);
  await alice.waitFor('permissionsUpdated');
  assert.equal((await api.post('/room/r/peer/alice/token')).status, 201);
  assert.equal((await api.delete('/room/r/peer/alice')).status, 204);
  assert.deepEqual(await alice.closed, { code: 1000, reason: 'Peer removed' });

  await addFiles(resources, {
    'recordings/rec-1/index.m3u8': '#EXTM3U\n',
    'recordings/rec-1/report.json': '{"recording_id":"rec-1"}',
    'recordings/rec-1/a.webm': '0123456789',
  });
  const headers = { authorization: `Bearer ${apiToken}` };
  const playlist = await fetch(`${nonOwner.url}/recording/rec-1/index.m3u8`, { headers });
  assert.deepEqual([playlist.status, await playlist.text()], [200, '#EXTM3U\n']);
  const range = await fetch(`${nonOwner.url}/recording/rec-1/a.webm`, { headers: { ...headers, range: 'bytes=2-4' } });
  assert.deepEqual([range.status, await range.text()], [206, '234']);
  assert.deepEqual((await api.get('/recording')).body.data, ['rec-1']);
  assert.equal((await fetch(`${nonOwner.url}/recording/rec-1/a.webm`)).status, 401);

  assert.equal((await api.delete('/room/r')).status, 204);
  await events.waitFor('roomEvent', ({ type }) => type === 'RoomDeleted');
  assert.deepEqual(
    events.events('roomEvent').map(({ data }) => data.type),
    ['PeerAdded', 'PeerConnected', 'PeerDisconnected', 'PeerDeleted', 'RoomDeleted'],
  );
  assert.equal((await api.get('/room/r')).status, 404);
});

test('while one node forwards a track, new rooms are placed on the other', async (t) => {
  const { owner, nonOwner, api } = await startPair(t);
  const join = async (): Promise<{ socket: PeerSocket; send: string }> => {
    const socket = await enterRoom(t, { ...owner, api }, 'r');
    const send = await socket.request('createTransport', { direction: 'send' });
    await socket.request('createTransport', { direction: 'recv' });
    await socket.request('join', { rtpCapabilities: socket.welcome.data?.rtpCapabilities });
    return { socket, send: String(send.data?.id) };
  };
  const [publisher, receiver] = [await join(), await join()];
  await publisher.socket.request('publish', { transportId: publisher.send, kind: 'audio', rtpParameters: opusParameters('0') });
  await receiver.socket.waitFor('trackSubscribed');
  for (let index = 0; index < 6; index += 1) {
    const asked = (index % 2 === 0 ? owner : nonOwner).api;
    assert.equal((await asked.post('/room')).body.data.svc_address, `127.0.0.1:${nonOwner.port}`);
  }
});

test('a drain of another node is started over REST, and its peers are notified', async (t) => {
  const { owner, nonOwner, api } = await startPair(t);
  const alice = await enterRoom(t, nonOwner, 'r', { peerId: 'alice' });
  const drain = `/cluster/nodes/${owner.node.name}/drain`;
  const state = async () =>
    (await api.get('/cluster/nodes')).body.data.find(({ name }: { name: string }) => name === owner.node.name).state;
  assert.equal((await api.post(drain, { deadline: 600 })).status, 202);
  assert.match(String((await alice.waitFor('draining')).deadline), /^\d{4}-/);
  assert.equal(await state(), 'draining');
  for (let index = 0; index < 4; index += 1) assert.equal((await api.post('/room')).body.data.svc_address, `127.0.0.1:${nonOwner.port}`);
  assert.equal((await api.delete(drain)).status, 204);
  assert.equal((await alice.waitFor('draining', ({ deadline }) => deadline === null)).deadline, null);
  assert.equal(await state(), 'accepting');
  assert.equal((await api.post('/cluster/nodes/unknown@nowhere/drain')).status, 404);
});

/** A request of an encoder; a POST has the offer of OBS. */
function whip(url: string | undefined, method: 'POST' | 'DELETE', path: string, token: string): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/sdp' };
  return fetch(`${url}${path}`, { method, headers, ...(method === 'POST' && { body: obs }) });
}

test('of 100 simultaneous joins, and of 12 offers of encoders, with access tokens at three nodes one creates the room', async (t) => {
  const { owner, nonOwner, api } = await startNodePair(t, { both: { SVC_ACCESS_KEYS: accessKeysText } });
  const [name = '', host] = owner.node.name.split('@');
  const third = await startNode(t, {
    SVC_ACCESS_KEYS: accessKeysText,
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_NODE_NAME: `third-${name}@${host}`,
    SVC_DIST_NODES: owner.node.name,
  });
  const nodes = [owner, nonOwner, third];
  await waitForMesh(nodes.map((node) => node.api));
  const events = await watchEvents(t, third);
  const tokens = await Promise.all(
    Array.from({ length: 100 }, (_, index) => signAccessToken({ identity: `p${index}`, video: { roomCreate: true } })),
  );
  const sockets = await Promise.all(tokens.map((_, index) => PeerSocket.open(nodes[index % 3]?.peerSocketUrl ?? '')));
  t.after(() => Promise.all(sockets.map((socket) => socket.cut())));
  const answers = await Promise.all(sockets.map((socket, index) => socket.request('authenticate', { accessToken: tokens[index] })));
  assert.deepEqual(
    answers.flatMap(({ error }) => error ?? []),
    [],
  );
  assert.equal(new Set(answers.map(({ data }) => data?.incarnation)).size, 1);
  assert.equal((await api.get('/room/room')).body.data.peers.length, 100);
  assert.equal((await api.get('/room')).body.data.length, 1);
  await events.waitFor('roomEvent', ({ type, peerId }) => type === 'PeerConnected' && peerId === 'p99');
  assert.equal(events.events('roomEvent').filter(({ data }) => data.type === 'RoomCreated').length, 1);

  const encoders = Array.from({ length: 12 }, (_, index) => `e${index}`);
  const sign = (identity: string) => signAccessToken({ identity, room: 'studio', video: { roomCreate: true } });
  const offered = await Promise.all(
    encoders.map(async (identity, index) => whip(nodes[index % 3]?.url, 'POST', '/whip/studio', await sign(identity))),
  );
  assert.deepEqual(
    offered.map(({ status }) => status),
    encoders.map(() => 201),
  );
  const { peers } = (await api.get('/room/studio')).body.data as { peers: { id: string; status: string; tracks: unknown[] }[] };
  assert.deepEqual(peers.map(({ id }) => id).sort(), encoders.toSorted());
  assert.ok(peers.every(({ status, tracks }) => status === 'connected' && tracks.length === 2));
  assert.equal(events.events('roomEvent').filter(({ data }) => data.type === 'RoomCreated').length, 2);
  // The owning node ends the session, and a later session of an identity replaces its websocket at another node.
  const location = offered[0]?.headers.get('location') ?? '';
  for (const status of [200, 404]) assert.equal((await whip(nodes[1]?.url, 'DELETE', location, await sign('e0'))).status, status);
  const again = await signAccessToken({ identity: 'p0' });
  assert.equal((await whip(nodes[1]?.url, 'POST', '/whip/room', again)).status, 201);
  assert.deepEqual(await sockets[0]?.closed, { code: 4409, reason: 'Taken over by a newer socket' });
});

test('a LiveKit client joins at the node that does not own the room, and resumes its session when that node ends', async (t) => {
  const both = { SVC_ACCESS_KEYS: accessKeysText, SVC_LIVEKIT_ENABLED: 'true' };
  const { owner, nonOwner } = await startNodePair(t, { both });
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const token = await signAccessToken({ room: 'r', identity: 'ada' });
  for (const path of ['/rtc', '/rtc/v1'])
    assert.equal(await (await fetch(`${nonOwner.url}${path}/validate?access_token=${token}`)).text(), 'success', path);
  const ada = await LiveKitSocket.open(nonOwner.url, token);
  const { participant, room } = await ada.waitFor('join');
  assert.deepEqual([participant?.identity, room?.name], ['ada', 'r']);
  assert.match((await ada.waitFor('offer')).sdp, /^m=application /m);
  ada.send({ case: 'pingReq', value: new Ping() });
  await ada.waitFor('pongResp');
  assert.equal(owner.node.parts.rooms.findPeer('r', 'ada')?.connected, true);
  const bob = await signAccessToken({ room: 'r', identity: 'bob' });
  const single = await LiveKitSocket.openSingle(nonOwner.url, bob, { publisherOffer: receivingOffer(['audio']) });
  assert.equal((await single.waitFor('join')).subscriberPrimary, false);
  assert.match((await single.waitFor('answer')).sdp, /^a=inactive$/m);
  single.webSocket.terminate();
  const closing = nonOwner.close();
  const { action, reason } = await ada.waitFor('leave');
  assert.deepEqual([action, reason], [LeaveRequest_Action.RESUME, DisconnectReason.SERVER_SHUTDOWN]);
  assert.equal((await ada.closed).code, 1001);
  await closing;
  const resumed = await LiveKitSocket.open(owner.url, token, { reconnect: '1', sid: participant?.sid ?? '' });
  await resumed.waitFor('reconnect');
  resumed.send({ case: 'leave', value: {} });
  assert.equal((await resumed.closed).code, 1000);
});
