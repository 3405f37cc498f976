// WHEP: players play rooms of any node, in streams that continue when their track changes, and requests follow draft-ietf-wish-whep.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { goWhep, goWhip } from '../../tools/test-runner/go-programs.mjs';
import { makeTracks } from '../kit/media/media-files.ts';
import { chromium, pion } from '../kit/media/sdp-offers.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { addPeer, assertPlayed, clientOf, fragmentType, offerOf, type Program, type Sent, startProgram, untilSize } from './whip-kit.ts';

const playersOffer = pion.replaceAll('a=sendonly', 'a=recvonly');

function publishWith(t: TestContext, url: string, token: string, files: { video: string; audio: string }): Program {
  const args = ['-url', url, '-video', files.video, '-audio', files.audio];
  return startProgram(t, goWhip, args, 'SIGINT', { ...process.env, WHIP_TOKEN: token });
}

test('Pion plays one publisher after the other in the same streams, through a node that does not own the room', async (t) => {
  const folder = await makeResources(t);
  const files = { video: join(folder, 'video.ivf'), audio: join(folder, 'audio.ogg') };
  await makeTracks(files.video, files.audio, 660);
  const { owner, nonOwner, api } = await startNodePair(t);
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const player = await addPeer(api);
  const played = { video: join(folder, 'played.ivf'), audio: join(folder, 'played.ogg') };
  const env = { ...process.env, WHEP_TOKEN: player.token };
  const args = ['-url', `${nonOwner.url}/whep/r`, '-video', played.video, '-audio', played.audio];
  const pionPlayer = startProgram(t, goWhep, args, 'SIGINT', env);
  let growth = 0;
  for (const name of ['first', 'second']) {
    const { token } = await addPeer(api, { peerId: name });
    const publisher = publishWith(t, `${owner.url}/whip/r`, token, files);
    growth += 60_000;
    await untilSize(played.video, growth, [pionPlayer, publisher]);
    await publisher.stop();
  }
  const { peers } = (await api.get('/room/r/stats')).body.data;
  const stats = peers.find((peer: { id: string }) => peer.id === player.id);
  assert.equal(stats.down.state, 'connected');
  await pionPlayer.stop();
  assert.equal((await api.get(`/room/r/peer/${player.id}`)).body.data.peer.status, 'disconnected');

  const output = pionPlayer.output();
  // Pion's own numbers; the room has others.
  assert.equal(output.match(/^video\/VP8: ssrc \d+, payload type 96$/gm)?.length, 1, output);
  assert.equal(output.match(/^audio\/opus: ssrc \d+, payload type 111$/gm)?.length, 1, output);
  assert.equal(output.match(/ 0 missing/g)?.length, 2, output);
  await assertPlayed(played, 660);
});

