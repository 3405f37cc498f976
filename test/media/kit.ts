// Helpers for media tests: a worker pool, rooms with peers, and parameters as browsers send them.

import type { TestContext } from 'node:test';
import type { AudioLevel } from '../../api/socket/peer-events.ts';
import { type MediaWorkerPool, type MediaWorkerPoolOptions, startMediaWorkerPool } from '../../node/media/worker/worker-pool.ts';
import type { Layers, MediaEngine, PeerMedia, RoomMedia, RoomMediaOptions, WireObject } from '../../node/rooms/interfaces.ts';
import { workerBin } from '../kit/processes/worker-bin.ts';
import { silentLog } from '../kit/silent-log.ts';

/** A worker pool that closes with the test. */
export async function engineFor(t: TestContext, options: Partial<MediaWorkerPoolOptions> = {}): Promise<MediaWorkerPool> {
  const mediaWorkerPool = await startMediaWorkerPool(engineOptions(options));
  t.after(() => mediaWorkerPool.close());
  return mediaWorkerPool;
}

export function engineOptions(options: Partial<MediaWorkerPoolOptions> = {}): MediaWorkerPoolOptions {
  return {
    log: silentLog(),
    listenIp: '127.0.0.1',
    announced: () => [],
    basePort: undefined,
    workers: 1,
    maxIncomingBitrate: () => undefined,
    workerBin,
    ...options,
  };
}

export type Heard = { crashes: string[]; speakers: (string | null)[]; levels: AudioLevel[][] };

export function openRoom(engine: MediaEngine, options: Partial<RoomMediaOptions> = {}): RoomMedia & { heard: Heard } {
  const heard: Heard = { crashes: [], speakers: [], levels: [] };
  const room = engine.openRoom({
    roomId: 'room',
    videoCodec: null,
    onCrashed: (reason) => heard.crashes.push(reason),
    onActiveSpeaker: (peerId) => heard.speakers.push(peerId),
    onAudioLevels: (levels) => heard.levels.push(levels),
    ...options,
  });
  return Object.assign(room, { heard });
}

/** A peer with both transports. */
export async function openPeer(
  room: RoomMedia,
  peerId: string,
  layersChanged: (trackId: string, layers: Layers | null) => void = () => {},
) {
  const media = room.openPeer(peerId, { layersChanged, failed: () => {} });
  const send = textOf(await media.createTransport('send', { sctp: true }), 'id');
  const recv = textOf(await media.createTransport('recv', { sctp: true }), 'id');
  const publish = (trackId: string, kind: 'audio' | 'video', rtpParameters: WireObject, paused = false) =>
    media.publish({ transportId: send, trackId, kind, rtpParameters, paused });
  return { media, send, recv, publish };
}

/** A room with two peers. */
export async function openPair(t: TestContext) {
  const mediaWorkerPool = await engineFor(t);
  const room = openRoom(mediaWorkerPool);
  const [a, b] = [await openPeer(room, 'a'), await openPeer(room, 'b')];
  return { mediaWorkerPool, room, capabilities: await room.rtpCapabilities(), a, b };
}
export type Peer = { media: PeerMedia; send: string; recv: string };

export function textOf(object: WireObject, key: string): string {
  const value = object[key];
  if (typeof value !== 'string') throw new Error(`${key} is not a string`);
  return value;
}

let ssrc = 1000;
export function nextSsrc(): number {
  ssrc += 10;
  return ssrc;
}

/** As mediasoup-client creates them in Chromium. */
export function opusParameters(mid: string): WireObject {
  return {
    mid,
    codecs: [
      {
        mimeType: 'audio/opus',
        payloadType: 111,
        clockRate: 48000,
        channels: 2,
        parameters: { minptime: 10, useinbandfec: 1 },
        rtcpFeedback: [{ type: 'transport-cc', parameter: '' }],
      },
    ],
    headerExtensions: [
      { uri: 'urn:ietf:params:rtp-hdrext:sdes:mid', id: 4, encrypt: false, parameters: {} },
      { uri: 'urn:ietf:params:rtp-hdrext:ssrc-audio-level', id: 1, encrypt: false, parameters: {} },
    ],
    encodings: [{ ssrc: nextSsrc(), dtx: false }],
    rtcp: { cname: 'someone', reducedSize: true },
  };
}

const videoFeedback = [
  { type: 'goog-remb', parameter: '' },
  { type: 'transport-cc', parameter: '' },
  { type: 'ccm', parameter: 'fir' },
  { type: 'nack', parameter: '' },
  { type: 'nack', parameter: 'pli' },
];

const videoFormats = {
  VP8: {},
  H264: { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 },
  VP9: { 'profile-id': 0 },
  AV1: {},
};
export type VideoName = keyof typeof videoFormats;

/** With three encodings by rid (simulcast), or one by ssrc. */
export function videoParameters(mid: string, name: VideoName = 'VP8', simulcast = false): WireObject {
  const first = nextSsrc();
  return {
    mid,
    codecs: [
      { mimeType: `video/${name}`, payloadType: 96, clockRate: 90000, parameters: videoFormats[name], rtcpFeedback: videoFeedback },
      { mimeType: 'video/rtx', payloadType: 97, clockRate: 90000, parameters: { apt: 96 }, rtcpFeedback: [] },
    ],
    headerExtensions: [
      { uri: 'urn:ietf:params:rtp-hdrext:sdes:mid', id: 4, encrypt: false, parameters: {} },
      { uri: 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id', id: 10, encrypt: false, parameters: {} },
      { uri: 'http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time', id: 13, encrypt: false, parameters: {} },
    ],
    encodings: simulcast
      ? ['r0', 'r1', 'r2'].map((rid, index) => ({ active: true, rid, scalabilityMode: 'L1T3', maxBitrate: 100_000 * 4 ** index }))
      : [{ active: true, ssrc: first, rtx: { ssrc: first + 1 }, dtx: false }],
    rtcp: { cname: 'someone', reducedSize: true },
  };
}

export const dtlsParameters: WireObject = {
  role: 'client',
  fingerprints: [{ algorithm: 'sha-256', value: Array.from({ length: 32 }, (_, index) => index.toString(16).padStart(2, '0')).join(':') }],
};

/** Process ids of the workers. */
export function pidsOf(mediaWorkerPool: MediaWorkerPool): number[] {
  return mediaWorkerPool.workers().map(({ pid }) => pid ?? 0);
}
