// Routes of phone calls of SIP components.
import { callDigitsSchema, callViewSchema, phoneCallOptionsSchema } from '../../../api/call.ts';
import { roomErrors } from './room-routes.ts';
import { dataSchema, type Route, route } from './route.ts';

const sipErrors = [...roomErrors, 'component_not_found', 'bad_request'] as const;

export const sipRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/sip/{roomId}/{componentId}/call',
    operationId: 'startCall',
    tag: 'sip',
    summary: 'Call a phone number.',
    auth: 'token',
    body: { schema: phoneCallOptionsSchema, required: true },
    answers: { 201: { description: 'The call; events report its progress.', schema: dataSchema(callViewSchema) } },
    errors: [...sipErrors, 'unavailable'],
    handle: async ({ params, body }, { rooms }) => ({
      status: 201,
      json: { data: await rooms.startCall(params.roomId, params.componentId, body) },
    }),
  }),
  route({
    method: 'DELETE',
    path: '/sip/{roomId}/{componentId}/call',
    operationId: 'endCalls',
    tag: 'sip',
    summary: 'Hang up all calls of a component.',
    auth: 'token',
    answers: { 204: { description: 'The calls were hung up.' } },
    errors: [...sipErrors, 'unavailable'],
    handle: async ({ params }, { rooms }) => {
      await rooms.endCalls(params.roomId, params.componentId, null);
      return { status: 204 };
    },
  }),
  route({
    method: 'DELETE',
    path: '/sip/{roomId}/{componentId}/call/{callId}',
    operationId: 'endCall',
    tag: 'sip',
    summary: 'Hang up a call.',
    auth: 'token',
    answers: { 204: { description: 'The call was hung up.' } },
    errors: [...sipErrors, 'call_not_found', 'unavailable'],
    handle: async ({ params }, { rooms }) => {
      await rooms.endCalls(params.roomId, params.componentId, params.callId);
      return { status: 204 };
    },
  }),
  route({
    method: 'POST',
    path: '/sip/{roomId}/{componentId}/call/{callId}/dtmf',
    operationId: 'sendDigits',
    tag: 'sip',
    summary: 'Send DTMF digits in a call.',
    auth: 'token',
    body: { schema: callDigitsSchema, required: true },
    answers: { 204: { description: 'The digits are being sent, in order.' } },
    errors: [...sipErrors, 'call_not_found', 'conflict', 'unavailable'],
    handle: async ({ params, body }, { rooms }) => {
      await rooms.sendDigits(params.roomId, params.componentId, params.callId, body.digits);
      return { status: 204 };
    },
  }),
];
