// report.json of a recording: which file holds which track, and when each began, so that they can be put side by side.
import { z } from 'zod';
import { renderedSchema, uploadStateSchema } from './recordings.ts';
import { kindSchema, metadataSchema } from './views.ts';

const time = z.iso.datetime();
const milliseconds = (description: string) => z.number().optional().meta({ description });
const reportTrackSchema = z
  .object({
    trackId: z.string(),
    file: z.string().nullable().meta({ description: 'Null where nothing could be recorded; `problem` says why.' }),
    type: kindSchema,
    encoding: z.string(),
    clockRate: z.int().positive().optional(),
    channels: z.int().positive().optional(),
    width: z.int().positive().optional(),
    height: z.int().positive().optional(),
    origin: z.union([z.object({ peerId: z.string() }), z.object({ componentId: z.string() })]),
    metadata: metadataSchema.nullable(),
    offset: milliseconds('Milliseconds from `startTime` of the recording to the begin of the file.'),
    startTime: time.optional(),
    endTime: time.optional().meta({ description: 'Of the last frame.' }),
    duration: milliseconds('Milliseconds.'),
    frames: z.int().optional(),
    lostPackets: z.int().optional(),
    problem: z.string().optional(),
  })
  .meta({ id: 'RecordedTrack', description: 'A track as it was recorded. Times are by the clock of the node.' });
export type ReportTrack = z.infer<typeof reportTrackSchema>;

export const reportSchema = z
  .object({
    id: z.string(),
    type: z.enum(['recording', 'hls']).default('recording').meta({
      description: 'hls: a stream that was kept; its playlists and segments are beside the report, and it has no tracks.',
    }),
    roomId: z.string(),
    node: z.string(),
    state: z.enum(['running', 'finished', 'recovered']).meta({
      description: 'recovered: it ended with its process, and its files were finished later.',
    }),
    startTime: time,
    endTime: time.nullable(),
    tracks: z.array(reportTrackSchema),
    rendered: renderedSchema.optional(),
    upload: uploadStateSchema.optional().meta({ description: 'Missing where it is not uploaded.' }),
  })
  .meta({ id: 'RecordingReport', description: 'Which file holds which track, and when each began.' });
export type Report = z.infer<typeof reportSchema>;

/** Bytes of one that is read, whoever wrote it. */
export const maxReport = 16 * 1024 * 1024;

/** A stored report as it is today: what later versions added has its default. @returns undefined where the text is no report */
export function readReport(text: string): Report | undefined {
  try {
    return reportSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
