// SIP of LiveKit's server API: phone calls of the sip components of a room, which are its trunks.
import { CreateSIPParticipantRequest, SIPParticipantInfo } from '@livekit/protocol';
import { phoneCallOptionsSchema } from '../../../api/call.ts';
import { ServiceError } from '../../../api/errors.ts';
import { operations } from '../../../api/operations/table.ts';
import { participantSid } from '../ids.ts';
import { notImplemented, type ServerMethods, serverMethod } from './server-method.ts';
import { parse } from './validated.ts';

const trunks = 'A trunk is a sip component of a room: add it over REST or in a Room, and name its id or externalId as trunk';
const rules = 'Incoming calls enter the room of the sip component that accepts them (answerIncoming)';

export const sipService: ServerMethods = {
  'livekit.SIP/CreateSIPParticipant': serverMethod(CreateSIPParticipantRequest, async ({ access, operations: runner }, request) => {
    const { roomName: roomId, sipTrunkId, sipCallTo, waitUntilAnswered, dtmf, trunk } = request;
    access.requireSip('call');
    access.requireIncluded(roomId);
    if (trunk || sipTrunkId === '') throw new ServiceError('not_implemented', trunks);
    if (waitUntilAnswered) throw new ServiceError('not_implemented', 'Events report the answer of a call: SipCallStarted, SipCallEnded');
    if (dtmf !== '')
      throw new ServiceError('not_implemented', 'Digits are sent in a call that was answered: POST /sip/{room}/{component}/call/{id}/dtmf');
    const { components } = await runner.run(operations.getRoom, { params: { roomId }, body: undefined, query: undefined });
    const found = components.find(({ id, externalId, type }) => type === 'sip' && (id === sipTrunkId || externalId === sipTrunkId));
    if (!found) throw new ServiceError('component_not_found', `Room ${roomId} has no sip component ${sipTrunkId}`);
    const { id: componentId } = found;
    const body = parse(phoneCallOptionsSchema, { phoneNumber: sipCallTo });
    const call = await runner.run(operations.startCall, { params: { roomId, componentId }, body, query: undefined });
    const participant = { participantId: participantSid(componentId), participantIdentity: componentId };
    return new SIPParticipantInfo({ ...participant, roomName: roomId, sipCallId: call.id });
  }),
  'livekit.SIP/TransferSIPParticipant': notImplemented('Calls are not transferred'),
  ...Object.fromEntries(
    ['CreateSIPTrunk', 'CreateSIPInboundTrunk', 'CreateSIPOutboundTrunk', 'UpdateSIPInboundTrunk', 'UpdateSIPOutboundTrunk']
      .concat([
        'GetSIPInboundTrunk',
        'GetSIPOutboundTrunk',
        'ListSIPTrunk',
        'ListSIPInboundTrunk',
        'ListSIPOutboundTrunk',
        'DeleteSIPTrunk',
      ])
      .map((method) => [`livekit.SIP/${method}`, notImplemented(trunks)]),
  ),
  ...Object.fromEntries(
    ['CreateSIPDispatchRule', 'UpdateSIPDispatchRule', 'ListSIPDispatchRule', 'DeleteSIPDispatchRule'].map((method) => [
      `livekit.SIP/${method}`,
      notImplemented(rules),
    ]),
  ),
};