test('requests that WHEP does not allow are rejected with one message, and change nothing', async (t) => {
  const node = await startNode(t, { SVC_CORS_ORIGINS: 'https://player.example' });
  const { api } = node;
  const request = clientOf(node);
  await api.post('/room', { roomId: 'r', videoCodec: 'vp8' });
  await api.post('/room', { roomId: 'other' });
  const { id, token } = await addPeer(api);
  const publisher = await addPeer(api, { options: { permissions: { subscribe: false } } });
  const h265 = playersOffer.replace('VP8/90000', 'H265/90000').replace('opus/48000', 'speex/48000');
  const cases: [name: string, path: string, sent: Sent, status: number, code: string][] = [
    ['no token', '/whep/r', offerOf(playersOffer), 401, 'missing_token'],
    ['a forged token', '/whep/r', { ...offerOf(playersOffer), token: `${token}x` }, 401, 'invalid_token'],
    ['a token of another room', '/whep/other', { ...offerOf(playersOffer), token }, 403, 'forbidden'],
    ['a peer that may not subscribe', '/whep/r', { ...offerOf(playersOffer), token: publisher.token }, 403, 'forbidden'],
    ['JSON', '/whep/r', { token, body: '{}', headers: { 'content-type': 'application/json' } }, 415, 'unsupported_media_type'],
    [
      'another response type',
      '/whep/r',
      { token, body: playersOffer, headers: { ...offerOf('').headers, accept: 'text/html' } },
      406,
      'not_acceptable',
    ],
    ['an offer that sends', '/whep/r', { token, ...offerOf(pion) }, 422, 'offer_rejected'],
    ['no codec of the room', '/whep/r', { token, ...offerOf(h265) }, 422, 'offer_rejected'],
    [
      'the programme of a room without a composer',
      '/whep/r?video=programme',
      { token, ...offerOf(playersOffer) },
      404,
      'component_not_found',
    ],
    ['an unknown session', '/whep/r/none', { token }, 405, 'method_not_allowed'],
  ];
  for (const [name, path, sent, status, code] of cases) {
    const answer = await request('POST', path, sent);
    const { errors, code: given } = JSON.parse(answer.text);
    assert.deepEqual([answer.status, given], [status, code], `${name}: ${answer.text}`);
    assert.match(errors, /^[A-Z][^\n]+$/, name);
  }
  for (const peer of (await api.get('/room/r')).body.data.peers) assert.equal(peer.status, 'disconnected');
  const options = await request('OPTIONS', '/whep/r');
  assert.deepEqual([options.status, options.headers.get('accept-post')], [200, 'application/sdp']);
  assert.equal((await request('GET', '/whep/r')).status, 204);

  // Sections beyond the streams of a player, and codecs that the room does not have, are rejected in the answer.
  const sections = chromium.replaceAll('a=sendonly', 'a=recvonly').replace(/a=(?:rid|simulcast):.*\r\n/g, '');
  const video = sections.slice(sections.indexOf('m=video'));
  const twice = `${sections}${video.replace('a=mid:1', 'a=mid:2')}`.replace('BUNDLE 0 1', 'BUNDLE 0 1 2');
  const started = await request('POST', '/whep/r', {
    ...{ token, body: twice, headers: { ...offerOf('').headers, origin: 'https://player.example' } },
  });
  assert.equal(started.status, 201, started.text);
  assert.match(started.headers.get('access-control-expose-headers') ?? '', /location, etag, link/);
  assert.match(started.text, /^a=group:BUNDLE 0 1\r$/m);
  assert.deepEqual(started.text.match(/^m=\w+ \d+/gm), ['m=audio 9', 'm=video 9', 'm=video 0']);
  const codecs = started.text.split('\r\nm=').map((section) => section.match(/^a=rtpmap:\S+ \S+/gm));
  assert.deepEqual(codecs.slice(1, 3), [['a=rtpmap:111 opus/48000/2'], ['a=rtpmap:96 VP8/90000', 'a=rtpmap:97 rtx/90000']]);
  assert.match(started.text, /^a=extmap:4 urn:ietf:params:rtp-hdrext:sdes:mid\r$/m);
  const location = started.headers.get('location') ?? '';
  assert.match(location, /^\/whep\/r\/[0-9a-f]{32}$/);
  const known = 'a=ice-ufrag:EsAw\r\na=ice-pwd:P2uYro0UCOQ4zxjKXaWCBui1\r\nm=audio 9 UDP/TLS/RTP/SAVPF 0\r\na=mid:0\r\n';
  const patch = (text: string, ifMatch: string) =>
    request('PATCH', location, { token, body: text, headers: { 'content-type': fragmentType, 'if-match': ifMatch } });
  assert.equal((await patch(known, '"other"')).status, 412);
  assert.equal((await patch(known, started.headers.get('etag') ?? '')).status, 204);
  assert.equal((await patch(known.replace('EsAw', 'NewU'), '*')).status, 200);
  assert.equal((await api.get(`/room/r/peer/${id}`)).body.data.peer.status, 'connected');
  assert.equal((await request('DELETE', location, { token: publisher.token })).status, 404);
  assert.equal((await request('DELETE', location, { token })).status, 200);
  assert.equal((await request('DELETE', location, { token })).status, 404);
});
