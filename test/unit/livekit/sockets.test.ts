// Websockets of LiveKit clients on fake media: joins, updates, resumes, and what ends a session.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AddTrackRequest,
  ConnectionQuality,
  DisconnectReason,
  LeaveRequest_Action,
  ParticipantInfo_State,
  Ping,
  RequestResponse_Reason,
  SessionDescription,
  StreamState,
  SubscriptionPermission,
  type TrackPermission,
  UpdateParticipantMetadata,
  UpdateTrackSettings,
  VideoQuality,
} from '@livekit/protocol';
import { WebSocket } from 'ws';
import type { PeerStats, Quality } from '../../../api/stats.ts';
import { participantSid } from '../../../node/livekit/ids.ts';
import { livekitLimits } from '../../../node/livekit/limits.ts';
import { signAccessToken } from '../../kit/access-tokens.ts';
import { eventually } from '../../kit/eventually.ts';
import { connectPeer, joinPeer } from '../../kit/fakes/rooms.ts';
import { LiveKitSocket } from '../../kit/livekit/livekit-socket.ts';
import { publishVideo, startLiveKitSockets } from '../../kit/livekit/livekit-sockets.ts';

test('a client that joins gets the room, itself and the others, and an offer of data channels', async (t) => {
  const { rooms, join } = await startLiveKitSockets(t);
  await rooms.addPeer('room', { type: 'webrtc', peerId: 'own', metadata: { name: 'Own', seat: 3 } });
  await connectPeer(rooms, 'room', 'own');
  const { joined } = await join('ada@example.com', { name: 'Ada', attributes: { role: 'host' } });
  const { room, participant, otherParticipants, iceServers, subscriberPrimary } = joined;
  assert.deepEqual([room?.name, room?.metadata, subscriberPrimary], ['room', '{"topic":"tests"}', true]);
  assert.deepEqual([participant?.identity, participant?.name, participant?.attributes], ['ada@example.com', 'Ada', { role: 'host' }]);
  assert.equal(participant?.permission?.canPublish, true);
  assert.deepEqual(
    otherParticipants.map(({ identity, name, metadata }) => [identity, name, metadata]),
    [['own', 'Own', '{"seat":3}']],
  );
  assert.deepEqual([iceServers[0]?.urls, iceServers[0]?.username], [['turn:turn.example.com'], 'u']);
});

test('a recording is no participant, and clients are notified that the room is recorded', async (t) => {
  const { join, rooms } = await startLiveKitSockets(t);
  const ada = await join('ada');
  assert.equal(ada.joined.room?.activeRecording, false);
  const { component } = await rooms.addComponent('room', { type: 'recording' });
  assert.equal((await ada.waitFor('roomUpdate')).room?.activeRecording, true);
  const bob = await join('bob');
  assert.deepEqual([bob.joined.room?.activeRecording, bob.joined.otherParticipants.map(({ identity }) => identity)], [true, ['ada']]);
  await rooms.deleteComponent('room', component.id);
  assert.equal((await ada.waitFor('roomUpdate')).room?.activeRecording, false);
});

test('a client is offered data channels, and notified of a publisher and its end', async (t) => {
  const { join, rooms } = await startLiveKitSockets(t);
  const ada = await join('ada');
  const first = await ada.waitFor('offer');
  assert.match(first.sdp, /^m=application .*$/m);
  assert.doesNotMatch(first.sdp, /^m=(?:audio|video)/m);
  await rooms.addPeer('room', { type: 'webrtc', peerId: 'own' });
  const { peer, send } = await connectPeer(rooms, 'room', 'own');
  await ada.waitFor('update', ({ participants }) => participants[0]?.identity === 'own');
  await peer.session.publications.publish({ transportId: send, kind: 'audio', rtpParameters: {}, paused: true });
  const update = await ada.waitFor('update', ({ participants }) => participants[0]?.tracks.length === 1);
  assert.deepEqual([update.participants[0]?.tracks[0]?.muted, update.participants[0]?.isPublisher], [true, true]);
  peer.disconnect();
  const left = await ada.waitFor('update', ({ participants }) => participants[0]?.state === ParticipantInfo_State.DISCONNECTED);
  assert.equal(left.participants[0]?.identity, 'own');
});

