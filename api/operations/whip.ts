// Operations of encoders that publish with WHIP (RFC 9725): a session for each offer, ICE updates, and its end.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { does, type HttpResponse, type OperationResponse } from '../core/response.ts';
import { roomErrors } from './rooms.ts';
import {
  type IceRestart,
  type IceServerLink,
  iceFragmentType,
  iceRestartSchema,
  type StartedSession,
  sdpType,
  startedSessionSchema,
} from './whip-session.ts';

/** Milliseconds: an offer needs several requests to the media worker. */
export const timeoutMs = 15_000;
export const sessionErrors = [...roomErrors, 'peer_not_found', 'not_found', 'forbidden'] as const;
export const sdpSchema = z.string().meta({ description: 'SDP (RFC 8866).' });

export const sessionCreated: OperationResponse<StartedSession> = {
  documented: {
    201: {
      description:
        'The answer. `location` is the path of the session, `etag` names its ICE session, and each `link` with `rel="ice-server"` is a STUN or TURN server.',
      type: sdpType,
    },
  },
  result: startedSessionSchema,
  encode: ({ answer, location, etag, iceServers }) => ({
    ...{ status: 201, text: answer, type: sdpType },
    headers: { location, etag, 'accept-patch': iceFragmentType, ...(iceServers.length > 0 && { link: iceServers.map(linkOf).join(', ') }) },
  }),
};

export const iceUpdated: OperationResponse<IceRestart> = {
  documented: {
    200: {
      description: 'ICE was restarted: the new credentials and candidates of the server. `etag` names the new ICE session.',
      type: iceFragmentType,
    },
    204: { description: 'The candidates were accepted.' },
  },
  result: iceRestartSchema,
  encode: (restart): HttpResponse =>
    restart ? { status: 200, text: restart.fragment, type: iceFragmentType, headers: { etag: restart.etag } } : { status: 204 },
};

const whip = { tag: 'whip', auth: 'peer', runs: 'room', errors: sessionErrors } as const;
/** RFC 9725, section 4.1: resources without a representation respond to GET without content. */
const nothing = { tag: 'whip', auth: 'none', runs: 'here', errors: [], response: does(204, 'No content.') } as const;

export const whipOperations = {
  startWhip: operation('POST /whip/{roomId}', {
    ...whip,
    summary: 'Publish with WHIP (RFC 9725): the response answers the offer of an encoder.',
    description:
      'The token is that of a peer, which becomes connected, or an access token, which creates its peer, and its room if it has the grant. A session that the peer has already started this way ends; a peer that is connected over its websocket is rejected with `conflict`, except with an access token, which takes over. A peer that is not admitted to its room is rejected with `conflict` too.',
    body: { schema: sdpSchema, required: true, type: sdpType },
    response: sessionCreated,
    errors: [
      ...sessionErrors,
      'conflict',
      'not_acceptable',
      'offer_rejected',
      'tracks_full',
      'unavailable',
      'room_full',
      'no_node_accepts_rooms',
    ],
    timeoutMs,
  }),
  updateWhip: operation('PATCH /whip/{roomId}/{sessionId}', {
    ...whip,
    summary: 'Send ICE candidates of an encoder, or restart ICE if the credentials are new (RFC 8840).',
    body: { schema: sdpSchema, required: true, type: iceFragmentType },
    response: iceUpdated,
    errors: [...sessionErrors, 'precondition_failed', 'precondition_required', 'offer_rejected'],
    timeoutMs,
    repeatable: false,
  }),
  endWhip: operation('DELETE /whip/{roomId}/{sessionId}', {
    ...whip,
    summary: 'End a session of an encoder. The peer stays in the room, disconnected.',
    response: does(200, 'The session has ended.'),
  }),
  showWhip: operation('GET /whip/{roomId}', { ...nothing, summary: 'Address of encoders, without content.' }),
  showWhipSession: operation('GET /whip/{roomId}/{sessionId}', { ...nothing, summary: 'Address of a session, without content.' }),
};

/** RFC 9725, section 4.6. */
function linkOf({ url, username, credential }: IceServerLink): string {
  const quoted = (text: string) => `"${text.replace(/["\\]/g, '\\$&')}"`;
  const account =
    username === undefined ? '' : `; username=${quoted(username)}; credential=${quoted(credential ?? '')}; credential-type="password"`;
  return `<${url}>; rel="ice-server"${account}`;
}
