// Hostile media parameters: each is rejected with one clear message, and the worker survives.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../api/errors.ts';
import type { Kind } from '../../api/track.ts';
import type { WireObject } from '../../node/rooms/interfaces.ts';
import { engineFor, nextSsrc, openPair, openPeer, openRoom, opusParameters, videoParameters } from './kit.ts';

/** Valid parameters with one change. `kind`: media kind of the publication, if it differs. */
type Mutant = { name: string; from: () => WireObject; change: Change; kind?: Kind };
type Change = (parameters: WireObject) => unknown;

/** Sets the value at a path like `codecs.0.mimeType`; undefined removes it. */
function set(path: string, value: unknown): Change {
  return (parameters) => {
    const steps = path.split('.');
    const last = steps.pop() ?? '';
    const place = steps.reduce((object, step) => object[step] as WireObject, parameters);
    if (value === undefined) delete place[last];
    else place[last] = value;
    return parameters;
  };
}

/** Replaces the list at a name. */
function list(name: string, change: (items: WireObject[]) => WireObject[]): Change {
  return (parameters) => set(name, change(parameters[name] as WireObject[]))(parameters);
}

const audio = () => opusParameters('a');
const video = () => videoParameters('v');
const simulcast = () => videoParameters('s', 'VP8', true);
const deep = (depth: number): unknown => (depth === 0 ? 1 : { a: deep(depth - 1) });

