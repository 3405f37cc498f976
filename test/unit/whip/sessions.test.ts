// WHIP sessions on fake media: what connects, replaces and ends them.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { generateRouterRtpCapabilities } from 'mediasoup/ortc';
import { clientCapabilities, roomCodecs } from '../../../node/media/codecs.ts';
import type { PeerMediaListener } from '../../../node/rooms/interfaces.ts';
import { WhipSessions } from '../../../node/whip/sessions.ts';
import { connectPeer, makeRoom } from '../../kit/fakes/rooms.ts';
import { obs } from '../../kit/media/sdp-offers.ts';
import { silentLog } from '../../kit/silent-log.ts';
import { turns } from '../../kit/turns.ts';

const capabilities = clientCapabilities(generateRouterRtpCapabilities(roomCodecs(null)) as never);
const transport = {
  iceParameters: { usernameFragment: 'first', password: 'password', iceLite: true },
  iceCandidates: [{ foundation: 'f', priority: 1, ip: '192.0.2.1', address: '192.0.2.1', protocol: 'udp', port: 1, type: 'host' }],
  dtlsParameters: { role: 'auto', fingerprints: [{ algorithm: 'sha-256', value: Array(32).fill('AB').join(':') }] },
};
const request = { roomId: 'r', token: 'alice' };

async function start(t: TestContext, { limited = false } = {}) {
  const made = await makeRoom();
  const room = made.media.room('r');
  t.mock.method(room, 'rtpCapabilities', async () => capabilities);
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
    authenticate: async (token, roomId) => made.rooms.room(roomId).peers.get(token),
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
  const peer = () => made.rooms.room('r').peers.get('alice').view();
  const report = (state: 'connected' | 'lost' | 'closed') => listeners.at(-1)?.transportChanged?.(state);
  return { ...made, sessions, peer, report };
}

test('an offer connects the peer, publishes its sections under keys that outlive the session, and is answered', async (t) => {
  const { sessions, peer, kinds, rooms } = await start(t);
  const { answer, location, etag, iceServers } = await sessions.start(request, obs);
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
  await assert.rejects(sessions.start(request, obs), { code: 'unavailable' });
});

test('a session ends if it never connects, if its connection stays lost, and at once if the encoder closes it', async (t) => {
  const { sessions, peer, report } = await start(t);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await sessions.start(request, obs);
  t.mock.timers.tick(29_999);
  assert.equal(peer().status, 'connected');
  t.mock.timers.tick(1);
  assert.equal(peer().status, 'disconnected');

  await sessions.start(request, obs);
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

  await sessions.start(request, obs);
  report('connected');
  report('closed');
  assert.deepEqual([peer().status, sessions.size], ['disconnected', 0]);
});

test('a later offer replaces the session, also while that is starting, but not the websocket of the peer', async (t) => {
  const { sessions, peer, rooms } = await start(t);
  const first = await sessions.start(request, obs);
  const [second, third] = await Promise.allSettled([sessions.start(request, obs), sessions.start(request, obs)]);
  assert.equal(second.status === 'rejected' && second.reason.code, 'conflict');
  assert.equal(third.status, 'fulfilled');
  assert.deepEqual([sessions.size, peer().tracks.length], [1, 2]);
  await assert.rejects(sessions.end(request, first.location.split('/').at(-1) ?? ''), { code: 'not_found' });
  sessions.close();
  await turns(1);

  const other = await start(t);
  await connectPeer(other.rooms, 'r', 'alice');
  await assert.rejects(other.sessions.start(request, obs), { code: 'conflict', message: 'Peer alice is already connected' });
  assert.deepEqual([other.peer().status, other.sessions.size], ['connected', 0]);
  assert.equal(rooms.room('r').peers.get('alice').connected, false);
});

test('a rejected offer leaves the running session unchanged, and the removal of the peer ends it', async (t) => {
  const { sessions, peer, rooms } = await start(t);
  const { location } = await sessions.start(request, obs);
  await assert.rejects(sessions.start(request, 'v=0'), { code: 'offer_rejected' });
  assert.equal(peer().tracks.length, 2);
  rooms.room('r').peers.get('alice').remove('removed');
  assert.equal(sessions.size, 0);
  await assert.rejects(sessions.end(request, location.split('/').at(-1) ?? ''), { code: 'peer_not_found' });
});

test('offers of one peer have a budget', async (t) => {
  const { sessions } = await start(t, { limited: true });
  for (let offers = 0; offers < 6; offers += 1) await sessions.start(request, obs);
  await assert.rejects(sessions.start(request, obs), { code: 'too_many_requests' });
  sessions.close();
});

test('an ICE restart gets new credentials and a new ETag; candidates change nothing', async (t) => {
  const { sessions } = await start(t);
  const { location, etag } = await sessions.start(request, obs);
  const id = location.split('/').at(-1) ?? '';
  const known = 'a=ice-ufrag:Yn6B\r\na=ice-pwd:uDYUoAhvMh+6bAZ4bLPf7H\r\n';
  assert.equal(await sessions.updateIce(request, id, known, etag), null);
  await assert.rejects(sessions.updateIce(request, id, known, undefined), { code: 'precondition_required' });
  const restart = await sessions.updateIce(request, id, known.replace('Yn6B', 'Next'), '"*"');
  assert.equal(restart?.etag, '"second"');
  assert.match(restart.fragment, /^m=audio 9 UDP\/TLS\/RTP\/SAVPF 0\r\na=mid:0\r\na=ice-ufrag:second\r$/m);
  await assert.rejects(sessions.updateIce(request, id, known, etag), { code: 'precondition_failed' });
  sessions.close();
});
