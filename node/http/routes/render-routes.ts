// Routes of rendering: one MP4 of a recording, made where its files are.
import { renderOptionsSchema, renderViewSchema } from '../../rooms/shapes/renders.ts';
import { lookupErrors } from './content-routes.ts';
import { dataSchema, type Route, route } from './route.ts';

const path = '/recording/{recordingId}/render';

export const renderRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path,
    operationId: 'renderRecording',
    tag: 'content',
    summary: 'Render one MP4 of a recording, which is then its file rendered.mp4.',
    description:
      'On the node that has the files, else, where only the S3 storage of the server has them, on the one that is asked: one recording at a time and behind everything that is live. Where it is queued or running already, that goes on. What is rendered of a recording in S3 goes there too.',
    auth: 'token',
    body: { schema: renderOptionsSchema, required: false },
    answers: { 202: { description: 'It is rendered when its turn comes.', schema: dataSchema(renderViewSchema) } },
    errors: [...lookupErrors, 'bad_request', 'conflict'],
    handle: async ({ params, body }, { renders }) => ({ status: 202, json: { data: await renders.render(params.recordingId, body) } }),
  }),
  route({
    method: 'GET',
    path,
    operationId: 'getRender',
    tag: 'content',
    summary: 'Show how far rendering a recording is.',
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
    summary: 'Give up rendering a recording; what was rendered before stays.',
    auth: 'token',
    answers: { 204: { description: 'Nothing is rendered, and nothing half-made is left.' } },
    errors: [...lookupErrors, 'conflict'],
    handle: async ({ params }, { renders }) => {
      await renders.cancelRender(params.recordingId);
      return { status: 204 };
    },
  }),
];