const mutants: Mutant[] = [
  { name: 'nothing', from: audio, change: () => ({}) },
  { name: 'null', from: audio, change: () => null },
  { name: 'a list', from: audio, change: () => [] },
  { name: 'a text', from: audio, change: () => 'opus' },
  { name: 'no codecs', from: audio, change: set('codecs', undefined) },
  { name: 'codecs empty', from: audio, change: set('codecs', []) },
  { name: 'codecs null', from: audio, change: set('codecs', [null]) },
  { name: 'codecs in thousands', from: audio, change: list('codecs', (codecs) => Array(5000).fill(codecs[0])) },
  { name: 'codec unknown', from: audio, change: set('codecs.0.mimeType', 'audio/none') },
  { name: 'mime type nonsense', from: audio, change: set('codecs.0.mimeType', '../../etc') },
  { name: 'mime type very long', from: audio, change: set('codecs.0.mimeType', `audio/${'x'.repeat(100_000)}`) },
  { name: 'mime type a number', from: audio, change: set('codecs.0.mimeType', 1) },
  { name: 'media kind other than codec', kind: 'video', from: audio, change: (parameters) => parameters },
  { name: 'video codec with media kind audio', kind: 'audio', from: video, change: (parameters) => parameters },
  { name: 'payload type too large', from: audio, change: set('codecs.0.payloadType', 128) },
  { name: 'payload type negative', from: audio, change: set('codecs.0.payloadType', -1) },
  { name: 'payload type a fraction', from: audio, change: set('codecs.0.payloadType', 1.5) },
  { name: 'payload type twice', from: video, change: set('codecs.1.payloadType', 96) },
  { name: 'clock rate zero', from: audio, change: set('codecs.0.clockRate', 0) },
  { name: 'clock rate wrong', from: audio, change: set('codecs.0.clockRate', 8000) },
  { name: 'clock rate beyond 32 bits', from: audio, change: set('codecs.0.clockRate', 2 ** 40) },
  { name: 'channels absurd', from: audio, change: set('codecs.0.channels', 1e9) },
  { name: 'rtx of nothing', from: video, change: set('codecs.1.parameters.apt', 12) },
  { name: 'rtx without apt', from: video, change: set('codecs.1.parameters', {}) },
  { name: 'rtx of itself', from: video, change: set('codecs.1.parameters.apt', 97) },
  { name: 'rtx alone', from: video, change: list('codecs', (codecs) => codecs.slice(1)) },
  { name: 'rtx first', from: video, change: list('codecs', (codecs) => codecs.toReversed()) },
  {
    name: 'two codecs',
    from: video,
    change: list('codecs', (codecs) => [...codecs, { ...codecs[0], mimeType: 'video/VP9', payloadType: 98 }]),
  },
  { name: 'format parameter an object', from: video, change: set('codecs.0.parameters', { x: {} }) },
  { name: 'format parameter very deep', from: video, change: set('codecs.0.parameters', { x: deep(2000) }) },
  {
    name: 'format parameters in thousands',
    from: video,
    change: set('codecs.0.parameters', Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, i]))),
  },
  { name: 'format parameter beyond numbers', from: video, change: set('codecs.0.parameters', { x: 1e300 }) },
  {
    name: 'profile of H.264 unknown',
    from: () => videoParameters('h', 'H264'),
    change: set('codecs.0.parameters.profile-level-id', 'zzzzzz'),
  },
  {
    name: 'profile of H.264 a number',
    from: () => videoParameters('h', 'H264'),
    change: set('codecs.0.parameters.profile-level-id', 42),
  },
  {
    name: 'packetization mode of H.264 unknown',
    from: () => videoParameters('h', 'H264'),
    change: set('codecs.0.parameters.packetization-mode', 7),
  },
  { name: 'feedback a text', from: video, change: set('codecs.0.rtcpFeedback', 'nack') },
  { name: 'feedback without type', from: video, change: set('codecs.0.rtcpFeedback', [{}]) },
  { name: 'mid a number', from: audio, change: set('mid', 5) },
  { name: 'mid very long', from: audio, change: set('mid', 'm'.repeat(1000)) },
  { name: 'mid with NUL', from: audio, change: set('mid', 'a\0b') },
  {
    name: 'nothing that identifies packets',
    from: audio,
    change: (parameters) => set('encodings', [{}])(set('mid', undefined)(parameters) as WireObject),
  },
  { name: 'ssrc zero', from: audio, change: set('encodings.0.ssrc', 0) },
  { name: 'ssrc beyond 32 bits', from: audio, change: set('encodings.0.ssrc', 2 ** 32) },
  { name: 'ssrc a text', from: audio, change: set('encodings.0.ssrc', '1') },
  { name: 'ssrc twice', from: video, change: list('encodings', ([first]) => [{ ...first, rtx: { ssrc: first?.ssrc } }]) },
  { name: 'ssrc twice among encodings', from: video, change: list('encodings', (encodings) => [...encodings, ...encodings]) },
  { name: 'rtx ssrc missing', from: video, change: set('encodings.0.rtx', {}) },
  { name: 'rid twice', from: simulcast, change: set('encodings.1.rid', 'r0') },
  { name: 'rid with spaces', from: simulcast, change: set('encodings.1.rid', 'a b') },
  { name: 'encodings by nothing', from: simulcast, change: set('encodings', [{}, {}]) },
  {
    name: 'encodings in thousands',
    from: simulcast,
    change: set(
      'encodings',
      Array.from({ length: 5000 }, (_, i) => ({ rid: `r${i}` })),
    ),
  },
  { name: 'encoding of another codec', from: video, change: set('encodings.0.codecPayloadType', 97) },
  { name: 'audio in layers', from: audio, change: list('encodings', (encodings) => [...encodings, { ssrc: nextSsrc() }]) },
  { name: 'simulcast of SVC', from: simulcast, change: set('encodings.0.scalabilityMode', 'L3T3') },
  { name: 'scalability mode very long', from: video, change: set('encodings.0.scalabilityMode', `L1T1${'x'.repeat(200_000)}`) },
  { name: 'scalability mode absurd', from: video, change: set('encodings.0.scalabilityMode', 'L99T99') },
  { name: 'SVC of a codec without', from: () => videoParameters('h', 'H264'), change: set('encodings.0.scalabilityMode', 'L3T3') },
  { name: 'bitrate negative', from: video, change: set('encodings.0.maxBitrate', -1) },
  { name: 'bitrate a fraction', from: video, change: set('encodings.0.maxBitrate', 0.5) },
  { name: 'extension id zero', from: video, change: set('headerExtensions.0.id', 0) },
  { name: 'extension id too large', from: video, change: set('headerExtensions.0.id', 300) },
  { name: 'extension id twice', from: video, change: set('headerExtensions.0.id', 10) },
  { name: 'extension twice', from: video, change: set('headerExtensions.1.uri', 'urn:ietf:params:rtp-hdrext:sdes:mid') },
  { name: 'extension without uri', from: video, change: set('headerExtensions.0.uri', undefined) },
  { name: 'extensions an object', from: video, change: set('headerExtensions', {}) },
  { name: 'rtcp a text', from: audio, change: set('rtcp', 'yes') },
  { name: 'cname very long', from: audio, change: set('rtcp.cname', 'c'.repeat(100_000)) },
  { name: 'msid very long', from: audio, change: set('msid', 'c'.repeat(100_000)) },
];

