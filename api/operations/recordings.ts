// Operations of recordings: lists, reports and files from the node that stores them, and rendering.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { does, lists, sends, shows } from '../core/response.ts';
import { maxRecordingDetails, recordingSummarySchema, roomOfRecording } from '../recording.ts';
import { reportSchema } from '../recording-report.ts';
import { renderOptionsSchema, renderViewSchema } from '../render.ts';

/** Errors of every operation that searches the cluster. */
export const lookupErrors = ['not_found', 'node_unreachable', 'unavailable'] as const;
export const fileResponse = sends({
  200: { description: 'The file.', type: 'application/octet-stream' },
  206: { description: 'The requested range of the file.', type: 'application/octet-stream' },
});

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

const content = { tag: 'content', errors: lookupErrors, runs: 'here' } as const;

// Must precede the operations of files, because these are none.
export const renderOperations = {
  renderRecording: operation('POST /recording/{recordingId}/render', {
    ...content,
    summary: 'Render a recording as one MP4, stored as its file rendered.mp4.',
    description:
      'Runs on the node that stores the files, or on the node that receives the request if only the S3 storage of the server has them. One recording at a time, with lower priority than live media. A render that is queued or running continues. The result for a recording in S3 is uploaded to S3.',
    body: { schema: renderOptionsSchema, required: false },
    response: shows(renderViewSchema, 'The render is queued.', { status: 202 }),
    errors: [...lookupErrors, 'bad_request', 'conflict'],
    repeatable: true,
    sdk: 'recordings.render(render)',
  }),
  getRender: operation('GET /recording/{recordingId}/render', {
    ...content,
    summary: 'Show the progress of rendering a recording.',
    response: shows(renderViewSchema, 'State and progress.'),
    sdk: 'recordings.getRender()',
  }),
  cancelRender: operation('DELETE /recording/{recordingId}/render', {
    ...content,
    summary: 'Cancel rendering a recording; an earlier result stays.',
    response: does(204, 'The render was cancelled and its partial files deleted.'),
    errors: [...lookupErrors, 'conflict'],
    sdk: 'recordings.cancelRender()',
  }),
};

export const recordingOperations = {
  listRecordings: operation('GET /recording', {
    ...content,
    summary: 'List the recordings of the whole cluster.',
    query: detailsSchema,
    response: lists(recordingsSchema, 'Ids of recordings.'),
    errors: [],
    sdk: 'recordings.list(query)',
  }),
  getRecording: operation('GET /recording/{recordingId}', {
    ...content,
    summary: 'Show the report of a recording: its tracks, files and times.',
    response: lists(reportSchema, 'The report.'),
    sdk: 'recordings.report()',
  }),
  deleteRecording: operation('DELETE /recording/{recordingId}', {
    ...content,
    summary: 'Delete a recording and all of its files.',
    response: does(204, 'The recording was deleted.'),
    errors: [...lookupErrors, 'conflict'],
    sdk: 'recordings.delete()',
  }),
  getRecordingFile: operation('GET /recording/{recordingId}/{file}', {
    ...content,
    summary: 'Get a file of a recording.',
    viewersOf: ({ recordingId = '' }) => roomOfRecording(recordingId),
    query: viewerQuerySchema,
    forNodes: true,
    response: fileResponse,
    errors: [...lookupErrors, 'range_not_satisfiable'],
  }),
};
