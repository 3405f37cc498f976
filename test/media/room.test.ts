// Rooms, peers and tracks with the real worker.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ServiceError } from '../../api/errors.ts';
import { eventually } from '../kit/eventually.ts';
import { engineFor, nextSsrc, openPair, openPeer, openRoom, opusParameters, textOf, type VideoName, videoParameters } from './kit.ts';

type RtpCapabilities = { codecs?: { mimeType: string; parameters?: object }[]; headerExtensions?: { uri: string }[] };
type RtpParameters = { encodings?: { scalabilityMode?: string }[]; headerExtensions?: { uri: string }[] };

const code = (expected: string) => (error: unknown) => error instanceof ServiceError && error.code === expected;
const absCaptureTime = 'http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time';

test('a room has all codecs, or the enforced one and Opus', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const codecs = async (videoCodec: 'vp8' | 'h264' | 'none' | null) => {
    const capabilities = (await openRoom(mediaWorkerPool, { videoCodec }).rtpCapabilities()) as RtpCapabilities;
    return (capabilities.codecs ?? [])
      .filter(({ mimeType }) => mimeType !== 'video/rtx')
      .map(({ mimeType, parameters }) => ({ mimeType, parameters }));
  };
  const opus = { mimeType: 'audio/opus', parameters: { 'sprop-stereo': 1, useinbandfec: 1, usedtx: 1 } };
  // Constrained baseline is the first, so that browsers publish it.
  const h264 = [1, 0].flatMap((mode) =>
    ['42e01f', '42001f', '4d001f', '64001f'].map((profile) => ({
      mimeType: 'video/H264',
      parameters: { 'packetization-mode': mode, 'profile-level-id': profile, 'level-asymmetry-allowed': 1 },
    })),
  );
  assert.deepEqual(await codecs('vp8'), [opus, { mimeType: 'video/VP8', parameters: {} }]);
  assert.deepEqual(await codecs('h264'), [opus, ...h264]);
  assert.deepEqual(await codecs('none'), [opus]);
  assert.deepEqual(
    [...new Set((await codecs(null)).map(({ mimeType }) => mimeType))],
    ['audio/opus', 'video/VP8', 'video/H264', 'video/VP9', 'video/AV1'],
  );
});

test('abs-capture-time is neither offered nor negotiated with a publisher that has it', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const capabilities = await room.rtpCapabilities();
  const { headerExtensions = [] } = capabilities as RtpCapabilities;
  assert.ok(headerExtensions.length > 5);
  assert.equal(
    headerExtensions.some(({ uri }) => uri === absCaptureTime),
    false,
  );
  const [a, b] = [await openPeer(room, 'a'), await openPeer(room, 'b')];
  await a.publish('t', 'video', videoParameters('0'));
  const all = { ...capabilities, headerExtensions: [...headerExtensions, { kind: 'video', uri: absCaptureTime, preferredId: 10 }] };
  const subscription = await b.media.subscribe('t', all);
  const { headerExtensions: negotiated = [] } = (subscription?.rtpParameters ?? {}) as RtpParameters;
  assert.ok(negotiated.length > 0);
  assert.equal(
    negotiated.some(({ uri }) => uri === absCaptureTime),
    false,
  );
});

test('a transport is plain JSON with exactly the fields of mediasoup-client', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const { media } = await openPeer(openRoom(mediaWorkerPool), 'p');
  const withData = await media.createTransport('send', { sctp: true });
  assert.deepEqual(withData, JSON.parse(JSON.stringify(withData)));
  assert.deepEqual(Object.keys(withData).sort(), ['dtlsParameters', 'iceCandidates', 'iceParameters', 'id', 'sctpParameters']);
  assert.deepEqual(Object.keys(withData.sctpParameters as object).sort(), ['MIS', 'OS', 'maxMessageSize', 'port']);
  const without = await media.createTransport('recv', { sctp: false });
  assert.deepEqual(Object.keys(without).sort(), ['dtlsParameters', 'iceCandidates', 'iceParameters', 'id']);
});

