// Operations of players that play a room with WHEP (draft-ietf-wish-whep): a session for each offer, ICE updates, and its end.
import { z } from 'zod';
import { idPattern, idRule } from '../core/id-pattern.ts';
import { operation } from '../core/operation.ts';
import { does } from '../core/response.ts';
import { iceUpdated, sdpSchema, sessionCreated, sessionErrors, timeoutMs } from './whip.ts';
import { iceFragmentType, sdpType } from './whip-session.ts';

/** `speaker`, `programme` or the id of a peer. */
const playedVideoSchema = z.string().regex(idPattern, idRule).default('speaker').meta({
  description:
    '`speaker`, the default: the video of the active speaker, which changes without negotiation; `programme`: the video and the mix that the `hls` component of the room composes; else the id of the peer whose video is played.',
});
const query = z.object({ video: playedVideoSchema });

const whep = { tag: 'whep', auth: 'peer', runs: 'room', errors: sessionErrors } as const;
const nothing = { tag: 'whep', auth: 'none', runs: 'here', errors: [], response: does(204, 'No content.') } as const;

export const whepOperations = {
  startWhep: operation('POST /whep/{roomId}', {
    ...whep,
    summary: 'Play with WHEP (draft-ietf-wish-whep): the response answers the offer of a player.',
    description:
      'The token is that of a peer, which becomes connected, or an access token, which creates its peer, and its room if it has the grant. The first video section gets `video`, the first three audio sections the loudest peers and the components (with `programme` the first one the mix; without an `hls` component it is rejected with `component_not_found`); further sections are rejected in the answer. A session that the peer has already started this way ends; a peer that is connected over its websocket or with WHIP is rejected with `conflict`, except with an access token, which takes over. A peer that is not admitted to its room is rejected with `conflict` too.',
    query,
    body: { schema: sdpSchema, required: true, type: sdpType },
    response: sessionCreated,
    errors: [
      ...sessionErrors,
      'conflict',
      'not_acceptable',
      'offer_rejected',
      'component_not_found',
      'unavailable',
      'room_full',
      'no_node_accepts_rooms',
    ],
    timeoutMs,
  }),
  updateWhep: operation('PATCH /whep/{roomId}/{sessionId}', {
    ...whep,
    summary: 'Send ICE candidates of a player, or restart ICE if the credentials are new (RFC 8840).',
    body: { schema: sdpSchema, required: true, type: iceFragmentType },
    response: iceUpdated,
    errors: [...sessionErrors, 'precondition_failed', 'precondition_required', 'offer_rejected'],
    timeoutMs,
    repeatable: false,
  }),
  endWhep: operation('DELETE /whep/{roomId}/{sessionId}', {
    ...whep,
    summary: 'End a session of a player. The peer stays in the room, disconnected.',
    response: does(200, 'The session has ended.'),
  }),
  showWhep: operation('GET /whep/{roomId}', { ...nothing, summary: 'Address of players, without content.' }),
  showWhepSession: operation('GET /whep/{roomId}/{sessionId}', { ...nothing, summary: 'Address of a session, without content.' }),
};
