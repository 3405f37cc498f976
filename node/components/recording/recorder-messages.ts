// Messages between a node and a recorder process.
import { z } from 'zod';
import { recordedEncodings } from './codecs.ts';

const port = z.int().min(1).max(65_535);
const entry = z.int().min(0);

/** `entry` is the number by which the node identifies a track file. */
export const recorderCommandSchema = z.discriminatedUnion('type', [
  /** Destination of RTCP feedback. */
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
  /** RTP of the track may be sent. */
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
  /** The recorder dropped this track because it could not process it. */
  z.strictObject({ type: z.literal('broken'), entry, reason: z.string().max(500) }),
  /** Writing a file failed; the recording ends. */
  z.strictObject({ type: z.literal('failed'), reason: z.string().max(500) }),
  z.strictObject({ type: z.literal('closed') }),
]);
export type RecorderReport = z.infer<typeof recorderReportSchema>;
