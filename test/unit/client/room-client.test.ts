// A room as an application has it, against a scripted server: without media, and with mediasoup-client's own stand-in for WebRTC.
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { FakeMediaStreamTrack } from 'fake-mediastreamtrack';
import { FakeHandler, testFakeParameters, type types } from 'mediasoup-client';
import { RequestError, type RoomClientOptions, RoomClosedError } from '../../../node/client/src/index.ts';
import type { TrackView, WireObject } from '../../../node/client/src/protocol.ts';
import { emptyWelcome, type FakeSocket, startFakeServer } from './fake-server.ts';
import { roomAt } from './room-kit.ts';

const track = (id: string, changes: Partial<TrackView> = {}): TrackView => ({
  id,
  type: 'audio',
  metadata: null,
  encoding: 'opus',
  simulcast: false,
  paused: false,
  muted: false,
  ...changes,
});

test('without WebRTC a program joins, sees the others and exchanges messages', async (t) => {
  const server = await startFakeServer(t);
  const { room, told, until } = roomAt(t, server, { metadata: { name: 'bot' } });
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome({ peers: [{ id: 'anna', metadata: { name: 'Anna' }, tracks: [track('a1')] }] });
  const metadata = await socket.next();
  assert.deepEqual([metadata.method, metadata.data], ['setPeerMetadata', { metadata: { name: 'bot' } }]);
  socket.answer(metadata);
  await joined;
  assert.equal(room.state, 'joined');
  assert.equal(room.canReceiveMedia, false);
  assert.deepEqual(
    room.peers.get('anna')?.tracks.map(({ id, peerId }) => [id, peerId]),
    [['a1', 'anna']],
  );
  socket.event('trackPaused', { trackId: 'a1', by: 'publisher' });
  socket.event('trackPaused', { trackId: 'a1', by: 'server' });
  socket.event('peerMetadataUpdated', { peerId: 'anna', metadata: 1 });
  socket.event('activeSpeaker', { peerId: 'anna' });
  socket.event('draining', { deadline: '2026-11-21T10:00:00.000Z' });
  socket.event('permissionsUpdated', { permissions: { publish: [], subscribe: true, data: false } });
  socket.event('data', { from: null, label: 'chat', payload: 'hello' });
  assert.deepEqual(await until('data'), { from: null, label: 'chat', payload: 'hello' });
  assert.equal(room.track('a1')?.paused, true);
  assert.equal(room.track('a1')?.muted, true);
  assert.equal(room.peers.get('anna')?.metadata, 1);
  assert.equal(room.activeSpeaker, 'anna');
  assert.deepEqual(room.permissions?.publish, []);
  assert.deepEqual((await until('draining')).deadline, new Date('2026-11-21T10:00:00.000Z'));
  const sent = room.sendData('chat', 'hi', ['anna']);
  const frame = await socket.next();
  assert.deepEqual(frame.data, { label: 'chat', payload: 'hi', to: ['anna'] });
  socket.answer(frame);
  await sent;
  socket.event('peerLeft', { peerId: 'anna' });
  await until('peerLeft');
  assert.equal(room.track('a1'), undefined);
  assert.deepEqual(
    told.filter(({ name }) => name.startsWith('peer') || name.startsWith('track')).map(({ name }) => name),
    ['peerJoined', 'trackAdded', 'trackUpdated', 'trackUpdated', 'peerUpdated', 'trackRemoved', 'peerLeft'],
  );
});

test('a fresh session tells the differences and nothing twice', async (t) => {
  const server = await startFakeServer(t);
  const { room, told, until } = roomAt(t, server);
  const joined = room.join();
  const socket = await server.next();
  const stays = { id: 'stays', metadata: null, tracks: [track('s1')] };
  const file = { id: 'file', type: 'file' as const, externalId: null, properties: {}, tracks: [] };
  await socket.welcome({ peers: [stays, { id: 'goes', metadata: null, tracks: [track('g1')] }], components: [file] });
  await joined;
  told.length = 0;
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', peers: [stays, { id: 'comes', metadata: null, tracks: [] }] });
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.deepEqual(
    told.map(({ name }) => name),
    ['stateChanged', 'trackRemoved', 'peerLeft', 'componentRemoved', 'peerJoined', 'stateChanged'],
  );
});

