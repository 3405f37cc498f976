// What a node and the process that records say to each other.
import { z } from 'zod';
import { recordedEncodings } from './codecs.ts';

const port = z.int().min(1).max(65_535);
const entry = z.int().min(0);

/** Track files are told apart by `entry`, a number that the node gives. */
export const recorderCommandSchema = z.discriminatedUnion('type', [
  /** Where feedback about RTP goes. */
  z.strictObject({ type: z.literal('connect'), ip: z.ipv4(), port }),
  z.strictObject({
    type: z.literal('add'),
    entry,
    ssrc: z.int().min(0).max(0xffff_ffff),
    encoding: z.enum(recordedEncodings),
    clockRate: z.int().min(1000).max(1_000_000),
    channels: z.int().min(1).max(8),
    path: z.string().max(4096),
  }),
  z.strictObject({ type: z.literal('remove'), entry }),
  /** Finishes all files; answered with `closed`. */
  z.strictObject({ type: z.literal('close') }),
]);
export type RecorderCommand = z.infer<typeof recorderCommandSchema>;

/** Times are milliseconds since 1970, durations milliseconds. */
export const recorderReportSchema = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('listening'), port }),
  /** From here RTP of the track may come. */
  z.strictObject({ type: z.literal('added'), entry }),
  z.strictObject({
    type: z.literal('started'),
    entry,
    startTime: z.number(),
    width: z.int().positive().optional(),
    height: z.int().positive().optional(),
  }),
  z.strictObject({
    type: z.literal('ended'),
    entry,
    startTime: z.number().optional(),
    endTime: z.number().optional(),
    duration: z.number().min(0).optional(),
    frames: z.int().min(0),
    lostPackets: z.int().min(0),
  }),
  /** It goes on without this track, which it could not work on. */
  z.strictObject({ type: z.literal('broken'), entry, reason: z.string().max(500) }),
  /** A file cannot be written: recording is over. */
  z.strictObject({ type: z.literal('failed'), reason: z.string().max(500) }),
  z.strictObject({ type: z.literal('closed') }),
]);
export type RecorderReport = z.infer<typeof recorderReportSchema>;
