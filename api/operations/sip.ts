// Operations of phone calls of SIP components.
import { callDigitsSchema, callViewSchema, phoneCallOptionsSchema } from '../call.ts';
import { operation } from '../core/operation.ts';
import { does, shows } from '../core/response.ts';
import { roomErrors } from './rooms.ts';

const sipErrors = [...roomErrors, 'component_not_found', 'bad_request'] as const;
const sip = { tag: 'sip', errors: [...sipErrors, 'unavailable'], runs: 'room' } as const;

export const sipOperations = {
  startCall: operation('POST /sip/{roomId}/{componentId}/call', {
    ...sip,
    summary: 'Call a phone number.',
    body: { schema: phoneCallOptionsSchema, required: true },
    response: shows(callViewSchema, 'The call; events report its progress.', { status: 201 }),
    sdk: 'calls.start(phoneNumber)',
  }),
  endCalls: operation('DELETE /sip/{roomId}/{componentId}/call', {
    ...sip,
    summary: 'Hang up all calls of a component.',
    response: does(204, 'The calls were hung up.'),
  }),
  endCall: operation('DELETE /sip/{roomId}/{componentId}/call/{callId}', {
    ...sip,
    summary: 'Hang up a call.',
    response: does(204, 'The call was hung up.'),
    errors: [...sipErrors, 'call_not_found', 'unavailable'],
  }),
  sendDigits: operation('POST /sip/{roomId}/{componentId}/call/{callId}/dtmf', {
    ...sip,
    summary: 'Send DTMF digits in a call.',
    body: { schema: callDigitsSchema, required: true },
    response: does(204, 'The digits are being sent, in order.'),
    errors: [...sipErrors, 'call_not_found', 'conflict', 'unavailable'],
    sdk: 'calls.sendDigits(digits)',
  }),
};
