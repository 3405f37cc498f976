// Routes of peers and of the moderation of their tracks.
import { z } from 'zod';
import { peerOptionsSchema, peerPatchSchema, peerViewSchema } from '../../../api/peer.ts';
import { roomErrors } from './room-routes.ts';
import { dataSchema, type Route, route } from './route.ts';

const peerErrors = [...roomErrors, 'peer_not_found'] as const;
const trackErrors = [...roomErrors, 'track_not_found'] as const;

const websocketUrl = z
  .string()
  .meta({ description: 'Address of the peer websocket on the owning node, without a scheme: host[:port][/path]/socket/peer/websocket.' });
const token = z.string().meta({ description: 'Token for the authentication of the peer on the websocket.' });
const foundPeerSchema = z.object({ peer: peerViewSchema, peer_websocket_url: websocketUrl }).meta({ id: 'FoundPeer' });
const createdPeerSchema = z.object({ peer: peerViewSchema, token, peer_websocket_url: websocketUrl }).meta({ id: 'CreatedPeer' });
const peerTokenSchema = z.object({ token }).meta({ id: 'PeerToken' });

/** Path of the peer websocket, appended to the address of a node. */
export const peerSocketPath = '/socket/peer/websocket';

export const peerRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/room/{roomId}/peer',
    operationId: 'addPeer',
    tag: 'peer',
    summary: 'Add a peer to a room and get its token.',
    auth: 'token',
    body: { schema: peerOptionsSchema, required: true },
    answers: {
      201: { description: 'The new peer.', schema: dataSchema(createdPeerSchema) },
      200: {
        description: 'The peer that an earlier request with this externalId created, with a fresh token.',
        schema: dataSchema(createdPeerSchema),
      },
    },
    errors: [...roomErrors, 'already_exists', 'conflict', 'room_full'],
    handle: async ({ params, body }, { rooms }) => {
      const { created, peer, token, address } = await rooms.addPeer(params.roomId, body);
      return { status: created ? 201 : 200, json: { data: { peer, token, peer_websocket_url: address + peerSocketPath } } };
    },
  }),
  route({
    method: 'GET',
    path: '/room/{roomId}/peer/{peerId}',
    operationId: 'getPeer',
    tag: 'peer',
    summary: 'Show a peer.',
    auth: 'token',
    answers: { 200: { description: 'The peer.', schema: dataSchema(foundPeerSchema) } },
    errors: peerErrors,
    handle: async ({ params }, { rooms }) => {
      const { peer, address } = await rooms.getPeer(params.roomId, params.peerId);
      return { status: 200, json: { data: { peer, peer_websocket_url: address + peerSocketPath } } };
    },
  }),
  route({
    method: 'PATCH',
    path: '/room/{roomId}/peer/{peerId}',
    operationId: 'updatePeer',
    tag: 'peer',
    summary: 'Change the permissions of a peer, effective immediately.',
    auth: 'token',
    body: { schema: peerPatchSchema, required: true },
    answers: { 200: { description: 'The updated peer.', schema: dataSchema(foundPeerSchema) } },
    errors: peerErrors,
    handle: async ({ params, body }, { rooms }) => {
      const { peer, address } = await rooms.patchPeer(params.roomId, params.peerId, body);
      return { status: 200, json: { data: { peer, peer_websocket_url: address + peerSocketPath } } };
    },
  }),
  route({
    method: 'DELETE',
    path: '/room/{roomId}/peer/{peerId}',
    operationId: 'deletePeer',
    tag: 'peer',
    summary: 'Remove a peer from its room.',
    auth: 'token',
    answers: { 204: { description: 'The peer was removed.' } },
    errors: peerErrors,
    handle: async ({ params }, { rooms }) => {
      await rooms.deletePeer(params.roomId, params.peerId);
      return { status: 204 };
    },
  }),
  route({
    method: 'POST',
    path: '/room/{roomId}/peer/{peerId}/token',
    operationId: 'renewPeerToken',
    tag: 'peer',
    summary: 'Get a fresh token for a peer; older tokens stay valid until they expire.',
    auth: 'token',
    answers: { 201: { description: 'The token.', schema: dataSchema(peerTokenSchema) } },
    errors: peerErrors,
    handle: async ({ params }, { rooms }) => ({
      status: 201,
      json: { data: { token: await rooms.renewPeerToken(params.roomId, params.peerId) } },
    }),
  }),
  route({
    method: 'DELETE',
    path: '/room/{roomId}/track/{trackId}',
    operationId: 'deleteTrack',
    tag: 'track',
    summary: 'Remove a track from its room.',
    auth: 'token',
    answers: { 204: { description: 'The track was removed.' } },
    errors: trackErrors,
    handle: async ({ params }, { rooms }) => {
      await rooms.removeTrack(params.roomId, params.trackId);
      return { status: 204 };
    },
  }),
  muteRoute(
    'mute',
    'Mute a track for everyone. It also applies if the peer publishes the track again, until the track is unmuted or the peer removed.',
    true,
  ),
  muteRoute('unmute', 'Unmute a track that the server muted, also one that ended muted and will be published again.', false),
];

function muteRoute(verb: 'mute' | 'unmute', summary: string, muted: boolean): Route {
  return route({
    method: 'POST',
    path: `/room/{roomId}/track/{trackId}/${verb}`,
    operationId: `${verb}Track`,
    tag: 'track',
    summary,
    auth: 'token',
    answers: { 204: { description: 'Done.' } },
    errors: trackErrors,
    handle: async ({ params }, { rooms }) => {
      await rooms.setTrackMuted(params.roomId, params.trackId, muted);
      return { status: 204 };
    },
  });
}
