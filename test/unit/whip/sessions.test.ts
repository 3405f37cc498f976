// WHIP sessions on fake media: what connects, replaces and ends them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { generateRouterRtpCapabilities } from 'mediasoup/ortc';
import { whipPath } from '../../../api/operations/whip-session.ts';
import { clientCapabilities, roomCodecs } from '../../../node/media/codecs.ts';
import type { PeerMediaListener } from '../../../node/rooms/interfaces.ts';
import { playing } from '../../../node/whip/playing.ts';
import { WhipSessions } from '../../../node/whip/sessions.ts';
import { connectPeer, joinPeer, makeRoom, publish, TestConnection } from '../../kit/fakes/rooms.ts';
import { obs, pion } from '../../kit/media/sdp-offers.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { turns } from '../../kit/turns.ts';

const capabilitiesOf = (videoCodec: 'none' | null) => clientCapabilities(generateRouterRtpCapabilities(roomCodecs(videoCodec)) as never);
const capabilities = capabilitiesOf(null);
const transport = {
  iceParameters: { usernameFragment: 'first', password: 'password', iceLite: true },
  iceCandidates: [{ foundation: 'f', priority: 1, ip: '192.0.2.1', address: '192.0.2.1', protocol: 'udp', port: 1, type: 'host' }],
  dtlsParameters: { role: 'auto', fingerprints: [{ algorithm: 'sha-256', value: Array(32).fill('AB').join(':') }] },
};
/** ICE of the client: that of the offer, and after a restart. */
const known = 'a=ice-ufrag:Yn6B\r\na=ice-pwd:uDYUoAhvMh+6bAZ4bLPf7H\r\n';
const fresh = known.replace('Yn6B', 'Next');

const playersOffer = pion.replaceAll('a=sendonly', 'a=recvonly');

async function start(t: TestContext, { limited = false, takeover = false, codecs = capabilities } = {}) {
  const made = await makeRoom();
  const room = made.media.room('r');
  t.mock.method(room, 'rtpCapabilities', async () => codecs);
  const listeners: PeerMediaListener[] = [];
  const openPeer = room.openPeer.bind(room);
  t.mock.method(room, 'openPeer', (peerId: string, listener: PeerMediaListener) => {
    listeners.push(listener);
    const media = openPeer(peerId, listener);
    const createTransport = media.createTransport.bind(media);
    return Object.assign(media, {
      createTransport: async (...given: Parameters<typeof createTransport>) => ({ ...(await createTransport(...given)), ...transport }),
      restartIce: async () => ({ ...transport.iceParameters, usernameFragment: 'second' }),
    });
  });
  await made.rooms.addPeer('r', { type: 'webrtc', peerId: 'alice' });
  const sessions = new WhipSessions({
    log: silentLog(),
    path: whipPath,
    iceServers: () => [
      { urls: ['stun:a', 'turn:b c'], username: 'u', credential: 'p' },
      { urls: 'stun:d' },
      { urls: 'stun:e', username: 'ü' },
    ],
    pathPrefix: () => '/n/1',
    resumeWindow: () => 10_000,
    limited: () => limited,
    now: () => 0,
  });
  const alice = made.rooms.room('r').peers.get('alice');
  const peer = () => alice.view();
  const report = (state: 'connected' | 'lost' | 'closed') => listeners.at(-1)?.transportChanged?.(state);
  return { ...made, sessions, alice, admitted: { peer: alice, takeover }, peer, report };
}

test('an offer connects the peer, publishes its sections under keys that outlive the session, and is answered', async (t) => {
  const { sessions, admitted, peer, kinds, rooms } = await start(t);
  const { answer, location, etag, iceServers } = await sessions.start(admitted, obs);
  assert.match(answer, /^a=ice-ufrag:first$/m);
  assert.match(location, /^\/n\/1\/whip\/r\/[0-9a-f]{32}$/);
  assert.equal(etag, '"first"');
  // The others are not valid in a header.
  assert.deepEqual(iceServers, [{ url: 'stun:a', username: 'u', credential: 'p' }, { url: 'stun:d' }]);
  assert.equal(peer().status, 'connected');
  assert.deepEqual(
    [...rooms.room('r').tracks()].map(({ key, kind }) => [key, kind]),
    [
      ['whip-audio-1', 'audio'],
      ['whip-video-1', 'video'],
    ],
  );
  assert.deepEqual(kinds().slice(-3), ['PeerConnected:alice', 'TrackAdded:alice', 'TrackAdded:alice']);
  sessions.close();
  assert.deepEqual([peer().status, sessions.size], ['disconnected', 0]);
  await assert.rejects(sessions.start(admitted, obs), { code: 'unavailable' });
});