test('a track is announced with a SID, and pings are answered', async (t) => {
  const { join } = await startLiveKitSockets(t);
  const ada = await join('ada');
  ada.send({ case: 'addTrack', value: new AddTrackRequest({ cid: 'c', name: 'n', type: 1, source: 1, width: 640, height: 360 }) });
  const { cid, track } = await ada.waitFor('trackPublished');
  assert.deepEqual([cid, track?.sid.slice(0, 3), track?.width], ['c', 'TR_', 640]);
  ada.send({ case: 'pingReq', value: new Ping({ timestamp: 7n }) });
  assert.equal((await ada.waitFor('pongResp')).lastPingTimestamp, 7n);
});

test('a publisher is notified of the first peer that receives its track', async (t) => {
  const { join, rooms } = await startLiveKitSockets(t);
  const ada = await join('ada');
  const sid = await publishVideo(ada);
  for (const peerId of ['own', 'other']) {
    const { peer, connection } = await joinPeer(rooms, 'room', peerId);
    await eventually('the track is subscribed', () => connection.of('trackSubscribed').length === 1);
    assert.deepEqual(ada.messages.filter((message) => message.case === 'trackSubscribed').length, peerId === 'own' ? 0 : 1);
    await peer.session.subscriptions.ready(connection.of('trackSubscribed')[0]?.trackId ?? '');
    if (peerId === 'own') assert.equal((await ada.waitFor('trackSubscribed')).trackSid, sid);
  }
  ada.send({ case: 'pingReq', value: new Ping() });
  await ada.waitFor('pongResp');
  assert.equal(ada.messages.filter((message) => message.case === 'trackSubscribed').length, 1);
});

test('other clients are notified of the tracks that a publisher permits them to receive', async (t) => {
  const { join, open } = await startLiveKitSockets(t);
  const [ada, bob] = [await join('ada'), await join('bob')];
  const trackSid = await publishVideo(ada);
  const permit = (allParticipants: boolean, trackPermissions: NonNullable<ConstructorParameters<typeof TrackPermission>[0]>[] = []) =>
    ada.send({ case: 'subscriptionPermission', value: new SubscriptionPermission({ allParticipants, trackPermissions }) });
  permit(false, [{ participantIdentity: 'carol', trackSids: [trackSid] }]);
  const denied = await bob.waitFor('subscriptionPermissionUpdate');
  assert.deepEqual([denied.participantSid, denied.trackSid, denied.allowed], [participantSid('ada'), trackSid, false]);
  const carol = await join('carol');
  const dave = await join('dave');
  assert.equal((await dave.waitFor('subscriptionPermissionUpdate')).allowed, false);
  assert.equal(carol.messages.filter((message) => message.case === 'subscriptionPermissionUpdate').length, 0);
  // What a client misses is sent when it resumes.
  dave.webSocket.terminate();
  await dave.closed;
  permit(true);
  assert.equal((await bob.waitFor('subscriptionPermissionUpdate')).allowed, true);
  const resumed = await open('dave', { reconnect: '1', sid: dave.joined.participant?.sid ?? '' });
  assert.equal((await resumed.waitFor('subscriptionPermissionUpdate')).allowed, true);
});

test('a client gets the connection quality of itself and the peers that it sees, if that changed', async (t) => {
  const ratings: [string, Quality][] = [
    ['ada', 'excellent'],
    ['bob', 'bad'],
    ['unseen', 'good'],
  ];
  let measured = 0;
  const { join } = await startLiveKitSockets(t, {
    limits: { ...livekitLimits, qualityInterval: 10 },
    statsOf: async () => {
      measured += 1;
      return { peers: ratings.map(([id, quality]) => ({ id, quality }) as PeerStats) };
    },
  });
  const ada = await join('ada');
  const reported = async () => (await ada.waitFor('connectionQuality')).updates.map(({ participantSid: sid, quality }) => [sid, quality]);
  assert.deepEqual(await reported(), [[ada.joined.participant?.sid, ConnectionQuality.EXCELLENT]]);
  await join('bob');
  assert.deepEqual(await reported(), [[participantSid('bob'), ConnectionQuality.POOR]]);
  const before = measured;
  await eventually('further measurements', () => measured > before + 2);
  ratings[1] = ['bob', 'lost'];
  assert.deepEqual(await reported(), [[participantSid('bob'), ConnectionQuality.LOST]]);
});

