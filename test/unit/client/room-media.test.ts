// Tracks of a room client, against a scripted server with the fake WebRTC handler of mediasoup-client.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import { FakeHandler, testFakeParameters } from 'mediasoup-client';
import type { RtpParameters } from '../../../packages/client/src/generated/protocol.ts';
import { RequestError } from '../../../packages/client/src/index.ts';
import { eventually } from '../../kit/eventually.ts';
import type { FakeSocket } from './fake-server.ts';
import { joinedWithMedia, rtpCapabilities } from './media-kit.ts';

test('all published tracks are republished unchanged in a new session', async (t) => {
  const { server, socket, published, room, until } = await joinedWithMedia(t);
  const source = new FakeMediaStreamTrack({ kind: 'audio' });
  const audio = await room.publish(source, { metadata: { source: 'microphone' } });
  const video = await room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  await audio.pause();
  await video.setMetadata('new');
  const unpublished = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  await unpublished.unpublish();
  const ids = [audio.id, video.id];
  published.length = 0;
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  const late = room.publish(new FakeMediaStreamTrack({ kind: 'audio' }), { metadata: 'late' });
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  await late;
  assert.deepEqual(
    published.map(({ kind, metadata, paused }) => ({ kind, metadata, paused })),
    [
      { kind: 'audio', metadata: { source: 'microphone' }, paused: true },
      { kind: 'video', metadata: 'new', paused: false },
      { kind: 'audio', metadata: 'late', paused: false },
    ],
  );
  assert.equal(room.localTracks.length, 3);
  assert.equal(audio.mediaStreamTrack, source);
  assert.equal(source.readyState, 'live');
  assert.ok(!ids.includes(audio.id) && !ids.includes(video.id));
});

test('a track that the application encrypts is published as encrypted', async (t) => {
  const { published, room } = await joinedWithMedia(t);
  await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }), { encrypt: () => {} });
  await room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  assert.deepEqual(
    published.map((data) => ('encrypted' in data ? data.encrypted : undefined)),
    [true, undefined],
  );
});

test('a resumed session republishes nothing', async (t) => {
  const { server, socket, published, room, until } = await joinedWithMedia(t);
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  const { id } = audio;
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  const next = await server.next();
  await next.welcome({ resumed: true, lastRequest: 1_000 });
  await until('stateChanged', ({ state, previous }) => state === 'joined' && previous === 'reconnecting');
  assert.equal(published.length, 1);
  assert.equal(audio.id, id);
});

test('new ICE servers are used by transports without a path at once, by others with their next ICE restart', async (t) => {
  const sent = t.mock.method(FakeHandler.prototype, 'send');
  const updated = t.mock.method(FakeHandler.prototype, 'updateIceServers');
  const updates = () => updated.mock.calls.map((call) => ({ handler: call.this as FakeHandler, servers: call.arguments[0] }));
  const { socket, room } = await joinedWithMedia(t);
  await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  const sender = sent.mock.calls[0]?.this as FakeHandler;
  sender.setConnectionState('connected');
  const iceServers = [{ urls: ['turn:turn.example.com'], username: 'new', credential: 'new' }];
  socket.event('iceServersUpdated', { iceServers });
  await eventually('the receive transport gets them', () => updates().length === 1);
  assert.notEqual(updates()[0]?.handler, sender);
  socket.automatically('restartIce', () => ({ iceParameters: { usernameFragment: 'new', password: 'new' } }));
  sender.setConnectionState('failed');
  const restarted = await eventually('ICE restarts', () => updates().find(({ handler }) => handler === sender));
  assert.deepEqual(restarted.servers, iceServers);
});