test('a session ends if it never connects, if its connection stays lost, and at once if the encoder closes it', async (t) => {
  const { sessions, admitted, peer, report } = await start(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await sessions.start(admitted, obs);
  t.mock.timers.tick(29_999);
  assert.equal(peer().status, 'connected');
  t.mock.timers.tick(1);
  assert.equal(peer().status, 'disconnected');

  await sessions.start(admitted, obs);
  report('connected');
  t.mock.timers.tick(60_000);
  report('lost');
  t.mock.timers.tick(9_000);
  report('connected');
  t.mock.timers.tick(60_000);
  assert.equal(peer().status, 'connected');
  report('lost');
  t.mock.timers.tick(10_000);
  assert.equal(peer().status, 'disconnected');

  await sessions.start(admitted, obs);
  report('connected');
  report('closed');
  assert.deepEqual([peer().status, sessions.size], ['disconnected', 0]);
});

test('a later offer replaces the session, also while that is starting, but the websocket of the peer only to take it over', async (t) => {
  const { sessions, admitted, alice, peer } = await start(t);
  const first = await sessions.start(admitted, obs);
  const [second, third] = await Promise.allSettled([sessions.start(admitted, obs), sessions.start(admitted, obs)]);
  assert.equal(second.status === 'rejected' && second.reason.code, 'conflict');
  assert.equal(third.status, 'fulfilled');
  assert.deepEqual([sessions.size, peer().tracks.length], [1, 2]);
  assert.throws(() => sessions.end(alice, first.location.split('/').at(-1) ?? ''), { code: 'not_found' });
  sessions.close();
  await turns(1);

  const other = await start(t);
  await connectPeer(other.rooms, 'r', 'alice');
  await assert.rejects(other.sessions.start(other.admitted, obs), { code: 'conflict', message: 'Peer alice is already connected' });
  assert.deepEqual([other.peer().status, other.sessions.size], ['connected', 0]);
  assert.equal(alice.connected, false);

  const taken = await start(t, { takeover: true });
  const { connection } = await connectPeer(taken.rooms, 'r', 'alice');
  await taken.sessions.start(taken.admitted, obs);
  assert.deepEqual([connection.closed, taken.sessions.size, taken.peer().tracks.length], ['takenOver', 1, 2]);
  const socket = new TestConnection();
  taken.alice.connect(socket, { takeover: true });
  assert.deepEqual([socket.closed, taken.sessions.size, taken.peer().status, taken.peer().tracks], [undefined, 0, 'connected', []]);
});

test('a rejected offer leaves the running session unchanged, and the removal of the peer ends it', async (t) => {
  const { sessions, admitted, alice, peer } = await start(t);
  const { location } = await sessions.start(admitted, obs);
  await assert.rejects(sessions.start(admitted, 'v=0'), { code: 'offer_rejected' });
  assert.equal(peer().tracks.length, 2);
  alice.remove('removed');
  assert.equal(sessions.size, 0);
  assert.throws(() => sessions.end(alice, location.split('/').at(-1) ?? ''), { code: 'not_found' });
});

test('a room with audio only rejects the video section of an offer, and an offer of video only', async (t) => {
  const { sessions, admitted, alice, peer } = await start(t, { codecs: capabilitiesOf('none') });
  const videoFirst = obs.replace(/(m=audio[\s\S]*)(m=video[\s\S]*)/, '$2$1').replace('BUNDLE 0 1', 'BUNDLE 1 0');
  for (const text of [obs, videoFirst]) {
    const { answer, location } = await sessions.start(admitted, text);
    assert.match(
      answer,
      /^m=video 0 UDP\/TLS\/RTP\/SAVPF 96\r\nc=IN IP4 0\.0\.0\.0\r\na=rtpmap:96 H264\/90000\r\n(a=(fmtp|rtcp-fb):96 .*\r\n)*a=mid:1\r\na=inactive\r$/m,
    );
    assert.match(answer, /^a=group:BUNDLE 0\r$/m);
    assert.match(answer, /^m=audio 9 [\s\S]*a=candidate:f 1 udp/m);
    assert.deepEqual(
      peer().tracks.map(({ type }) => type),
      ['audio'],
    );
    const restart = await sessions.updateIce(alice, location.split('/').at(-1) ?? '', fresh, '*');
    assert.match(restart?.fragment ?? '', /^m=audio .*\r\na=mid:0\r$/m);
  }
  const message = 'The offer has video only; this room has audio only';
  await assert.rejects(sessions.start(admitted, obs.replace(/m=audio[\s\S]*(?=m=video)/, '').replace('BUNDLE 0 1', 'BUNDLE 1')), {
    message,
  });
  sessions.close();
});

test('an encoder does not wait: the peer must be admitted before', async (t) => {
  const { sessions, admitted, alice, rooms } = await start(t);
  rooms.room('r').patch({ admission: 'manual' });
  const refusal = { code: 'conflict', message: 'Peer alice is not admitted to the room; only a peer with a websocket can wait' };
  await assert.rejects(sessions.start(admitted, obs), refusal);
  assert.deepEqual([alice.view().status, sessions.size], ['disconnected', 0]);
  alice.admission.admit();
  await sessions.start(admitted, obs);
  assert.equal(alice.view().status, 'connected');
  sessions.close();
});

test('offers of one peer have a budget', async (t) => {
  const { sessions, admitted } = await start(t, { limited: true });
  for (let offers = 0; offers < 6; offers += 1) await sessions.start(admitted, obs);
  await assert.rejects(sessions.start(admitted, obs), { code: 'too_many_requests' });
  sessions.close();
});

test('an ICE restart gets new credentials and a new ETag; candidates change nothing', async (t) => {
  const { sessions, admitted, alice } = await start(t);
  const { location, etag } = await sessions.start(admitted, obs);
  const id = location.split('/').at(-1) ?? '';
  assert.equal(await sessions.updateIce(alice, id, known, etag), null);
  await assert.rejects(sessions.updateIce(alice, id, known, undefined), { code: 'precondition_required' });
  const restart = await sessions.updateIce(alice, id, fresh, '"*"');
  assert.equal(restart?.etag, '"second"');
  assert.match(restart.fragment, /^m=audio 9 UDP\/TLS\/RTP\/SAVPF 0\r\na=mid:0\r\na=ice-ufrag:second\r$/m);
  await assert.rejects(sessions.updateIce(alice, id, known, etag), { code: 'precondition_failed' });
  sessions.close();
});

test('a player gets one stream for each section, and they follow the active speaker, pauses, permissions and the end of tracks', async (t) => {
  const { sessions, admitted, alice, rooms, media } = await start(t);
  const [bob, cleo] = [await joinPeer(rooms, 'r', 'bob'), await joinPeer(rooms, 'r', 'cleo')];
  const bobs = { audio: await publish(bob, 'audio'), video: await publish(bob, 'video') };
  const cleos = { audio: await publish(cleo, 'audio'), video: await publish(cleo, 'video') };
  const speak = (peerId: string | null) => media.room('r').options.onActiveSpeaker(peerId);
  speak('bob');
  const { answer } = await sessions.start(admitted, playersOffer, playing('speaker'));
  const [video, audio] = media.room('r').fixedStreams;
  const ssrcs = [video, audio].map((stream) => `a=ssrc:${stream?.options.ssrc} cname:${stream?.options.cname}`);
  for (const line of ssrcs) assert.ok(answer.includes(line), `${line} in ${answer}`);
  const played = () => [audio?.stream.trackId, video?.stream.trackId];
  assert.deepEqual(played(), [bobs.audio, bobs.video]);
  speak('cleo');
  assert.deepEqual(played(), [cleos.audio, cleos.video]);
  speak(null);
  assert.deepEqual(played(), [cleos.audio, cleos.video]);
  await cleo.peer.session.publications.setPaused(cleos.video, true);
  assert.deepEqual(played(), [cleos.audio, bobs.video]);
  alice.rights.change({ publish: [], subscribe: false, data: false });
  assert.deepEqual(played(), [undefined, undefined]);
  alice.rights.change({ publish: [], subscribe: true, data: false });
  assert.deepEqual(played(), [bobs.audio, bobs.video]);
  bob.peer.session.publications.setReceivers(new Map());
  assert.deepEqual(played(), [cleos.audio, undefined]);
  bob.peer.session.publications.setReceivers('all');
  assert.deepEqual(played(), [cleos.audio, bobs.video]);
  bob.peer.remove('removed');
  // The video of cleo is paused.
  assert.deepEqual(played(), [cleos.audio, undefined]);
  sessions.close();

  alice.rights.change({ publish: [], subscribe: false, data: false });
  await assert.rejects(sessions.start(admitted, playersOffer, playing('speaker')), { code: 'forbidden' });
});

test('an offer that receives nothing that the room has is rejected', async (t) => {
  const { sessions, admitted } = await start(t);
  for (const [offer, message] of [
    [obs, 'No section of the offer receives'],
    [
      `${playersOffer}m=application 9 UDP/DTLS/SCTP webrtc-datachannel\r\na=mid:2\r\na=sctp-port:5000\r\n`.replace(
        'BUNDLE 0 1',
        'BUNDLE 0 1 2',
      ),
      /data channels/,
    ],
    [playersOffer.replace(/a=rtpmap:(?:96|102|45|111) .*\r\n/g, ''), /^The offer receives .*; this room forwards opus, VP8/],
  ] as const)
    await assert.rejects(sessions.start(admitted, offer, playing('speaker')), { code: 'offer_rejected', message });
});

test('a player of the programme gets the mix and the composed video, while it may receive all of it', async (t) => {
  const { sessions, admitted, alice, rooms, media, components } = await start(t);
  const offer = playersOffer.replace('profile-level-id=42001f', 'profile-level-id=4d001f');
  const play = (text = offer) => sessions.start(admitted, text, playing('programme'));
  await assert.rejects(play(), { code: 'component_not_found', message: 'Room r has no programme: it has no component of type hls' });
  const { component } = await rooms.room('r').components.add({ type: 'hls' });
  const composer = components.last;
  const bob = await joinPeer(rooms, 'r', 'bob');
  await publish(bob, 'audio');
  assert.equal(composer.sendsProgramme, false);
  const { answer } = await play();
  assert.equal(composer.sendsProgramme, true);
  assert.match(answer, /^a=rtpmap:102 H264\/90000\r$/m);
  assert.doesNotMatch(answer, /VP8|AV1/);
  const [video, audio] = media.room('r').fixedStreams;
  const played = () => [audio?.stream.trackId, video?.stream.trackId];
  const send = async (name: string) => {
    const input = composer.host.openProgramme();
    await input.connect({ ip: '127.0.0.1', port: 9 });
    for (const kind of ['audio', 'video'] as const) await input.publish({ kind, trackId: `${name}-${kind}`, rtpParameters: {} });
    composer.host.programmeChanged({ audio: `${name}-audio`, video: `${name}-video` });
  };
  assert.deepEqual(played(), [undefined, undefined]);
  await send('first');
  assert.deepEqual(played(), ['first-audio', 'first-video']);
  assert.deepEqual([...component.tracks], []);
  await send('second');
  assert.deepEqual(played(), ['second-audio', 'second-video']);
  bob.peer.session.publications.setReceivers(new Map());
  assert.deepEqual(played(), [undefined, undefined]);
  bob.peer.session.publications.setReceivers('all');
  assert.deepEqual(played(), ['second-audio', 'second-video']);
  alice.rights.change({ publish: [], subscribe: false, data: false });
  assert.deepEqual(played(), [undefined, undefined]);
  alice.rights.change({ publish: [], subscribe: true, data: false });
  assert.deepEqual(played(), ['second-audio', 'second-video']);

  await component.remove('removed');
  assert.deepEqual(played(), [undefined, undefined]);
  assert.equal(alice.view().status, 'connected');
  await rooms.room('r').components.add({ type: 'hls' });
  assert.equal(components.last.sendsProgramme, true);
  await play();
  assert.equal(components.last.sendsProgramme, true);
  // This Pion offers no H.264 of the profile.
  assert.match((await play(playersOffer)).answer, /^m=video 0 /m);
  const onlyVideo = playersOffer.replace(/m=audio[\s\S]*/, '').replace('BUNDLE 0 1', 'BUNDLE 0');
  await assert.rejects(play(onlyVideo), {
    code: 'offer_rejected',
    message: /^The offer receives .*; the programme has Opus, and H\.264 of the profile main$/,
  });
  sessions.close();
  assert.equal(components.last.sendsProgramme, false);
});