test('a client is notified of a video that is not sent for lack of bandwidth, and of one that is sent again', async (t) => {
  const { join, peer } = await startLiveKitSockets(t);
  const [ada, bob] = [await join('ada'), await join('bob')];
  const trackSid = await publishVideo(ada);
  const [track] = peer('ada').session.publications.tracks;
  await eventually('bob receives it', () => peer('bob').session.subscriptions.has(track?.id ?? ''));
  const send = (layers: { spatialLayer: number } | null) =>
    peer('bob').session.send({ event: 'layersChanged', data: { trackId: track?.id ?? '', layers } });
  for (const layers of [{ spatialLayer: 0 }, null, null, { spatialLayer: 1 }]) send(layers);
  const states = [await bob.waitFor('streamStateUpdate'), await bob.waitFor('streamStateUpdate')];
  assert.deepEqual(
    states.map(({ streamStates: [stream] }) => [stream?.participantSid, stream?.trackSid, stream?.state]),
    [StreamState.PAUSED, StreamState.ACTIVE].map((state) => [participantSid('ada'), trackSid, state]),
  );
  // Of a video that the client does not show, nothing is sent either.
  bob.send({ case: 'trackSetting', value: new UpdateTrackSettings({ trackSids: [trackSid], disabled: true }) });
  bob.send({ case: 'updateMetadata', value: new UpdateParticipantMetadata({ name: 'Bob' }) });
  await bob.waitFor('requestResponse');
  send(null);
  bob.send({ case: 'pingReq', value: new Ping() });
  await bob.waitFor('pongResp');
  assert.equal(bob.messages.filter((message) => message.case === 'streamStateUpdate').length, 2);
});

test('a publisher is requested to stop layers that no receiver needs, and to send them again', async (t) => {
  const { join, peer } = await startLiveKitSockets(t, { limits: { ...livekitLimits, pauseDelay: 10 } });
  const ada = await join('ada');
  const sid = await publishVideo(ada);
  const [track] = peer('ada').session.publications.tracks;
  const need = (layer: number | undefined) => peer('ada').session.connection.layerNeeded?.(track?.id ?? '', layer);
  const requested = async () => {
    const { trackSid, subscribedCodecs } = await ada.waitFor('subscribedQualityUpdate');
    assert.equal(trackSid, sid);
    return subscribedCodecs.map(({ codec, qualities }) => [
      codec,
      qualities.flatMap(({ quality, enabled }) => (enabled ? VideoQuality[quality] : [])),
    ]);
  };
  need(undefined);
  assert.deepEqual(await requested(), [['vp8', []]]);
  need(1);
  assert.deepEqual(await requested(), [['vp8', ['LOW', 'MEDIUM']]]);
});

test('a client changes its metadata and attributes, except those of its token', async (t) => {
  const { join, peer } = await startLiveKitSockets(t);
  const ada = await join('ada', { attributes: { role: 'host' } });
  const update = (fields: ConstructorParameters<typeof UpdateParticipantMetadata>[0]) =>
    ada.send({ case: 'updateMetadata', value: new UpdateParticipantMetadata(fields) });
  update({ name: 'Ada', metadata: '{"seat":1}', attributes: { hand: 'up' }, requestId: 1 });
  const changed = await ada.waitFor('update', ({ participants }) => participants[0]?.name === 'Ada');
  assert.deepEqual([changed.participants[0]?.metadata, changed.participants[0]?.attributes], ['{"seat":1}', { role: 'host', hand: 'up' }]);
  assert.equal((await ada.waitFor('requestResponse')).reason, RequestResponse_Reason.OK);
  assert.deepEqual(peer('ada').profile.metadata, { seat: 1, name: 'Ada' });
  update({ name: 'Ada', attributes: { role: 'guest' }, requestId: 2 });
  assert.equal((await ada.waitFor('requestResponse')).reason, RequestResponse_Reason.NOT_ALLOWED);
});

test('the newest connection of an identity wins, and the server removes a peer', async (t) => {
  const { rooms, join } = await startLiveKitSockets(t);
  const first = await join('ada');
  const second = await join('ada');
  const { reason, action } = await first.waitFor('leave');
  assert.deepEqual([reason, action], [DisconnectReason.DUPLICATE_IDENTITY, LeaveRequest_Action.DISCONNECT]);
  assert.equal((await first.closed).code, 4409);
  rooms.room('room').peers.delete('ada');
  assert.equal((await second.waitFor('leave')).reason, DisconnectReason.PARTICIPANT_REMOVED);
  assert.equal((await second.closed).code, 1000);
});