test('received tracks are reported, end with their session, and are reported again in the next', async (t) => {
  const { server, socket, reported, until } = await joinedWithMedia(t);
  const arrive = (to: FakeSocket, transportId: string) => {
    const { kind, rtpParameters } = testFakeParameters.generateConsumerRemoteParameters({ codecMimeType: 'audio/opus' });
    const parameters = rtpParameters as RtpParameters;
    to.event('trackSubscribed', {
      peerId: 'anna',
      trackId: 'a1',
      transportId,
      kind,
      rtpParameters: parameters,
      paused: false,
    });
  };
  arrive(socket, 'transport-1');
  const { track: media, peerId } = await until('trackSubscribed');
  assert.equal(media.kind, 'audio');
  assert.equal(peerId, 'anna');
  socket.cut();
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  await until('trackUnsubscribed', ({ trackId }) => trackId === 'a1');
  arrive(next, 'transport-2');
  await until('trackSubscribed', (event) => event.track !== media);
  next.event('trackUnsubscribed', { trackId: 'a1' });
  next.event('data', { from: null, label: 'after', payload: null });
  await until('data');
  assert.equal(reported.filter(({ name }) => name === 'trackUnsubscribed').length, 2);
});

test('tracks that start together are received with one negotiation and one ready request', async (t) => {
  const { socket, reported, until } = await joinedWithMedia(t);
  const negotiated = t.mock.method(FakeHandler.prototype, 'receive');
  socket.manually('tracksReady').automatically('trackReady');
  const arriving = (trackId: string, codecMimeType = 'audio/opus') => {
    const { kind, rtpParameters } = testFakeParameters.generateConsumerRemoteParameters({ codecMimeType });
    return { peerId: 'anna', trackId, transportId: 'transport-1', kind, rtpParameters: rtpParameters as RtpParameters, paused: false };
  };
  const tracks = [arriving('a3'), arriving('a2'), arriving('a1'), arriving('odd', 'audio/ISAC')];
  socket.event('tracksSubscribed', { tracks });
  assert.deepEqual((await socket.next()).data, { trackIds: ['a3', 'a2', 'a1'] });
  assert.deepEqual(
    negotiated.mock.calls.map((call) => call.arguments[0].map(({ trackId }) => trackId)),
    [['a3', 'a2', 'a1']],
  );
  // A node of version 0.7.
  const count = reported.length;
  socket.manually('trackReady');
  socket.event('trackSubscribed', arriving('old'));
  assert.deepEqual((await socket.next()).data, { trackId: 'old' });
  await until('trackSubscribed', ({ trackId }) => trackId === 'old');
  assert.equal(reported.length, count + 1);
});

test('the send transport is created on first use, and with the session if tracks were published before', async (t) => {
  const { server, socket, room } = await joinedWithMedia(t);
  const asked: unknown[] = [];
  const transports = (of: FakeSocket) =>
    of.automatically('createTransport', ({ data }) => {
      asked.push(data.direction);
      return { ...testFakeParameters.generateTransportRemoteParameters(), id: `${data.direction}-${asked.length}` };
    });
  transports(socket);
  socket.automatically('getStats');
  assert.equal((await room.getStats()).send, undefined);
  await Promise.all(['audio', 'video', 'audio'].map((kind) => room.publish(new FakeMediaStreamTrack({ kind }))));
  assert.deepEqual(asked, ['send']);
  socket.cut();
  const next = transports(await server.next());
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  assert.deepEqual(asked, ['send', 'recv', 'send']);
});

test('a rejected send transport fails the publication, and is requested again', async (t) => {
  const { socket, room } = await joinedWithMedia(t);
  socket.manually('createTransport');
  const first = room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  socket.refuse(await socket.next(), 'unavailable');
  await assert.rejects(first, { code: 'unavailable' });
  socket.automatically('createTransport', () => ({ ...testFakeParameters.generateTransportRemoteParameters(), id: 'send' }));
  await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
});

test('the server can mute, unmute and remove a published track', async (t) => {
  const { socket, room, until } = await joinedWithMedia(t);
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  socket.event('trackPaused', { trackId: audio.id, by: 'server' });
  assert.equal((await until('localTrackMuted')).muted, true);
  assert.equal(audio.muted, true);
  socket.event('trackRemoved', { peerId: 'me', trackId: audio.id });
  assert.deepEqual(await until('localTrackEnded'), { track: audio, reason: 'removed' });
  assert.deepEqual(room.localTracks, []);
  await assert.rejects(audio.pause(), RequestError);
});

