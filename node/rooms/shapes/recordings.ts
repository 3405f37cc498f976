// Recordings and persistent streams as lists show them, and what is known of them where no node has them any more.
import { z } from 'zod';
import { type ContentRequest, type ContentResponse, recordingIdSchema } from './content.ts';

/** `pending`: nothing is removed from the disk of its node. `problem`: why the last try failed; tried again while it is pending. */
export const uploadStateSchema = z
  .object({
    state: z.enum(['pending', 'done', 'failed']).meta({ description: 'failed: given up; the files stay on their node.' }),
    time: z.iso.datetime().optional().meta({ description: 'When it was done or given up.' }),
    problem: z.string().max(500).optional().meta({ description: 'Why the last try failed, one sentence.' }),
  })
  .meta({ id: 'Upload', description: 'What has become of the upload to S3.' });
export type UploadState = z.infer<typeof uploadStateSchema>;

/** What was rendered of a recording, as its report says. */
export const renderedSchema = z
  .object({
    file: z.string().max(255).meta({ description: 'Beside the other files of the recording.' }),
    time: z.iso.datetime().meta({ description: 'When it was done.' }),
    duration: z.number().nonnegative().meta({ description: 'Milliseconds.' }),
    bytes: z.number().int().nonnegative(),
    width: z.number().int(),
    height: z.number().int(),
    framerate: z.number().int(),
    layout: z.string().max(32),
    problems: z.array(z.string()).max(100).meta({ description: 'What of the recording is not in it, a sentence each.' }),
  })
  .meta({ id: 'Rendered', description: 'The MP4 that was rendered of a recording.' });

/** What all reports say, whatever they are of. */
export const recordingSummarySchema = z
  .object({
    id: recordingIdSchema,
    type: z.enum(['recording', 'hls']).default('recording').meta({ description: 'hls: the stream of a persistent hls component.' }),
    roomId: z.string().max(256),
    node: z.string().max(512).meta({ description: 'The node that made it.' }),
    state: z.enum(['running', 'finished', 'recovered']),
    startTime: z.iso.datetime(),
    endTime: z.iso.datetime().nullable(),
    rendered: renderedSchema.optional().meta({ description: 'Missing where nothing is rendered.' }),
    upload: uploadStateSchema.optional().meta({ description: 'Missing where it is not uploaded.' }),
  })
  .meta({ id: 'RecordingSummary', description: 'A recording or a persistent stream.' });
export type RecordingSummary = z.infer<typeof recordingSummarySchema>;

/** Most recordings that are described at once: the newest. */
export const maxRecordingDetails = 1000;

/** The newest first, each once, no more than are described at once. */
export function latestRecordings(summaries: readonly RecordingSummary[]): RecordingSummary[] {
  const byId = new Map(summaries.map((summary) => [summary.id, summary]));
  return [...byId.values()].sort((one, other) => (one.startTime > other.startTime ? -1 : 1)).slice(0, maxRecordingDetails);
}

/** Of ids that end with their start time (`-20261121T120000005Z`) the newest, those first. */
export function latestRecordingIds(ids: readonly string[], count: number): string[] {
  const timeOf = (id: string) => /-(\d{8}T\d{9}Z)$/.exec(id)?.[1] ?? '';
  return [...ids].sort((one, other) => (timeOf(one) > timeOf(other) ? -1 : 1)).slice(0, count);
}

export interface RecordingList {
  /** The newest first. `incomplete`: nodes that did not answer, and `s3`. */
  describeRecordings(): Promise<{ recordings: RecordingSummary[]; incomplete: string[] }>;
}

/** Recordings in the S3 storage of all nodes. All fail with ServiceError `unavailable` where it cannot be asked. */
export interface RecordingArchive {
  /** @returns undefined where it has no such file, or there is no such storage. */
  open(request: ContentRequest): Promise<ContentResponse | undefined>;
  /** Ids in any order. */
  list(): Promise<string[]>;
  describe(ids: readonly string[]): Promise<RecordingSummary[]>;
  /** @returns whether anything was removed. */
  remove(id: string): Promise<boolean>;
}