test('hostile rtpParameters are rejected with one message each, and valid ones keep working', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const { media, send } = await openPeer(room, 'p');
  const pid = mediaWorkerPool.workers()[0]?.pid;
  for (const { name, kind, from, change } of mutants) {
    await t.test(name, async () => {
      const honest = structuredClone(from());
      const rtpParameters = change(honest) as WireObject;
      const guessed = JSON.stringify(from()).includes('video/') ? 'video' : 'audio';
      const publishing = media.publish({ transportId: send, trackId: name, kind: kind ?? guessed, rtpParameters, paused: false });
      await assert.rejects(publishing, (error) => {
        assert.ok(error instanceof ServiceError, String(error));
        assert.equal(error.code, 'invalid_field');
        assert.match(error.message, /^rtpParameters.{3,300}[^.]$/s);
        assert.doesNotMatch(error.message, /\n|\bat \w|\.js/);
        return true;
      });
      // The rejected request left no state that affects the next one.
      await media.publish({ transportId: send, trackId: 'honest', kind: guessed, rtpParameters: from(), paused: false });
      media.unpublish('honest');
    });
  }
  assert.equal(mediaWorkerPool.workers()[0]?.pid, pid);
  assert.deepEqual(room.heard.crashes, []);
});

test('unusual parameters of valid clients are accepted', async (t) => {
  const mediaWorkerPool = await engineFor(t);
  const { media, send } = await openPeer(openRoom(mediaWorkerPool), 'p');
  const variants: [string, Kind, WireObject][] = [
    ['no mid but an ssrc', 'audio', { ...opusParameters('0'), mid: undefined }],
    ['an unknown extension', 'video', { ...videoParameters('1'), headerExtensions: [{ uri: 'urn:other:thing', id: 1 }] }],
    ['unknown fields', 'video', { ...videoParameters('2'), future: { a: 1 }, degradationPreference: 'balanced' }],
    [
      'only what is necessary',
      'audio',
      { mid: '3', codecs: [{ mimeType: 'audio/OPUS', payloadType: 111, clockRate: 48000, channels: 2 }] },
    ],
    [
      'a prototype as a parameter',
      'audio',
      {
        ...opusParameters('4'),
        codecs: JSON.parse(
          '[{"mimeType":"audio/opus","payloadType":111,"clockRate":48000,"channels":2,"parameters":{"__proto__":1,"constructor":2}}]',
        ),
      },
    ],
  ];
  for (const [name, kind, rtpParameters] of variants) {
    const { encoding } = await media.publish({ transportId: send, trackId: name, kind, rtpParameters, paused: false });
    assert.equal(encoding, kind === 'audio' ? 'opus' : 'vp8', name);
  }
});

test('hostile and numerous rtpCapabilities and dtlsParameters do not affect the worker', async (t) => {
  const { capabilities: honest, a, b } = await openPair(t);
  await a.publish('t', 'video', videoParameters('0'));
  const hostile: Change[] = [
    set('codecs', 'all'),
    set('codecs', [null]),
    list('codecs', (codecs) => Array(5000).fill(codecs[0])),
    set('codecs.0.mimeType', 'x'),
    set('codecs.0.clockRate', '90000'),
    set('codecs.0.preferredPayloadType', 1e9),
    set('codecs.0.parameters', { x: [] }),
    set('codecs.0.rtcpFeedback', [{ type: 'x'.repeat(10_000) }]),
    set('headerExtensions', [{ kind: 'video', uri: 'x', preferredId: 'y' }]),
    set('headerExtensions.0.preferredId', -1),
    set('headerExtensions.0.direction', 'up'),
  ];
  for (const change of hostile) {
    const capabilities = structuredClone(honest);
    change(capabilities);
    await assert.rejects(
      b.media.subscribe('t', capabilities),
      (error) => error instanceof ServiceError && error.code === 'invalid_field' && /^rtpCapabilities.*[^.]$/.test(error.message),
    );
  }
  const dtls: unknown[] = [
    {},
    null,
    [],
    { fingerprints: [null] },
    { role: 'boss', fingerprints: [] },
    { fingerprints: [{ algorithm: 'sha-256', value: 'x'.repeat(1e5) }] },
  ];
  for (const parameters of dtls)
    await assert.rejects(
      b.media.connectTransport(b.recv, parameters as WireObject),
      (error) => error instanceof ServiceError && error.code === 'invalid_field',
    );
  const flood = await Promise.allSettled(
    Array.from({ length: 200 }, (_, index) =>
      a.media.publish({
        transportId: a.send,
        trackId: `f${index}`,
        kind: 'video',
        rtpParameters: { ...videoParameters('same'), encodings: [{ ssrc: 77 }] },
        paused: false,
      }),
    ),
  );
  assert.equal(flood.filter(({ status }) => status === 'fulfilled').length, 1);
  assert.ok(flood.every((each) => each.status === 'fulfilled' || each.reason instanceof ServiceError));
  assert.equal((await b.media.subscribe('t', honest))?.kind, 'video');
});
