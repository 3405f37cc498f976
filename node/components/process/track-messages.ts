// Messages between a node and every process that receives tracks of a room. `entry` is the number by which the node identifies a track.
import { z } from 'zod';

export const port = z.int().min(1).max(65_535);
export const entry = z.int().min(0);
export const ssrc = z.int().min(0).max(0xffff_ffff);
const reason = z.string().max(500);

export const trackCommands = [
  /** Destination of what the process sends: RTCP feedback, or audio for the room. */
  z.strictObject({ type: z.literal('connect'), ip: z.ipv4(), port }),
  z.strictObject({ type: z.literal('remove'), entry }),
  /** Finishes its work; answered with `closed`. */
  z.strictObject({ type: z.literal('close') }),
] as const;
export type TrackCommand = z.infer<(typeof trackCommands)[number]>;

export const trackReports = [
  /** The process is ready for tracks, at this port of loopback. */
  z.strictObject({ type: z.literal('listening'), port }),
  /** RTP of the track may be sent. */
  z.strictObject({ type: z.literal('added'), entry }),
  z.strictObject({ type: z.literal('closed') }),
] as const;
export type TrackReport = z.infer<(typeof trackReports)[number]>;

/** Reports of processes that write files. */
export const failureReports = [
  /** The process dropped this track because it could not process it. */
  z.strictObject({ type: z.literal('broken'), entry, reason }),
  /** The process cannot continue, for example because the disk is full. */
  z.strictObject({ type: z.literal('failed'), reason }),
] as const;