test('who speaks is known from the welcome on, and forgotten with the session', async (t) => {
  const server = await startFakeServer(t);
  const { room, told, until } = roomAt(t, server);
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome({ activeSpeaker: 'anna' });
  await joined;
  assert.equal(room.activeSpeaker, 'anna');
  socket.event('activeSpeaker', { peerId: 'anna' });
  socket.cut();
  await (await server.next()).welcome({ sessionId: 'session-2' });
  await until('activeSpeaker', ({ peerId }) => peerId === null);
  assert.equal(room.activeSpeaker, null);
  const speakers = told.filter(({ name }) => name === 'activeSpeaker').map(({ data }) => data);
  assert.deepEqual(speakers, [{ peerId: 'anna' }, { peerId: null }]);
});

test('what the peer shows and how it subscribes is told to a fresh session as it was last set', async (t) => {
  const server = await startFakeServer(t);
  server.prepare((socket) => void socket.automatically('setPeerMetadata'));
  const { room, until } = roomAt(t, server, { metadata: 'first' });
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome();
  await joined;
  await room.setMetadata('second');
  socket.cut();
  await until('stateChanged', ({ state }) => state === 'reconnecting');
  const manual = room.setSubscription('manual');
  const seen: unknown[] = [];
  server.prepare(
    (next) => void next.automatically('setPeerMetadata', (frame) => seen.push(frame.data.metadata) && {}).automatically('setSubscription'),
  );
  const next = await server.next();
  next.automatically('setPeerMetadata', (frame) => seen.push(frame.data.metadata) && {}).automatically('setSubscription');
  await next.welcome({ sessionId: 'session-2' });
  await manual;
  await until('stateChanged', ({ state }) => state === 'joined');
  assert.deepEqual(seen, ['second']);
});

test('join rejects with the reason where the room cannot be entered', async (t) => {
  const server = await startFakeServer(t);
  const { room, told } = roomAt(t, server);
  const joined = room.join();
  const socket = await server.next();
  socket.refuse(await socket.next(), 'peer_not_found', 'Peer me does not exist in room r');
  socket.webSocket.close(4401);
  await assert.rejects(joined, (error) => error instanceof RoomClosedError && error.closing.reason === 'notFound');
  assert.equal(room.state, 'closed');
  assert.deepEqual(
    told.map(({ name }) => name),
    ['stateChanged', 'stateChanged', 'closed'],
  );
  await assert.rejects(room.sendData('a', 1), RoomClosedError);
  await assert.rejects(room.publish(new FakeMediaStreamTrack({ kind: 'audio' })), RoomClosedError);
});

test('a listener that throws harms neither the others nor the room', async (t) => {
  const server = await startFakeServer(t);
  const { room, until } = roomAt(t, server);
  const scope = globalThis as { reportError?: unknown };
  const thrown = new Promise<Error>((resolve) => {
    scope.reportError = resolve;
  });
  t.after(() => delete scope.reportError);
  room.on('data', () => {
    throw new Error('of a listener');
  });
  let others = 0;
  const stop = room.on('data', () => {
    others += 1;
  });
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome();
  await joined;
  socket.event('data', { from: null, label: 'a', payload: 1 });
  await until('data');
  assert.equal((await thrown).message, 'of a listener');
  assert.equal(others, 1);
  stop();
});

/** Answers everything about media as a server would; what is published is written down. */
function mediaServer(published: WireObject[]) {
  let count = 0;
  return (socket: FakeSocket) => {
    const number = () => {
      count += 1;
      return String(count);
    };
    socket
      .automatically('createTransport', () => ({ ...testFakeParameters.generateTransportRemoteParameters(), id: `transport-${number()}` }))
      .automatically('publish', ({ data }) => {
        published.push(data);
        return { trackId: `track-${number()}` };
      });
    for (const method of [
      'connectTransport',
      'join',
      'pauseTrack',
      'resumeTrack',
      'unpublish',
      'setTrackMetadata',
      'trackReady',
    ] as const) {
      socket.automatically(method);
    }
  };
}

const rtpCapabilities = testFakeParameters.generateRouterRtpCapabilities() as unknown as WireObject;
const withMedia = (): Partial<RoomClientOptions> => {
  const parameters = {
    generateNativeRtpCapabilities: testFakeParameters.generateNativeRtpCapabilities,
    generateLocalDtlsParameters: testFakeParameters.generateLocalDtlsParameters,
  };
  return { handlerFactory: FakeHandler.createFactory(parameters) as types.HandlerFactory };
};

