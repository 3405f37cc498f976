// What a node and the process that composes a room to one stream say to each other. Media goes into files of the stream's folder.
import { z } from 'zod';
import { layouts } from '../../../rooms/shapes/component-options.ts';

const port = z.int().min(1).max(65_535);
const entry = z.int().min(0);
const segment = z.int().min(0);

/** Codecs that are decoded, as tracks name them. */
export const composedEncodings = ['opus', 'vp8', 'vp9', 'h264', 'av1'] as const;
export type ComposedEncoding = (typeof composedEncodings)[number];

/** Durations are milliseconds. Tracks are told apart by `entry`, a number that the node gives. */
export const composerCommandSchema = z.discriminatedUnion('type', [
  /** Comes first, once; answered with `listening` and `ready`. */
  z.strictObject({
    type: z.literal('start'),
    /** Absolute path of the folder that `init` and segments are written to. */
    folder: z.string().max(4096),
    init: z.string().max(255),
    /** Number of the first segment: those before are of a process that crashed. */
    firstSegment: segment,
    width: z.int().min(16).max(3840),
    height: z.int().min(16).max(2160),
    framerate: z.int().min(1).max(60),
    layout: z.enum(layouts),
    /** Whether names are drawn into the picture. */
    names: z.boolean(),
    /** Bits per second. */
    videoBitrate: z.int().min(50_000).max(50_000_000),
    audioBitrate: z.int().min(16_000).max(512_000),
    segmentDuration: z.int().min(500).max(30_000),
    partDuration: z.int().min(100).max(5000),
    /** Pixels of a picture of each track, all in all, that are decoded. */
    maxPixels: z.int().positive(),
    /** Whether no two tracks are decoded at once, so that the end of the process says which of them broke it. */
    careful: z.boolean(),
  }),
  /** Where feedback about RTP goes. */
  z.strictObject({ type: z.literal('connect'), ip: z.ipv4(), port }),
  /** Answered with `added`, from when on its RTP may come. Tracks of one `source` (a peer or component) share a place in the picture. */
  z.strictObject({
    type: z.literal('add'),
    entry,
    ssrc: z.int().min(0).max(0xffff_ffff),
    encoding: z.enum(composedEncodings),
    clockRate: z.int().min(1000).max(1_000_000),
    channels: z.int().min(1).max(8),
    source: z.string().max(256),
    name: z.string().max(256).nullable(),
  }),
  z.strictObject({ type: z.literal('remove'), entry }),
  /** Ends the last segment; answered with `closed`. */
  z.strictObject({ type: z.literal('close') }),
]);
export type ComposerCommand = z.infer<typeof composerCommandSchema>;

export const composerReportSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('listening'), port }),
  /** `init` is written. `codecs` as RFC 6381 writes them, e.g. `avc1.4d401f,mp4a.40.2`. */
  z.strictObject({ type: z.literal('ready'), codecs: z.string().max(200) }),
  z.strictObject({ type: z.literal('added'), entry }),
  /**
   * A part (RFC 8216bis, section 4.4.4.9) is in the file `segment-<segment>.m4s`: so many bytes from `offset`. Parts come in order, without
   * a gap in time; a part of the next segment says that the one before is whole. `time`: milliseconds since 1970 at which its first picture
   * was taken. `independent`: it begins with a key frame.
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
  /** It goes on without this track, which it could not work on. */
  z.strictObject({ type: z.literal('broken'), entry, reason: z.string().max(500) }),
  /** The pictures of this track are too many pixels, until others have less. */
  z.strictObject({ type: z.literal('refused'), entry }),
  /** Pictures that were left out since the last report because there was no time for them. */
  z.strictObject({ type: z.literal('overloaded'), skipped: z.int().positive() }),
  /** It cannot go on, e.g. the disk is full: the stream is over. */
  z.strictObject({ type: z.literal('failed'), reason: z.string().max(500) }),
  z.strictObject({ type: z.literal('closed') }),
]);
export type ComposerReport = z.infer<typeof composerReportSchema>;

/** Name of the file of a segment. */
export function segmentName(number: number): string {
  return `segment-${number}.m4s`;
}
