// Recordings and persistent streams: ids, file names, and their description in lists.
import { z } from 'zod';

/** Recordings are named `<room>-<start time>`. */
export const recordingIdSchema = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,199}$/);

/** Id of a recording or stream of a room that started at this time (ISO 8601). */
export function recordingIdOf(roomId: string, startTime: string): string {
  return `${roomId}-${startTime.replaceAll(/[-:.]/g, '')}`;
}

/** The room of a recording; undefined if the id does not match the pattern. */
export function roomOfRecording(recordingId: string): string | undefined {
  return /^(.+)-\d{8}T\d{9}Z$/.exec(recordingId)?.[1];
}

export const fileNameSchema = z.string().regex(/^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,254}$/);

/** `pending`: the files stay on the disk of their node. `problem`: error of the last attempt; retried while pending. */
export const uploadStateSchema = z
  .object({
    state: z.enum(['pending', 'done', 'failed']).meta({ description: 'failed: no more retries; the files stay on their node.' }),
    time: z.iso.datetime().optional().meta({ description: 'When the upload finished or failed.' }),
    problem: z.string().max(500).optional().meta({ description: 'Error of the last attempt, one sentence.' }),
  })
  .meta({ id: 'Upload', description: 'State of the upload to S3.' });
export type UploadState = z.infer<typeof uploadStateSchema>;

/** The rendered file, as stored in the report. */
/** Further problems of a rendered recording are not listed. */
export const maxRenderProblems = 100;
export const renderProblemsSchema = z
  .array(z.string())
  .max(maxRenderProblems)
  .meta({ description: 'Missing parts of the recording, one sentence each.' });

export const renderedSchema = z
  .object({
    file: z.string().max(255).meta({ description: 'Name in the folder of the recording.' }),
    time: z.iso.datetime().meta({ description: 'When rendering finished.' }),
    duration: z.number().nonnegative().meta({ description: 'Milliseconds.' }),
    bytes: z.number().int().nonnegative(),
    width: z.number().int(),
    height: z.number().int(),
    framerate: z.number().int(),
    layout: z.string().max(32),
    problems: renderProblemsSchema,
  })
  .meta({ id: 'Rendered', description: 'The rendered MP4 of a recording.' });

/** Fields common to all reports. */
export const recordingSummarySchema = z
  .object({
    id: recordingIdSchema,
    type: z.enum(['recording', 'hls']).default('recording').meta({ description: 'hls: the stream of a persistent hls component.' }),
    roomId: z.string().max(256),
    node: z.string().max(512).meta({ description: 'The node that recorded it.' }),
    state: z.enum(['running', 'finished', 'recovered']),
    startTime: z.iso.datetime(),
    endTime: z.iso.datetime().nullable(),
    rendered: renderedSchema.optional().meta({ description: 'Missing if nothing was rendered.' }),
    upload: uploadStateSchema.optional().meta({ description: 'Missing if the recording is not uploaded.' }),
  })
  .meta({ id: 'RecordingSummary', description: 'A recording or a persistent stream.' });
export type RecordingSummary = z.infer<typeof recordingSummarySchema>;

/** Maximum number of recordings described at once: the newest. */
export const maxRecordingDetails = 1000;

/** Newest first, without duplicates, at most `maxRecordingDetails`. */
export function latestRecordings(summaries: readonly RecordingSummary[]): RecordingSummary[] {
  const byId = new Map(summaries.map((summary) => [summary.id, summary]));
  return [...byId.values()].sort((one, other) => (one.startTime > other.startTime ? -1 : 1)).slice(0, maxRecordingDetails);
}

/** The newest `count` of ids that end with their start time (`-20261121T120000005Z`), newest first. */
export function latestRecordingIds(ids: readonly string[], count: number): string[] {
  const timeOf = (id: string) => /-(\d{8}T\d{9}Z)$/.exec(id)?.[1] ?? '';
  return [...ids].sort((one, other) => (timeOf(one) > timeOf(other) ? -1 : 1)).slice(0, count);
}
