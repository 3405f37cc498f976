// Recording report (report.json): the file and start time of each track, so that tracks can be aligned.
import { z } from 'zod';
import { metadataSchema } from './json.ts';
import { renderedSchema, uploadStateSchema } from './recording.ts';
import { kindSchema } from './track.ts';

const time = z.iso.datetime();
const milliseconds = (description: string) => z.number().optional().meta({ description });
const reportTrackSchema = z
  .object({
    trackId: z.string(),
    file: z.string().nullable().meta({ description: 'null if the track could not be recorded; see `problem`.' }),
    type: kindSchema,
    encoding: z.string(),
    clockRate: z.int().positive().optional(),
    channels: z.int().positive().optional(),
    width: z.int().positive().optional(),
    height: z.int().positive().optional(),
    origin: z.union([z.object({ peerId: z.string() }), z.object({ componentId: z.string() })]),
    metadata: metadataSchema.nullable(),
    offset: milliseconds('Milliseconds from `startTime` of the recording to the start of the file.'),
    startTime: time.optional(),
    endTime: time.optional().meta({ description: 'Time of the last frame.' }),
    duration: milliseconds('Milliseconds.'),
    frames: z.int().optional(),
    lostPackets: z.int().optional(),
    problem: z.string().optional(),
  })
  .meta({ id: 'RecordedTrack', description: 'A recorded track. Times use the clock of the node.' });
export type ReportTrack = z.infer<typeof reportTrackSchema>;

export const reportSchema = z
  .object({
    id: z.string(),
    type: z.enum(['recording', 'hls']).default('recording').meta({
      description: 'hls: a persistent stream; its playlists and segments are stored next to the report, and it has no tracks.',
    }),
    roomId: z.string(),
    node: z.string(),
    state: z.enum(['running', 'finished', 'recovered']).meta({
      description: 'recovered: the recording process crashed, and its files were finished later.',
    }),
    startTime: time,
    endTime: time.nullable(),
    tracks: z.array(reportTrackSchema),
    captions: z.string().optional().meta({
      description:
        'File with the captions of all tracks (WebVTT), whose times begin at `startTime`. Missing if speech was not transcribed.',
    }),
    rendered: renderedSchema.optional(),
    upload: uploadStateSchema.optional().meta({ description: 'Missing if the recording is not uploaded.' }),
  })
  .meta({ id: 'RecordingReport', description: 'The file and start time of each track.' });
export type Report = z.infer<typeof reportSchema>;

/** Size limit for reading a report, in bytes; its content is not trusted. */
export const maxReport = 16 * 1024 * 1024;

/** Parses a stored report; fields of later versions get their defaults. @returns undefined if the text is not a report */
export function readReport(text: string): Report | undefined {
  try {
    return reportSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
