// WHIP: encoders publish to rooms of any node, their peers are peers like any others, and requests follow RFC 9725.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportSchema } from '../../api/recording-report.ts';
import { goWhip } from '../../tools/test-runner/go-programs.mjs';
import { type AccessTokenInit, accessKeysText, signAccessToken } from '../kit/access-tokens.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { makeProgramme, makeTracks } from '../kit/media/media-files.ts';
import { recordedBytes } from '../kit/media/recorded-file.ts';
import { obs } from '../kit/media/sdp-offers.ts';
import { addComponent } from '../kit/media/sources.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { addPeer, assertPlayed, clientOf, fragmentType, offerOf, type Sent, startProgram } from './whip-kit.ts';

const encoder = join(import.meta.dirname, '../kit/media/whip-muxer.ts');

test('FFmpeg publishes through a node that does not own the room, and its peer is recorded, shown, muted and disconnected like others', async (t) => {
  const resources = await makeResources(t);
  const file = join(resources, 'programme.ts');
  await makeProgramme(file, 'high', 660);
  const { owner, nonOwner, api } = await startNodePair(t, {
    both: { SVC_COMPONENTS_USED: 'recording' },
    owner: { SVC_RESOURCES_BASE_PATH: resources },
  });
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const recorder = await addComponent(api, 'recording');
  const { id, token } = await addPeer(api, { metadata: { name: 'Studio' } });
  const events = await watchEvents(t, nonOwner);
  const { stop, output } = startProgram(t, process.execPath, [encoder, file, `${nonOwner.url}/whip/r`, token], 'SIGTERM');
  const peerOf = async () => (await api.get(`/room/r/peer/${id}`)).body.data.peer;
  const both = async () => (await peerOf()).tracks.length === 2;
  await eventually('FFmpeg publishes', both).catch((error) => assert.fail(`${error}\n${output()}`));
  const { status, tracks } = await peerOf();
  assert.equal(status, 'connected');
  assert.deepEqual(tracks.map(({ encoding }: { encoding: string }) => encoding).sort(), ['h264', 'opus']);
  await eventually('some seconds are recorded', async () => (await recordedBytes(resources, '.mkv')) > 15_000).catch(async (error) => {
    const { body } = await api.get('/room/r/stats');
    assert.fail(`${error}: ${await recordedBytes(resources, '.mkv')} bytes\n${JSON.stringify(body)}\n${output()}`);
  });
  const [{ up, published }] = (await api.get('/room/r/stats')).body.data.peers;
  assert.deepEqual([up.state, published.map(({ kind }: { kind: string }) => kind)], ['connected', ['audio', 'video']]);

  const [video] = tracks.filter(({ type }: { type: string }) => type === 'video');
  assert.equal((await api.post(`/room/r/track/${video.id}/mute`)).status, 204);
  assert.equal((await peerOf()).tracks.find((track: { id: string }) => track.id === video.id).muted, true);
  assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);
  await stop();
  await eventually('the peer is disconnected', async () => (await peerOf()).status === 'disconnected');
  for (const type of ['PeerConnected', 'TrackAdded', 'PeerDisconnected'])
    await events.waitFor('roomEvent', (event) => event.type === type && event.peerId === id);

  await assertRecorded(api, resources);
});

test('Pion publishes VP8 and Opus, or audio alone in a room with audio only, and its session ends with the program', async (t) => {
  const resources = await makeResources(t);
  const [video, audio] = [join(resources, 'video.ivf'), join(resources, 'audio.ogg')];
  await makeTracks(video, audio, 660);
  const { api, url } = await startNode(t, {
    SVC_COMPONENTS_USED: 'recording',
    SVC_RESOURCES_BASE_PATH: resources,
    SVC_ACCESS_KEYS: accessKeysText,
  });
  await api.post('/room', { roomId: 'r' });
  const recorder = await addComponent(api, 'recording');
  const { id, token } = await addPeer(api);
  const publish = (room: string, WHIP_TOKEN: string) =>
    startProgram(t, goWhip, ['-url', `${url}/whip/${room}`, '-video', video, '-audio', audio], 'SIGINT', { ...process.env, WHIP_TOKEN });
  const pion = publish('r', token);
  await eventually('some seconds are recorded', async () => (await recordedBytes(resources, '.webm')) > 40_000).catch((error) =>
    assert.fail(`${error}\n${pion.output()}`),
  );
  assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);
  await pion.stop();
  assert.equal((await api.get(`/room/r/peer/${id}`)).body.data.peer.status, 'disconnected');
  await assertRecorded(api, resources);

  // The offer has video first, so that the transport of the answer is that of another section.
  await api.post('/room', { roomId: 'talk', videoCodec: 'none' });
  const talking = publish('talk', await signAccessToken({ identity: 'reporter', room: 'talk' }));
  const published = async () => (await api.get('/room/talk/stats')).body.data.peers[0]?.published as { kind: string; bitrate: number }[];
  await eventually('audio arrives', async () => ((await published())?.[0]?.bitrate ?? 0) > 10_000).catch((error) =>
    assert.fail(`${error}\n${talking.output()}`),
  );
  assert.deepEqual(
    (await published()).map(({ kind }) => kind),
    ['audio'],
  );
  await talking.stop();
  assert.equal((await api.get('/room/talk/peer/reporter')).body.data.peer.status, 'disconnected');
});

