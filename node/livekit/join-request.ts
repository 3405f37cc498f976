// Join request: what a LiveKit client with one peer connection states in the address of its websocket, instead of single parameters.
import { gunzipSync } from 'node:zlib';
import { ClientInfo_SDK, JoinRequest, WrappedJoinRequest, WrappedJoinRequest_Compression } from '@livekit/protocol';
import { z } from 'zod';
import { validationMessage } from '../../api/derive/validation-messages.ts';
import { ServiceError } from '../../api/errors.ts';
import { livekitLimits } from './limits.ts';
import { type Request, validated } from './requests.ts';

/** More are announced on the websocket. */
const maxTracks = 64;
const joinSchema = z.object({
  reconnect: z.boolean(),
  participantSid: z.string().max(64),
  connectionSettings: z.object({ autoSubscribe: z.boolean() }).default({ autoSubscribe: true }),
  clientInfo: z.object({ sdk: z.int() }).optional(),
  addTrackRequests: z.array(z.unknown()).max(maxTracks),
});

export type JoinStatement = { reconnect: boolean; sid: string; autoSubscribe: boolean; sdk: string; requests: Request[] };

/** `text`: base64 for URLs. @throws ServiceError `bad_request` */
export function readJoinRequest(text: string): JoinStatement {
  const request = parse(text);
  const result = joinSchema.safeParse(request);
  if (!result.success) throw new ServiceError('bad_request', validationMessage(result.error, {}, 'join_request'));
  const { reconnect, participantSid: sid, connectionSettings, clientInfo, addTrackRequests } = result.data;
  const { publisherOffer, syncState } = request;
  return {
    ...{ reconnect, sid, autoSubscribe: connectionSettings.autoSubscribe, sdk: ClientInfo_SDK[clientInfo?.sdk ?? 0] ?? '' },
    requests: [
      ...addTrackRequests.map((each) => validated('addTrack', each)),
      ...(publisherOffer ? [validated('offer', publisherOffer)] : []),
      ...(syncState ? [validated('syncState', syncState)] : []),
    ],
  };
}

function parse(text: string): JoinRequest {
  try {
    const { joinRequest, compression } = WrappedJoinRequest.fromBinary(Buffer.from(text, 'base64url'));
    const isCompressed = compression === WrappedJoinRequest_Compression.GZIP;
    return JoinRequest.fromBinary(isCompressed ? gunzipSync(joinRequest, { maxOutputLength: livekitLimits.messageBytes }) : joinRequest);
  } catch (error) {
    throw new ServiceError('bad_request', 'The parameter join_request is not a WrappedJoinRequest', { cause: error });
  }
}
