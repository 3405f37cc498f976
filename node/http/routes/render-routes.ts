// Routes of rendering: one MP4 of a recording, rendered on the node with its files.
import { renderOptionsSchema, renderViewSchema } from '../../../api/render.ts';
import { lookupErrors } from './content-routes.ts';
import { dataSchema, type Route, route } from './route.ts';

const path = '/recording/{recordingId}/render';

export const renderRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path,
    operationId: 'renderRecording',
    tag: 'content',
    summary: 'Render a recording as one MP4, stored as its file rendered.mp4.',
    description:
      'Runs on the node that stores the files, or on the node that receives the request if only the S3 storage of the server has them. One recording at a time, with lower priority than live media. A render that is queued or running continues. The result for a recording in S3 is uploaded to S3.',
    auth: 'token',
    body: { schema: renderOptionsSchema, required: false },
    answers: { 202: { description: 'The render is queued.', schema: dataSchema(renderViewSchema) } },
    errors: [...lookupErrors, 'bad_request', 'conflict'],
    handle: async ({ params, body }, { renders }) => ({ status: 202, json: { data: await renders.render(params.recordingId, body) } }),
  }),
  route({
    method: 'GET',
    path,
    operationId: 'getRender',
    tag: 'content',
    summary: 'Show the progress of rendering a recording.',
    auth: 'token',
    answers: { 200: { description: 'State and progress.', schema: dataSchema(renderViewSchema) } },
    errors: lookupErrors,
    handle: async ({ params }, { renders }) => ({ status: 200, json: { data: await renders.getRender(params.recordingId) } }),
  }),
  route({
    method: 'DELETE',
    path,
    operationId: 'cancelRender',
    tag: 'content',
    summary: 'Cancel rendering a recording; an earlier result stays.',
    auth: 'token',
    answers: { 204: { description: 'The render was cancelled and its partial files deleted.' } },
    errors: [...lookupErrors, 'conflict'],
    handle: async ({ params }, { renders }) => {
      await renders.cancelRender(params.recordingId);
      return { status: 204 };
    },
  }),
];