/** The only recording has green video with a moving box, and a tone of 660 Hz. */
async function assertRecorded(api: ApiClient, resources: string): Promise<void> {
  const [recording = ''] = (await api.get('/recording')).body.data as string[];
  const report = reportSchema.parse((await api.get(`/recording/${recording}`)).body);
  const pathOf = (kind: 'audio' | 'video') =>
    join(resources, 'recordings', recording, report.tracks.find(({ type }) => type === kind)?.file ?? assert.fail(`no ${kind}`));
  await assertPlayed({ video: pathOf('video'), audio: pathOf('audio') }, 660);
}

const offer = (text = obs): Sent => offerOf(text);

test('an offer of OBS is answered, its ICE session restarts, and DELETE ends it', async (t) => {
  const turn = [{ urls: ['stun:stun.example.net', 'turn:turn.example.net?transport=udp'], username: 'a"b', credential: 'c' }];
  const node = await startNode(t, { SVC_ICE_SERVERS: JSON.stringify(turn), SVC_CORS_ORIGINS: 'https://studio.example' });
  const { api } = node;
  const request = clientOf(node);
  await api.post('/room', { roomId: 'r' });
  const { id, token } = await addPeer(api);
  const origin = { origin: 'https://studio.example' };
  const { body, headers } = offer();
  const started = await request('POST', '/whip/r', { token, body: body ?? '', headers: { ...headers, ...origin } });
  assert.equal(started.status, 201, started.text);
  assert.equal(started.headers.get('content-type'), 'application/sdp');
  assert.equal(started.headers.get('accept-patch'), fragmentType);
  assert.match(started.headers.get('access-control-expose-headers') ?? '', /location, etag, link/);
  assert.equal(
    started.headers.get('link'),
    '<stun:stun.example.net>; rel="ice-server"; username="a\\"b"; credential="c"; credential-type="password", <turn:turn.example.net?transport=udp>; rel="ice-server"; username="a\\"b"; credential="c"; credential-type="password"',
  );
  assert.match(started.text, /^a=recvonly\r\n/m);
  assert.match(started.text, /^a=candidate:\S+ 1 udp \d+ 127\.0\.0\.1 \d+ typ host/m);
  const location = started.headers.get('location') ?? '';
  assert.match(location, /^\/whip\/r\/[0-9a-f]{32}$/);
  const etag = started.headers.get('etag') ?? '';
  const peer = (await api.get(`/room/r/peer/${id}`)).body.data.peer;
  assert.deepEqual([peer.status, peer.tracks.length], ['connected', 2]);

  const known =
    'a=ice-ufrag:Yn6B\r\na=ice-pwd:uDYUoAhvMh+6bAZ4bLPf7H\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\na=end-of-candidates\r\n';
  const fresh = known.replace('Yn6B', 'NewU').replace('uDYU', 'NewP');
  const patch = (text: string, ifMatch?: string, type = fragmentType) =>
    request('PATCH', location, {
      token,
      body: text,
      headers: { 'content-type': type, ...(ifMatch !== undefined && { 'if-match': ifMatch }) },
    });
  assert.equal((await patch(known)).status, 428);
  assert.equal((await patch(known, '"other"')).status, 412);
  assert.equal((await patch(known, etag, 'application/sdp')).status, 415);
  assert.equal((await patch('a=mid:0\r\n', etag)).status, 422);
  const trickled = await patch(known, etag);
  assert.deepEqual([trickled.status, trickled.headers.get('etag')], [204, null]);
  const restarted = await patch(fresh, '*');
  assert.deepEqual([restarted.status, restarted.headers.get('content-type')], [200, fragmentType]);
  assert.notEqual(restarted.headers.get('etag'), etag);
  assert.match(restarted.text, /^a=ice-ufrag:\S+\r\na=ice-pwd:\S+\r\na=candidate:/m);
  assert.equal((await patch(fresh, etag)).status, 412);
  assert.equal((await patch(fresh, restarted.headers.get('etag') ?? '')).status, 204);

  const other = await addPeer(api);
  for (const [method, expected] of [
    ['PATCH', 404],
    ['DELETE', 404],
  ] as const)
    assert.equal(
      (
        await request(method, location, {
          token: other.token,
          ...(method === 'PATCH' && { body: known, headers: { 'content-type': fragmentType } }),
        })
      ).status,
      expected,
      method,
    );
  assert.equal((await request('DELETE', location)).status, 401);
  assert.equal((await request('DELETE', location, { token })).status, 200);
  assert.equal((await request('DELETE', location, { token })).status, 404);
  assert.equal((await api.get(`/room/r/peer/${id}`)).body.data.peer.status, 'disconnected');
});