test('a track is received by another peer with pause, resume, layers and priority, and ends with its publisher', async (t) => {
  const { mediaWorkerPool, capabilities, a, b } = await openPair(t);
  assert.deepEqual(await a.publish('audio', 'audio', opusParameters('0')), { encoding: 'opus', simulcast: false });
  assert.deepEqual(await a.publish('video', 'video', videoParameters('1', 'VP8', true), true), { encoding: 'vp8', simulcast: true });
  const audio = await b.media.subscribe('audio', capabilities);
  assert.equal(audio?.kind, 'audio');
  assert.equal(audio?.transportId, b.recv);
  assert.equal(audio?.paused, false);
  assert.deepEqual(audio, JSON.parse(JSON.stringify(audio)));
  const video = await b.media.subscribe('video', capabilities);
  assert.equal(video?.paused, true);
  assert.equal((video?.rtpParameters as RtpParameters | undefined)?.encodings?.[0]?.scalabilityMode, 'L3T3');
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 2 });
  await b.media.setSubscriptionPaused('audio', false);
  await b.media.setSubscriptionPaused('video', false);
  await b.media.setPreferredLayers('video', { spatialLayer: 1, temporalLayer: 0 });
  await b.media.setPreferredLayers('audio', { spatialLayer: 0 });
  await b.media.setPriority('video', 255);
  await assert.rejects(b.media.setPreferredLayers('video', { spatialLayer: -1 }), code('invalid_field'));
  await assert.rejects(b.media.setPreferredLayers('video', { spatialLayer: 0, temporalLayer: 1.5 }), code('invalid_field'));
  for (const priority of [0, 256, 1.5, Number.NaN]) await assert.rejects(b.media.setPriority('video', priority), code('invalid_field'));
  await a.media.setPaused('video', false);
  assert.equal((await b.media.subscribe('video', capabilities))?.paused, false);
  await a.media.setPaused('video', true);
  await a.media.setPaused('video', true);
  a.media.unpublish('audio');
  await assert.rejects(b.media.subscribe('audio', capabilities), code('track_not_found'));
  await eventually('subscription closed', () => mediaWorkerPool.load().forwardedTracks === 1);
  await assert.rejects(b.media.setSubscriptionPaused('audio', false), code('track_not_found'));
  b.media.unsubscribe('video');
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 0 });
  b.media.unsubscribe('video');
  a.media.unpublish('audio');
});

test('each codec of a room has a lower-case name, and SVC layers count as simulcast', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const { publish } = await openPeer(openRoom(mediaWorkerPool), 'p');
  const names: VideoName[] = ['VP8', 'H264', 'VP9', 'AV1'];
  for (const [index, name] of names.entries()) {
    const described = await publish(name, 'video', videoParameters(`${index}`, name));
    assert.deepEqual(described, { encoding: name.toLowerCase(), simulcast: false });
  }
  const svc = videoParameters('9', 'VP9');
  svc.encodings = [{ ssrc: nextSsrc(), scalabilityMode: 'L3T3_KEY' }];
  assert.deepEqual(await publish('svc', 'video', svc), { encoding: 'vp9', simulcast: true });
});

test('a room with an enforced codec rejects other codecs', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const peer = await openPeer(openRoom(mediaWorkerPool, { videoCodec: 'h264' }), 'p');
  const publish = (name: VideoName) => peer.publish(name, 'video', videoParameters(name, name));
  await assert.rejects(
    publish('VP8'),
    (error) => code('invalid_field')(error) && /^rtpParameters were rejected: unsupported codec .*[^.]$/.test((error as Error).message),
  );
  assert.deepEqual(await publish('H264'), { encoding: 'h264', simulcast: false });
});

test('a receiver that cannot decode a track gets undefined, and may retry with other capabilities', async (t) => {
  const { room, a, b } = await openPair(t);
  const capabilities = (await room.rtpCapabilities()) as RtpCapabilities;
  await a.publish('t', 'video', videoParameters('0', 'AV1'));
  const withoutAv1 = { ...capabilities, codecs: capabilities.codecs?.filter(({ mimeType }) => mimeType !== 'video/AV1') };
  assert.equal(await b.media.subscribe('t', withoutAv1), undefined);
  assert.equal(await b.media.subscribe('t', {}), undefined);
  const high = videoParameters('1', 'H264');
  const profile = '64001f';
  Object.assign((high.codecs as object[])[0] ?? {}, { parameters: { 'packetization-mode': 1, 'profile-level-id': profile } });
  await a.publish('high', 'video', high);
  const withoutHigh = {
    ...capabilities,
    codecs: capabilities.codecs?.filter(({ parameters }) => !JSON.stringify(parameters).includes(profile)),
  };
  assert.equal(await b.media.subscribe('high', withoutHigh), undefined);
  assert.ok(await b.media.subscribe('high', capabilities));
  assert.equal((await b.media.subscribe('t', capabilities))?.kind, 'video');
  await assert.rejects(b.media.subscribe('t', { codecs: [null] }), code('invalid_field'));
});

