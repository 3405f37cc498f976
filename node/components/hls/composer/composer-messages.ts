// What a composer starts with, adds and reports. Media is written to files in the folder of the stream.
import { z } from 'zod';
import { layouts } from '../../../../api/component/hls.ts';
import { entry, failureReports, port, ssrc } from '../../process/track-messages.ts';

const segment = z.int().min(0);

/** Codecs that can be decoded, by the names that tracks use. */
export const composedEncodings = ['opus', 'vp8', 'vp9', 'h264', 'av1'] as const;
export type ComposedEncoding = (typeof composedEncodings)[number];

/** Durations are milliseconds. */
export const composerStartSchema = z.strictObject({
  type: z.literal('start'),
  /** Absolute path of the folder for `init` and segments. */
  folder: z.string().max(4096),
  init: z.string().max(255),
  /** Number of the first segment: those before belong to a crashed process. */
  firstSegment: segment,
  width: z.int().min(16).max(3840),
  height: z.int().min(16).max(2160),
  framerate: z.int().min(1).max(60),
  layout: z.enum(layouts),
  /** True if names are drawn on the frames. */
  names: z.boolean(),
  /** Bits per second. */
  videoBitrate: z.int().min(50_000).max(50_000_000),
  audioBitrate: z.int().min(16_000).max(512_000),
  segmentDuration: z.int().min(500).max(30_000),
  partDuration: z.int().min(100).max(5000),
  /** Maximum of pixels of one frame of each track, summed over all tracks. */
  maxPixels: z.int().positive(),
  /** True if tracks are decoded one at a time, so that a crash identifies the track that caused it. */
  careful: z.boolean(),
});
export type ComposerStart = z.infer<typeof composerStartSchema>;

/** Tracks of one `source` (a peer or component) share a layout cell. */
export const composedTrackSchema = z.strictObject({
  type: z.literal('add'),
  entry,
  ssrc,
  encoding: z.enum(composedEncodings),
  clockRate: z.int().min(1000).max(1_000_000),
  channels: z.int().min(1).max(8),
  source: z.string().max(256),
  name: z.string().max(256).nullable(),
});
export type ComposedTrack = z.infer<typeof composedTrackSchema>;

/** Where the programme is sent from now on, and the SSRCs of its streams; null: it is not sent. */
export const programmeSchema = z.strictObject({
  type: z.literal('programme'),
  to: z.strictObject({ ip: z.ipv4(), port, audio: ssrc, video: ssrc.nullable() }).nullable(),
});
export type ProgrammeDestination = NonNullable<z.infer<typeof programmeSchema>['to']>;

/** Payload types of the programme. */
export const programmePayloadTypes = { audio: 100, video: 101 } as const;

export const composerReports = [
  ...failureReports,
  /** The init segment is written. `codecs` as in RFC 6381, e.g. `avc1.4d401f,mp4a.40.2`. */
  z.strictObject({ type: z.literal('ready'), codecs: z.string().max(200) }),
  /**
   * A part (RFC 8216bis, section 4.4.4.9) is in the file `segment-<segment>.m4s`: `length` bytes from `offset`. Parts arrive in order and
   * without a gap in time; a part of the next segment completes the previous one. `time`: capture time of its first frame, milliseconds
   * since 1970. `independent`: it begins with a key frame.
   */
  z.strictObject({
    type: z.literal('part'),
    segment,
    offset: z.int().min(0),
    length: z.int().positive(),
    duration: z.number().positive(),
    independent: z.boolean(),
    time: z.number(),
  }),
  /** The frames of this track exceed the pixel budget, until other tracks use less. */
  z.strictObject({ type: z.literal('refused'), entry }),
  /** Number of frames dropped for lack of CPU time since the last report. */
  z.strictObject({ type: z.literal('overloaded'), skipped: z.int().positive() }),
] as const;
export type ComposerReport = z.infer<(typeof composerReports)[number]>;

/** File name of a segment. */
export function segmentName(number: number): string {
  return `segment-${number}.m4s`;
}