test('requests that RFC 9725 does not allow are rejected with one message, and change nothing', async (t) => {
  const node = await startNode(t, { SVC_ACCESS_KEYS: accessKeysText });
  const { api } = node;
  const request = clientOf(node);
  await api.post('/room', { roomId: 'r', videoCodec: 'vp8' });
  await api.post('/room', { roomId: 'other' });
  const access = (init: AccessTokenInit) => signAccessToken({ room: 'r', ...init });
  const { id, token } = await addPeer(api);
  const listener = await addPeer(api, { options: { permissions: { publish: ['audio'] } } });
  const { token: removedToken, id: removedId } = await addPeer(api);
  await api.delete(`/room/r/peer/${removedId}`);
  const vp8 = obs.replace('H264/90000', 'VP8/90000').replace(/a=fmtp:96.*\r\n/, '');
  const cases: [name: string, path: string, sent: Sent, status: number, code: string][] = [
    ['no token', '/whip/r', offer(vp8), 401, 'missing_token'],
    ['a forged token', '/whip/r', { ...offer(vp8), token: `${token}x` }, 401, 'invalid_token'],
    ['an API token', '/whip/r', { ...offer(vp8), token: node.token }, 401, 'invalid_token'],
    ['a token of another room', '/whip/other', { ...offer(vp8), token }, 403, 'forbidden'],
    ['a removed peer', '/whip/r', { ...offer(vp8), token: removedToken }, 404, 'peer_not_found'],
    ['a peer that may not publish video', '/whip/r', { ...offer(vp8), token: listener.token }, 403, 'forbidden'],
    ['an unknown access key', '/whip/r', { ...offer(vp8), token: await access({ keyId: 'other' }) }, 401, 'invalid_token'],
    ['an expired access token', '/whip/r', { ...offer(vp8), token: await access({ now: 0 }) }, 401, 'invalid_token'],
    ['a revoked access token', '/whip/r', { ...offer(vp8), token: await access({ identity: removedId }) }, 401, 'invalid_token'],
    ['an access token of another room', '/whip/other', { ...offer(vp8), token: await access({}) }, 403, 'forbidden'],
    [
      'an access token without canPublish',
      '/whip/r',
      { ...offer(vp8), token: await access({ video: { canPublish: false } }) },
      403,
      'forbidden',
    ],
    [
      'an access token for a room to be created by others',
      '/whip/none',
      { ...offer(vp8), token: await access({ room: 'none' }) },
      404,
      'room_not_found',
    ],
    ['JSON', '/whip/r', { token, body: '{}', headers: { 'content-type': 'application/json' } }, 415, 'unsupported_media_type'],
    ['no body', '/whip/r', { token, headers: { 'content-type': 'application/sdp' } }, 400, 'bad_request'],
    ['a body of 65 KiB', '/whip/r', { token, ...offer(`${vp8}${'a=x\r\n'.repeat(14_000)}`) }, 413, 'too_large'],
    ['another response type', '/whip/r', { token, body: vp8, headers: { ...offer().headers, accept: 'text/html' } }, 406, 'not_acceptable'],
    ['a codec that the room does not forward', '/whip/r', { token, ...offer() }, 422, 'offer_rejected'],
    ['no SDP', '/whip/r', { token, ...offer('hello') }, 422, 'offer_rejected'],
    ['a section that receives', '/whip/r', { token, ...offer(vp8.replace('a=sendonly', 'a=recvonly')) }, 422, 'offer_rejected'],
    ['an unknown session', '/whip/r/none', { token }, 405, 'method_not_allowed'],
  ];
  for (const [name, path, sent, status, code] of cases) {
    const answer = await request('POST', path, sent);
    const { errors, code: given } = JSON.parse(answer.text);
    assert.deepEqual([answer.status, given], [status, code], `${name}: ${answer.text}`);
    assert.match(errors, /^[A-Z][^\n]+$/, name);
    if (status === 401) assert.match(answer.headers.get('www-authenticate') ?? '', /^Bearer/, name);
  }
  for (const { status, tracks } of (await api.get('/room/r')).body.data.peers) assert.deepEqual([status, tracks], ['disconnected', []]);

  const options = await request('OPTIONS', '/whip/r');
  assert.deepEqual([options.status, options.headers.get('accept-post')], [200, 'application/sdp']);
  assert.equal((await request('OPTIONS', '/whip/r/none')).headers.get('accept-patch'), fragmentType);
  assert.equal((await request('GET', '/whip/r')).status, 204);
  assert.equal((await request('PUT', '/whip/r', { token, body: 'x' })).status, 405);

  // The later offer of an encoder replaces its session; a peer that joined over its websocket is protected.
  const first = await request('POST', '/whip/r', { token, ...offer(vp8) });
  const second = await request('POST', '/whip/r', { token, ...offer(vp8) });
  assert.deepEqual([first.status, second.status], [201, 201], second.text);
  assert.equal((await request('DELETE', first.headers.get('location') ?? '', { token })).status, 404);
  assert.equal((await api.get(`/room/r/peer/${id}`)).body.data.peer.tracks.length, 2);
  await api.delete(`/room/r/peer/${id}`);
  assert.equal((await request('DELETE', second.headers.get('location') ?? '', { token })).status, 404);
});