test('concurrent subscriptions share one result, and leaving or unsubscribing meanwhile leaves nothing', async (t) => {
  const { mediaWorkerPool, capabilities, a, b } = await openPair(t);
  await a.publish('t', 'audio', opusParameters('0'));
  const [one, other] = await Promise.all([b.media.subscribe('t', capabilities), b.media.subscribe('t', capabilities)]);
  assert.ok(one);
  assert.deepEqual(one, other);
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 1 });
  b.media.unsubscribe('t');
  const given = b.media.subscribe('t', capabilities);
  setImmediate(() => b.media.unsubscribe('t'));
  await given.then(
    () => b.media.unsubscribe('t'),
    (error) => assert.ok(code('track_not_found')(error)),
  );
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 0 });
  const pending = b.media.subscribe('t', capabilities);
  b.media.close();
  await assert.rejects(pending, ServiceError);
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 0 });
});

test('a track that is unpublished while it is being subscribed leaves nothing', async (t) => {
  const { mediaWorkerPool, capabilities, a, b } = await openPair(t);
  for (let turns = 0; turns < 8; turns += 1) {
    const trackId = `t${turns}`;
    await a.publish(trackId, 'audio', opusParameters(trackId));
    const pending = b.media.subscribe(trackId, capabilities);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    a.media.unpublish(trackId);
    await pending.catch((error) => assert.ok(code('track_not_found')(error), String(error)));
    await eventually('subscription closed', () => mediaWorkerPool.load().forwardedTracks === 0);
  }
});

test('unknown transports and tracks, wrong directions and used ids are rejected with their name', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const { media, send, recv } = await openPeer(room, 'p');
  const options = { trackId: 't', kind: 'audio' as const, rtpParameters: opusParameters('0'), paused: false };
  await assert.rejects(media.publish({ ...options, transportId: 'nope' }), code('not_found'));
  await assert.rejects(media.publish({ ...options, transportId: recv }), code('conflict'));
  await media.publish({ ...options, transportId: send });
  await assert.rejects(media.publish({ ...options, transportId: send }), code('already_exists'));
  await assert.rejects(media.publish({ ...options, transportId: send, trackId: 'u' }), code('invalid_field'));
  await assert.rejects(media.restartIce('nope'), code('not_found'));
  await assert.rejects(media.setPaused('nope', true), code('track_not_found'));
  await assert.rejects(media.subscribe('nope', {}), code('track_not_found'));
  await assert.rejects(media.setSubscriptionPaused('nope', false), code('track_not_found'));
  await assert.rejects(media.setPriority('nope', 1), code('track_not_found'));
  const sender = room.openPeer('sender', { layersChanged: () => {}, failed: () => {} });
  await assert.rejects(sender.subscribe('t', await room.rtpCapabilities()), code('not_found'));
});

test('a second transport of a direction closes the first with its tracks; of two concurrent ones one remains', async (t) => {
  const { mediaWorkerPool, capabilities, a, b } = await openPair(t);
  await a.publish('t', 'audio', opusParameters('0'));
  await b.media.subscribe('t', capabilities);
  assert.equal(b.media.hasTransport('recv'), true);
  const recv = textOf(await b.media.createTransport('recv', { sctp: false }), 'id');
  assert.deepEqual(mediaWorkerPool.load(), { forwardedTracks: 0 });
  await assert.rejects(b.media.restartIce(b.recv), code('not_found'));
  assert.equal((await b.media.subscribe('t', capabilities))?.transportId, recv);
  await a.media.createTransport('send', { sctp: false });
  await assert.rejects(b.media.subscribe('t', capabilities), code('track_not_found'));
  const [first, second] = await Promise.allSettled([
    a.media.createTransport('send', { sctp: false }),
    a.media.createTransport('send', { sctp: false }),
  ]);
  assert.equal(first.status, 'rejected');
  assert.equal(second.status, 'fulfilled');
});