test('a client that has to be admitted cannot join before', async (t) => {
  const { rooms, open, join, peer } = await startLiveKitSockets(t);
  rooms.room('room').patch({ admission: 'manual' });
  const early = await open('ada');
  assert.equal((await early.waitFor('leave')).reason, DisconnectReason.JOIN_FAILURE);
  await early.closed;
  peer('ada').admission.admit();
  assert.equal((await join('ada')).joined.participant?.identity, 'ada');
});

test('a client resumes its session with another socket, gets what it missed, and ICE restarts', async (t) => {
  const { open, join, peer, rooms } = await startLiveKitSockets(t);
  const first = await join('ada');
  const bob = await join('bob');
  await first.waitFor('update', ({ participants }) => participants[0]?.identity === 'bob');
  const sid = first.joined.participant?.sid ?? '';
  first.webSocket.terminate();
  await first.closed;
  bob.send({ case: 'leave', value: {} });
  await bob.closed;
  await eventually('bob is disconnected', () => !peer('bob').connected);
  const resumed = await open('ada', { reconnect: '1', sid });
  await resumed.waitFor('reconnect');
  const left = await resumed.waitFor('update', ({ participants }) => participants.some(({ identity }) => identity === 'bob'));
  assert.equal(left.participants[0]?.state, ParticipantInfo_State.DISCONNECTED);
  assert.match((await resumed.waitFor('offer')).sdp, /^a=ice-ufrag:second$/m);
  assert.ok(rooms.room('room').peers.get('ada').connected);
});

test('a session that the node does not have is not resumed: the client joins again', async (t) => {
  const { open, join } = await startLiveKitSockets(t);
  await join('ada');
  const other = await open('ada', { reconnect: '1', sid: 'PA_other' });
  assert.equal((await other.waitFor('leave')).action, LeaveRequest_Action.RECONNECT);
  assert.equal((await other.closed).code, 1001);
});

test('a socket is closed for invalid messages, and for too many', async (t) => {
  const { join } = await startLiveKitSockets(t, { rateLimit: () => 5 });
  const [ada, bob] = [await join('ada'), await join('bob')];
  ada.webSocket.send(Buffer.from([0xff]));
  assert.equal((await ada.closed).code, 4400);
  for (let index = 0; index < 30; index += 1) bob.send({ case: 'pingReq', value: new Ping() });
  assert.equal((await bob.closed).code, 4429);
});

test('an offer that is no SDP ends the session, and the client joins again', async (t) => {
  const { join, peer } = await startLiveKitSockets(t);
  const ada = await join('ada');
  ada.send({ case: 'offer', value: new SessionDescription({ type: 'offer', sdp: 'no SDP', id: 1 }) });
  assert.equal((await ada.waitFor('leave')).action, LeaveRequest_Action.RECONNECT);
  await ada.closed;
  assert.equal(peer('ada').connected, false);
});

test('a token for a room that does not exist ends with a leave, an invalid one with 401', async (t) => {
  const { url } = await startLiveKitSockets(t);
  const socket = await LiveKitSocket.open(url, await signAccessToken({ room: 'other' }));
  assert.equal((await socket.waitFor('leave')).reason, DisconnectReason.JOIN_FAILURE);
  const rejected = new WebSocket(`${url.replace('http', 'ws')}/rtc?access_token=x`);
  const status = await new Promise((resolve) => {
    rejected.on('error', () => {});
    rejected.on('unexpected-response', (_request, response) => resolve(response.statusCode));
  });
  assert.equal(status, 401);
});

test('before its token expires, a client gets one with which it joins again', async (t) => {
  const { url } = await startLiveKitSockets(t);
  const ada = await LiveKitSocket.open(url, await signAccessToken({ identity: 'ada', ttl: 1 }));
  const renewed = await ada.waitFor('refreshToken');
  const again = await LiveKitSocket.open(url, renewed);
  assert.equal((await again.waitFor('join')).participant?.identity, 'ada');
  assert.equal((await ada.waitFor('leave')).reason, DisconnectReason.DUPLICATE_IDENTITY);
});

test('permissions that change are sent to the client, and the end of the node lets it join elsewhere', async (t) => {
  const { join, peer, sockets } = await startLiveKitSockets(t);
  const ada = await join('ada');
  peer('ada').rights.change({ publish: [] });
  const { participants } = await ada.waitFor('update', (update) => update.participants[0]?.permission?.canPublish === false);
  assert.equal(participants[0]?.identity, 'ada');
  const closing = sockets.close();
  assert.equal((await ada.waitFor('leave')).action, LeaveRequest_Action.RECONNECT);
  await closing;
});