test('a mute by the server persists over resumed and new sessions, and one lifted meanwhile is reported', async (t) => {
  const { server, socket, published, room, reported, until } = await joinedWithMedia(t);
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  socket.event('trackPaused', { trackId: audio.id, by: 'server' });
  await until('localTrackMuted');
  const mutes = () => reported.filter(({ name }) => name === 'localTrackMuted').map(({ data }) => (data as { muted: boolean }).muted);
  socket.cut();
  const resumed = await server.next();
  await resumed.welcome({ resumed: true, lastRequest: 1_000 });
  await until('stateChanged', ({ state, previous }) => state === 'joined' && previous === 'reconnecting');
  assert.deepEqual([audio.muted, mutes()], [true, [true]]);
  resumed.cut();
  const second = await server.next();
  second.automatically('publish', ({ data }) => ({ trackId: `again-${published.push(data)}`, muted: data.key === published[0]?.key }));
  await second.welcome({ sessionId: 'session-2', rtpCapabilities });
  const other = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  assert.deepEqual([audio.id, audio.muted, other.muted, mutes()], ['again-2', true, false, [true]]);
  const [first, again, third] = published.map(({ key }) => key);
  assert.ok(typeof first === 'string' && first === again && first !== third, 'the server recognizes the track by its key');
  second.cut();
  await (await server.next()).welcome({ sessionId: 'session-3', rtpCapabilities });
  assert.deepEqual(await until('localTrackMuted', ({ muted }) => !muted), { track: audio, muted: false });
  assert.deepEqual([audio.muted, mutes()], [false, [true, false]]);
});

test('a track removed during an outage ends as removed, a rejected one as refused', async (t) => {
  const { server, socket, room, until } = await joinedWithMedia(t);
  const removed = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  const refused = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  socket.cut();
  const next = (await server.next()).manually('publish');
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  next.refuse(await next.next(), 'track_not_found', 'Track track-3 was removed by the server');
  next.refuse(await next.next(), 'forbidden');
  assert.deepEqual(await until('localTrackEnded', ({ track }) => track === removed), { track: removed, reason: 'removed' });
  assert.deepEqual(await until('localTrackEnded', ({ track }) => track === refused), { track: refused, reason: 'refused' });
  assert.deepEqual(room.localTracks, []);
});

test('an event about a track directly after the response with its id is not lost', async (t) => {
  const { socket, room, until } = await joinedWithMedia(t);
  socket.manually('publish');
  const publish = async (trackId: string, say: () => void) => {
    const published = room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
    socket.answer(await socket.next(), { trackId });
    say();
    return published;
  };
  const muted = await publish('one', () => socket.event('trackPaused', { trackId: 'one', by: 'server' }));
  assert.deepEqual(await until('localTrackMuted'), { track: muted, muted: true });
  const removed = await publish('two', () => socket.event('trackRemoved', { peerId: 'me', trackId: 'two' }));
  assert.deepEqual(await until('localTrackEnded'), { track: removed, reason: 'removed' });
  assert.deepEqual(room.localTracks, [muted]);
});

test('an ended source unpublishes its track', async (t) => {
  const { room, until } = await joinedWithMedia(t);
  const source = new FakeMediaStreamTrack({ kind: 'video' });
  const video = await room.publish(source);
  source.remoteStop();
  assert.deepEqual(await until('localTrackEnded'), { track: video, reason: 'ended' });
  assert.deepEqual(room.localTracks, []);
});