test('data tracks are sent over SCTP from one peer to another', async (t) => {
  const { a, b } = await openPair(t);
  const publish = {
    transportId: a.send,
    dataTrackId: 'd',
    sctpStreamParameters: { streamId: 0, ordered: false, maxRetransmits: 1 },
    label: 'chat',
    protocol: 'json',
  };
  await a.media.data.publish(publish);
  const received = await b.media.data.subscribe('d');
  assert.equal(received.transportId, b.recv);
  assert.deepEqual([received.label, received.protocol], ['chat', 'json']);
  assert.equal(received.sctpStreamParameters.maxRetransmits, 1);
  assert.deepEqual(await b.media.data.subscribe('d'), received);
  await assert.rejects(a.media.data.publish(publish), code('already_exists'));
  for (const sctpStreamParameters of [
    {},
    { streamId: -1 },
    { streamId: 65_535 },
    { streamId: '1' },
    { streamId: 1, maxRetransmits: 1, maxPacketLifeTime: 1 },
    { streamId: 1, ordered: true, maxRetransmits: 1 },
  ])
    await assert.rejects(a.media.data.publish({ ...publish, dataTrackId: 'e', sctpStreamParameters }), code('invalid_field'));
  await assert.rejects(a.media.data.publish({ ...publish, dataTrackId: 'e' }), code('invalid_field'));
  await assert.rejects(
    a.media.data.publish({ ...publish, dataTrackId: 'e', sctpStreamParameters: { streamId: 5 }, label: 'x'.repeat(1025) }),
    code('invalid_field'),
  );
  await assert.rejects(b.media.data.subscribe('nope'), code('track_not_found'));
  b.media.data.unsubscribe('d');
  assert.ok(await b.media.data.subscribe('d'));
  a.media.data.unpublish('d');
  await assert.rejects(b.media.data.subscribe('d'), code('track_not_found'));
  await b.media.createTransport('recv', { sctp: false });
  await a.media.data.publish({ ...publish, dataTrackId: 'f' });
  await assert.rejects(b.media.data.subscribe('f'), code('conflict'));
});

test('stats are plain JSON: a list per track, one entry per transport', async (t) => {
  const { room, a, b } = await openPair(t);
  await a.publish('t', 'audio', opusParameters('0'));
  await b.media.subscribe('t', await room.rtpCapabilities());
  const [sent, received] = [await a.media.stats(), await b.media.stats()];
  assert.deepEqual([Object.keys(sent.published), Object.keys(sent.subscribed)], [['t'], []]);
  assert.deepEqual([Object.keys(received.published), Object.keys(received.subscribed)], [[], ['t']]);
  assert.equal(received.subscribed.t?.[0]?.type, 'outbound-rtp');
  assert.equal(sent.transports.send?.type, 'webrtc-transport');
  assert.equal(sent.transports.send?.transportId, a.send);
  assert.doesNotThrow(() => JSON.stringify([sent, received]));
  const fresh = room.openPeer('c', { layersChanged: () => {}, failed: () => {} });
  assert.deepEqual(await fresh.stats(), { published: {}, subscribed: {}, transports: { send: null, recv: null } });
  const pending = a.media.stats();
  a.media.close();
  await pending.catch((error) => assert.ok(error instanceof ServiceError));
});

test('after close every method throws a ServiceError, and close is idempotent', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const { media, send } = await openPeer(room, 'p');
  room.close();
  room.close();
  media.close();
  const closed = code('unavailable');
  await assert.rejects(room.rtpCapabilities(), closed);
  assert.throws(() => room.openPeer('q', { layersChanged: () => {}, failed: () => {} }), closed);
  await assert.rejects(media.createTransport('send', { sctp: false }), closed);
  await assert.rejects(media.connectTransport(send, {}), closed);
  await assert.rejects(media.restartIce(send), closed);
  await assert.rejects(media.publish({ transportId: send, trackId: 't', kind: 'audio', rtpParameters: {}, paused: false }), closed);
  await assert.rejects(media.subscribe('t', {}), closed);
  await assert.rejects(media.setPaused('t', true), closed);
  await assert.rejects(media.setPriority('t', 1), closed);
  await assert.rejects(
    media.data.publish({ transportId: send, dataTrackId: 'd', sctpStreamParameters: {}, label: '', protocol: '' }),
    closed,
  );
  await assert.rejects(media.data.subscribe('d'), closed);
  await assert.rejects(media.stats(), closed);
  assert.equal(media.hasTransport('send'), false);
  assert.doesNotThrow(() => {
    media.unpublish('t');
    media.unsubscribe('t');
    media.data.unpublish('d');
    media.data.unsubscribe('d');
  });
  assert.deepEqual(room.heard, { crashes: [], speakers: [], levels: [] });
  assert.equal(mediaWorkerPool.workers()[0]?.rooms, 0);
});
