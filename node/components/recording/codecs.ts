// Recorded codecs and their container formats.
import { Av1Depacketizer } from '../rtp/av1.ts';
import type { RtpDepacketizer, VideoDescription } from '../rtp/frame-assembler.ts';
import { H264Depacketizer } from '../rtp/h264.ts';
import { opusDuration } from '../rtp/opus.ts';
import { Vp8Depacketizer } from '../rtp/vp8.ts';
import { Vp9Depacketizer } from '../rtp/vp9.ts';
import { type MatroskaTrack, opusHead } from './matroska.ts';

/** By encoding of a track. WebM if it supports the codec (VP8, VP9, AV1, Opus), because more players accept it. */
const videoCodecs = {
  vp8: { codecId: 'V_VP8', docType: 'webm', format: () => new Vp8Depacketizer() },
  vp9: { codecId: 'V_VP9', docType: 'webm', format: () => new Vp9Depacketizer() },
  av1: { codecId: 'V_AV1', docType: 'webm', format: () => new Av1Depacketizer() },
  h264: { codecId: 'V_MPEG4/ISO/AVC', docType: 'matroska', format: () => new H264Depacketizer() },
} as const satisfies Record<string, { codecId: string; docType: MatroskaTrack['docType']; format: () => RtpDepacketizer }>;

export const recordedEncodings = ['opus', 'vp8', 'vp9', 'av1', 'h264'] as const;
export type RecordedEncoding = (typeof recordedEncodings)[number];
export type RecordedVideo = keyof typeof videoCodecs;

export function isRecorded(encoding: string): encoding is RecordedEncoding {
  return (recordedEncodings as readonly string[]).includes(encoding);
}

export function extensionOf(encoding: RecordedEncoding): string {
  return encoding !== 'opus' && videoCodecs[encoding].docType === 'matroska' ? '.mkv' : '.webm';
}

export function videoFormat(encoding: RecordedVideo): RtpDepacketizer {
  return videoCodecs[encoding].format();
}

export function videoTrack(encoding: RecordedVideo, { width, height, codecPrivate }: VideoDescription): MatroskaTrack {
  const { codecId, docType } = videoCodecs[encoding];
  return { kind: 'video', docType, codecId, codecPrivate, width, height };
}

/** `first`: the first packet, whose duration all packets share. */
export function opusTrack(first: Buffer, channels: number): MatroskaTrack {
  const defaultDuration = opusDuration(first) / 48;
  return { kind: 'audio', docType: 'webm', codecId: 'A_OPUS', codecPrivate: opusHead(channels), channels, defaultDuration };
}
