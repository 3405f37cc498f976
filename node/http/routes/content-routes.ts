// Routes of recordings: lists, reports and files from the node that stores them.
import { z } from 'zod';
import { ServiceError } from '../../../api/errors.ts';
import { maxRecordingDetails, recordingSummarySchema, roomOfRecording } from '../../../api/recording.ts';
import { maxReport, readReport, reportSchema } from '../../../api/recording-report.ts';
import type { ContentName } from '../../rooms/services/content.ts';
import { recordingCacheControl, rewritePlaylist, toResponse } from '../playlist-responses.ts';
import { wholeOf } from '../whole-content.ts';
import { type Answer, type Route, type RouteRequest, type RouteServices, route } from './route.ts';

/** Errors of every route that searches the cluster. */
export const lookupErrors = ['not_found', 'node_unreachable', 'unavailable'] as const;
export const fileResponses = {
  200: { description: 'The file.', type: 'application/octet-stream' },
  206: { description: 'The requested range of the file.', type: 'application/octet-stream' },
};

const viewerQuerySchema = z.object({
  token: z.string().max(2048).optional().meta({ description: 'A viewer token of the room, instead of the header `authorization`.' }),
});

const recordingsSchema = z
  .object({
    data: z.array(z.string()).meta({ description: 'Ids of recordings.' }),
    recordings: z
      .array(recordingSummarySchema)
      .max(maxRecordingDetails)
      .optional()
      .meta({
        description: `With \`details=true\`: details of the recordings and the state of their uploads; the newest ${maxRecordingDetails}.`,
      }),
    incomplete: z.array(z.string()).meta({
      description: 'Nodes that did not respond in time, and `s3` if S3 did not: their recordings are missing.',
    }),
  })
  .meta({ id: 'Recordings' });

const detailsSchema = z.object({
  details: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'True to include details of each recording and the state of its upload.' }),
});

export const contentRoutes: readonly Route[] = [
  route({
    method: 'GET',
    path: '/recording',
    operationId: 'listRecordings',
    tag: 'content',
    summary: 'List the recordings of the whole cluster.',
    auth: 'token',
    query: detailsSchema,
    answers: { 200: { description: 'Ids of recordings.', schema: recordingsSchema } },
    errors: [],
    handle: async ({ query: { details } }, { content }) => {
      const [{ ids, incomplete }, described] = await Promise.all([
        content.listRecordings(),
        details === 'true' ? content.describeRecordings() : undefined,
      ]);
      if (!described) return { status: 200, json: { data: ids, incomplete } };
      const missing = [...new Set([...incomplete, ...described.incomplete])].sort();
      return { status: 200, json: { data: ids, recordings: described.recordings, incomplete: missing } };
    },
  }),
  route({
    method: 'GET',
    path: '/recording/{recordingId}',
    operationId: 'getRecording',
    tag: 'content',
    summary: 'Show the report of a recording: its tracks, files and times.',
    auth: 'token',
    answers: { 200: { description: 'The report.', schema: reportSchema } },
    errors: lookupErrors,
    handle: async ({ params: { recordingId: folder }, transfer }, { content }) => {
      const whole = { method: 'GET', range: undefined, ifRange: undefined } as const;
      const found = await content.open({ kind: 'recording', folder, file: 'report.json', ...transfer(), ...whole });
      const report = readReport((await wholeOf(found, maxReport, 'The report')).toString());
      if (!report) throw new ServiceError('not_found', `Recording ${folder} has no readable report`);
      return { status: 200, json: report };
    },
  }),
  route({
    method: 'DELETE',
    path: '/recording/{recordingId}',
    operationId: 'deleteRecording',
    tag: 'content',
    summary: 'Delete a recording and all of its files.',
    auth: 'token',
    answers: { 204: { description: 'The recording was deleted.' } },
    errors: [...lookupErrors, 'conflict'],
    handle: async ({ params }, { content }) => {
      await content.deleteRecording(params.recordingId);
      return { status: 204 };
    },
  }),
  route({
    method: 'GET',
    path: '/recording/{recordingId}/{file}',
    operationId: 'getRecordingFile',
    tag: 'content',
    summary: 'Get a file of a recording.',
    auth: 'token',
    viewersOf: ({ recordingId }) => roomOfRecording(recordingId),
    query: viewerQuerySchema,
    forNodes: true,
    answers: fileResponses,
    errors: [...lookupErrors, 'range_not_satisfiable'],
    handle: (request, routeServices) =>
      sendFile({ kind: 'recording', folder: request.params.recordingId, file: request.params.file }, request, routeServices),
  }),
];

async function sendFile(name: ContentName, request: RouteRequest, { content }: RouteServices): Promise<Answer> {
  const caching = recordingCacheControl(name.file);
  const isPlaylist = name.file.endsWith('.m3u8');
  const transfer = request.transfer();
  const found = await content.open({ ...name, ...transfer, ...(isPlaylist && { range: undefined }) });
  const answer = isPlaylist ? await rewritePlaylist(found, request) : found;
  const keep = answer.status === 200 || answer.status === 206 ? caching : undefined;
  return toResponse({ ...answer, headers: { ...answer.headers, ...(keep !== undefined && { 'cache-control': keep }) } }, request);
}