async function joinedWithMedia(t: TestContext) {
  const server = await startFakeServer(t);
  const published: WireObject[] = [];
  server.prepare(mediaServer(published));
  const told = roomAt(t, server, withMedia());
  const joined = told.room.join();
  const socket = await server.next();
  await socket.welcome({ rtpCapabilities });
  await joined;
  return { server, socket, published, ...told };
}

test('everything that was published is published again over a fresh session, as it was', async (t) => {
  const { server, socket, published, room, until } = await joinedWithMedia(t);
  const source = new FakeMediaStreamTrack({ kind: 'audio' });
  const audio = await room.publish(source, { metadata: { source: 'microphone' } });
  const video = await room.publish(new FakeMediaStreamTrack({ kind: 'video' }));
  await audio.pause();
  await video.setMetadata('new');
  const gone = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  await gone.unpublish();
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

test('a resumed session publishes nothing again', async (t) => {
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

test('tracks that arrive are told, gone with their session, and told again with the next', async (t) => {
  const { server, socket, told, until } = await joinedWithMedia(t);
  const arrive = (to: FakeSocket, transportId: string) => {
    const { kind, rtpParameters } = testFakeParameters.generateConsumerRemoteParameters({ codecMimeType: 'audio/opus' });
    const parameters = rtpParameters as unknown as WireObject;
    to.event('trackSubscribed', { peerId: 'anna', trackId: 'a1', transportId, kind, rtpParameters: parameters, paused: false });
  };
  arrive(socket, 'transport-1');
  const { track: media, peerId } = await until('trackSubscribed');
  assert.equal(media.kind, 'audio');
  assert.equal(peerId, 'anna');
  socket.cut();
  const next = await server.next();
  await next.welcome({ sessionId: 'session-2', rtpCapabilities });
  await until('trackUnsubscribed', ({ trackId }) => trackId === 'a1');
  arrive(next, 'transport-3');
  await until('trackSubscribed', (event) => event.track !== media);
  next.event('trackUnsubscribed', { trackId: 'a1' });
  next.event('data', { from: null, label: 'after', payload: null });
  await until('data');
  assert.equal(told.filter(({ name }) => name === 'trackUnsubscribed').length, 2);
});

test('the server mutes, unmutes and removes a published track', async (t) => {
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

test('a mute by the server holds where the session is resumed and where a new one says so; one that was lifted meanwhile is told', async (t) => {
  const { server, socket, published, room, told, until } = await joinedWithMedia(t);
  const audio = await room.publish(new FakeMediaStreamTrack({ kind: 'audio' }));
  socket.event('trackPaused', { trackId: audio.id, by: 'server' });
  await until('localTrackMuted');
  const mutes = () => told.filter(({ name }) => name === 'localTrackMuted').map(({ data }) => (data as { muted: boolean }).muted);
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
  assert.ok(typeof first === 'string' && first === again && first !== third, 'the server knows it again by its key');
  second.cut();
  await (await server.next()).welcome({ sessionId: 'session-3', rtpCapabilities });
  assert.deepEqual(await until('localTrackMuted', ({ muted }) => !muted), { track: audio, muted: false });
  assert.deepEqual([audio.muted, mutes()], [false, [true, false]]);
});

test('a track that the server took away while the client was away ends as removed; others that it refuses end as refused', async (t) => {
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

test('what the server says of a track right behind the answer that tells its id is not lost', async (t) => {
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

test('a source that ends takes its track away', async (t) => {
  const { room, until } = await joinedWithMedia(t);
  const source = new FakeMediaStreamTrack({ kind: 'video' });
  const video = await room.publish(source);
  source.remoteStop();
  assert.deepEqual(await until('localTrackEnded'), { track: video, reason: 'ended' });
  assert.deepEqual(room.localTracks, []);
});

test('a refused publication rejects, and simulcast that is refused is tried without', async (t) => {
  const server = await startFakeServer(t);
  const published: WireObject[] = [];
  server.prepare(mediaServer(published));
  const { room } = roomAt(t, server, withMedia());
  const joined = room.join();
  const socket = await server.next();
  await socket.welcome({ rtpCapabilities });
  await joined;
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

test('the welcome of the wire has what the room shows', async (t) => {
  const server = await startFakeServer(t);
  const { room } = roomAt(t, server);
  const joined = room.join();
  await (await server.next()).welcome();
  await joined;
  assert.deepEqual([room.peerId, room.roomId], [emptyWelcome.peerId, emptyWelcome.roomId]);
});
