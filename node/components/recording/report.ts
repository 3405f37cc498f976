// report.json of a recording: which file holds which track, and when each began, so that they can be put side by side.
import { z } from 'zod';
import { renderedSchema, uploadStateSchema } from '../../rooms/recordings.ts';
import { kindSchema, metadataSchema } from '../../rooms/views.ts';

const time = z.iso.datetime();
/** `offset` and `duration` are milliseconds; the file begins `offset` after `startTime` of the recording. Times are by the clock of this machine. */
const reportTrackSchema = z.object({
  trackId: z.string(),
  /** Null where nothing could be recorded; `problem` says why. */
  file: z.string().nullable(),
  type: kindSchema,
  encoding: z.string(),
  clockRate: z.int().positive().optional(),
  channels: z.int().positive().optional(),
  width: z.int().positive().optional(),
  height: z.int().positive().optional(),
  origin: z.union([z.object({ peerId: z.string() }), z.object({ componentId: z.string() })]),
  metadata: metadataSchema.nullable(),
  offset: z.number().optional(),
  startTime: time.optional(),
  /** Of the last frame. */
  endTime: time.optional(),
  duration: z.number().optional(),
  frames: z.int().optional(),
  lostPackets: z.int().optional(),
  problem: z.string().optional(),
});
export type ReportTrack = z.infer<typeof reportTrackSchema>;

/** `recovered`: it ended with its process, and its files were finished later. */
export const reportSchema = z.object({
  id: z.string(),
  /** `hls`: a stream that was kept; its playlists and segments are beside the report, and it has no tracks. */
  type: z.enum(['recording', 'hls']).default('recording'),
  roomId: z.string(),
  node: z.string(),
  state: z.enum(['running', 'finished', 'recovered']),
  startTime: time,
  endTime: time.nullable(),
  tracks: z.array(reportTrackSchema),
  rendered: renderedSchema.optional(),
  /** Missing where it is not uploaded. */
  upload: uploadStateSchema.optional(),
});
export type Report = z.infer<typeof reportSchema>;
