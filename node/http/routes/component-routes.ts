// Routes of components.

import { componentOptionsSchema, componentSubscriptionSchema, componentViewSchema } from '../../../api/component/component.ts';
import { componentTypeSchema, documentedComponentOptions } from '../../../api/component/types.ts';
import { formatValue } from '../../../api/derive/validation-messages.ts';
import { roomErrors } from './room-routes.ts';
import { dataSchema, type Route, route } from './route.ts';

const componentErrors = [...roomErrors, 'component_not_found'] as const;

export const componentRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/room/{roomId}/component',
    operationId: 'addComponent',
    tag: 'component',
    summary: 'Add a component to a room.',
    auth: 'token',
    body: { schema: componentOptionsSchema, documented: documentedComponentOptions, required: true, refuse: refuseType },
    answers: {
      201: { description: 'The new component; `properties` are the options it was created with.', schema: dataSchema(componentViewSchema) },
      200: { description: 'The component that an earlier request with this externalId created.', schema: dataSchema(componentViewSchema) },
    },
    errors: [...roomErrors, 'bad_request', 'not_found', 'room_full', 'unavailable'],
    handle: async ({ params, body }, { rooms }) => {
      const { created, component } = await rooms.addComponent(params.roomId, body);
      return { status: created ? 201 : 200, json: { data: component } };
    },
  }),
  route({
    method: 'GET',
    path: '/room/{roomId}/component/{componentId}',
    operationId: 'getComponent',
    tag: 'component',
    summary: 'Show a component.',
    auth: 'token',
    answers: { 200: { description: 'The component.', schema: dataSchema(componentViewSchema) } },
    errors: componentErrors,
    handle: async ({ params }, { rooms }) => ({
      status: 200,
      json: { data: await rooms.getComponent(params.roomId, params.componentId) },
    }),
  }),
  route({
    method: 'DELETE',
    path: '/room/{roomId}/component/{componentId}',
    operationId: 'deleteComponent',
    tag: 'component',
    summary: 'Stop a component and remove it from its room.',
    auth: 'token',
    answers: { 204: { description: 'The component was removed.' } },
    errors: componentErrors,
    handle: async ({ params }, { rooms }) => {
      await rooms.deleteComponent(params.roomId, params.componentId);
      return { status: 204 };
    },
  }),
  route({
    method: 'POST',
    path: '/room/{roomId}/component/{componentId}/subscribe',
    operationId: 'subscribeComponent',
    tag: 'component',
    summary: 'Subscribe a component in manual mode to the tracks of peers and components.',
    auth: 'token',
    body: { schema: componentSubscriptionSchema, required: true },
    answers: { 201: { description: 'It receives their current and future tracks.' } },
    errors: [...componentErrors, 'bad_request'],
    handle: async ({ params, body }, { rooms }) => {
      await rooms.subscribeComponent(params.roomId, params.componentId, body.origins);
      return { status: 201 };
    },
  }),
];

function refuseType(body: unknown, field: string | undefined): string | undefined {
  if (field !== 'type' || typeof body !== 'object' || body === null || !('type' in body)) return undefined;
  return `Invalid component type: expected one of ${componentTypeSchema.options.join(', ')}, got: ${formatValue(body.type)}`;
}
