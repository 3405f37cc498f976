// Which codecs are recorded, and in which files.
import { Av1Format } from '../rtp/av1.ts';
import { H264Format } from '../rtp/h264.ts';
import { opusDuration } from '../rtp/opus.ts';
import type { VideoDescription, VideoFormat } from '../rtp/video-assembler.ts';
import { Vp8Format } from '../rtp/vp8.ts';
import { Vp9Format } from '../rtp/vp9.ts';
import { type MatroskaTrack, opusHead } from './matroska.ts';

/** By name of a track's encoding. WebM (its codecs are VP8, VP9, AV1, Opus) where that can be, as more players take it. */
const videoCodecs = {
  vp8: { codecId: 'V_VP8', docType: 'webm', format: () => new Vp8Format() },
  vp9: { codecId: 'V_VP9', docType: 'webm', format: () => new Vp9Format() },
  av1: { codecId: 'V_AV1', docType: 'webm', format: () => new Av1Format() },
  h264: { codecId: 'V_MPEG4/ISO/AVC', docType: 'matroska', format: () => new H264Format() },
} as const satisfies Record<string, { codecId: string; docType: MatroskaTrack['docType']; format: () => VideoFormat }>;

export const recordedEncodings = ['opus', 'vp8', 'vp9', 'av1', 'h264'] as const;
export type RecordedEncoding = (typeof recordedEncodings)[number];
export type RecordedVideo = keyof typeof videoCodecs;

export function isRecorded(encoding: string): encoding is RecordedEncoding {
  return (recordedEncodings as readonly string[]).includes(encoding);
}

export function extensionOf(encoding: RecordedEncoding): string {
  return encoding !== 'opus' && videoCodecs[encoding].docType === 'matroska' ? '.mkv' : '.webm';
}

export function videoFormat(encoding: RecordedVideo): VideoFormat {
  return videoCodecs[encoding].format();
}

export function videoTrack(encoding: RecordedVideo, { width, height, codecPrivate }: VideoDescription): MatroskaTrack {
  const { codecId, docType } = videoCodecs[encoding];
  return { kind: 'video', docType, codecId, codecPrivate, width, height };
}

/** `first`: the first packet, which tells how long all are. */
export function opusTrack(first: Buffer, channels: number): MatroskaTrack {
  const defaultDuration = opusDuration(first) / 48;
  return { kind: 'audio', docType: 'webm', codecId: 'A_OPUS', codecPrivate: opusHead(channels), channels, defaultDuration };
}