test('a source that ends during publication unpublishes its track', async (t) => {
  const { server, socket, room, until } = await joinedWithMedia(t);
  socket.manually('publish').manually('unpublish');
  const source = new FakeMediaStreamTrack({ kind: 'video' });
  const publishing = room.publish(source);
  const frame = await socket.next();
  source.remoteStop();
  socket.answer(frame, { trackId: 'gone' });
  const unpublish = await socket.next();
  assert.deepEqual([unpublish.method, unpublish.data], ['unpublish', { trackId: 'gone' }]);
  socket.answer(unpublish);
  await assert.rejects(publishing, { code: 'ended' });
  assert.deepEqual(room.localTracks, []);
  // The same if it is republished in a new session.
  const other = new FakeMediaStreamTrack({ kind: 'audio' });
  const again = room.publish(other);
  socket.answer(await socket.next(), { trackId: 'first' });
  const local = await again;
  socket.cut();
  const next = (await server.next()).manually('publish').manually('unpublish');
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  const second = await next.next();
  other.remoteStop();
  next.answer(second, { trackId: 'second' });
  const removal = await next.next();
  assert.deepEqual(removal.data, { trackId: 'second' });
  next.answer(removal);
  assert.deepEqual(await until('localTrackEnded'), { track: local, reason: 'ended' });
  assert.deepEqual(room.localTracks, []);
});

test('a track is unpublished if its new metadata are rejected after republication', async (t) => {
  const { server, socket, room, until } = await joinedWithMedia(t);
  const video = await room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  socket.cut();
  const next = (await server.next()).manually('publish').manually('setTrackMetadata').manually('unpublish');
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  const publish = await next.next();
  await video.setMetadata('too large');
  next.answer(publish, { trackId: 'again' });
  next.refuse(await next.next(), 'bad_request', 'The metadata is too large');
  const removal = await next.next();
  assert.deepEqual([removal.method, removal.data], ['unpublish', { trackId: 'again' }]);
  assert.deepEqual(await until('localTrackEnded'), { track: video, reason: 'refused' });
  assert.deepEqual(room.localTracks, []);
});

test('a rejected publication rejects, and rejected simulcast is retried without', async (t) => {
  const { socket, room } = await joinedWithMedia(t);
  const refuseSimulcast = async () => {
    const frame = await socket.next();
    const { encodings } = frame.data.rtpParameters as { encodings: unknown[] };
    if (encodings.length > 1) {
      socket.refuse(frame, 'forbidden', 'Simulcast is not enabled for this peer');
      return refuseSimulcast();
    }
    socket.answer(frame, { trackId: 'plain' });
    return undefined;
  };
  socket.manually('publish');
  const refusing = refuseSimulcast();
  const video = await room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  await refusing;
  assert.equal(video.id, 'plain');
  const audio = room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  socket.refuse(await socket.next(), 'forbidden', 'This peer is not permitted to publish audio');
  await assert.rejects(audio, { code: 'forbidden' });
  assert.equal(room.localTracks.length, 1);
});

test('rejected metadata are not sent to a new session, which would be rejected too', async (t) => {
  const { server, socket, room, until } = await joinedWithMedia(t, { metadata: 'first' });
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }), { metadata: 'microphone' });
  socket.manually('setPeerMetadata').manually('setTrackMetadata').manually('setSubscription');
  const refused = async (request: Promise<void>) => {
    socket.refuse(await socket.next(), 'bad_request', 'The metadata is too large');
    await assert.rejects(request, { code: 'bad_request' });
  };
  await refused(room.setMetadata('too large'));
  await refused(audio.setMetadata('too large'));
  await refused(room.setSubscription('manual'));
  assert.equal(audio.metadata, 'microphone');
  socket.cut();
  const next = (await server.next()).manually('join').manually('publish').manually('setSubscription');
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  const frames = [await next.next(), await next.next()];
  assert.deepEqual(
    frames.map(({ method, data }) => [method, data.metadata]),
    [
      ['join', 'first'],
      ['publish', 'microphone'],
    ],
  );
  for (const frame of frames) next.answer(frame, frame.method === 'publish' ? { trackId: 'again' } : {});
  await until('stateChanged', ({ state, previous }) => state === 'joined' && previous === 'reconnecting');
});
