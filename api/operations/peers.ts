// Operations of peers and of the moderation of their tracks.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { creates, does, shows } from '../core/response.ts';
import { peerOptionsSchema, peerPatchSchema, peerViewSchema } from '../peer.ts';
import { maxRpcTimeout, rpcRequestSchema, rpcResponseSchema } from '../socket/rpc.ts';
import { roomErrors } from './rooms.ts';

const peerErrors = [...roomErrors, 'peer_not_found'] as const;

const websocketUrl = z
  .string()
  .meta({ description: 'Address of the peer websocket on the owning node, without a scheme: host[:port][/path]/socket/peer/websocket.' });
const token = z.string().meta({ description: 'Token for the authentication of the peer on the websocket.' });
const foundPeerSchema = z.object({ peer: peerViewSchema, peer_websocket_url: websocketUrl }).meta({ id: 'FoundPeer' });
const createdPeerSchema = z.object({ peer: peerViewSchema, token, peer_websocket_url: websocketUrl }).meta({ id: 'CreatedPeer' });
const peerTokenSchema = z.object({ token }).meta({ id: 'PeerToken' });

/** Longer than the time that a peer waits for others and that its client has for it. */
const moveTimeoutMs = 90_000;
const moveSchema = z.strictObject({
  worker: z.int().min(0).max(1023).optional().meta({
    description:
      'Index of the media worker, as in `legs` of the room; default: the one of the room that forwards the fewest tracks, or another one.',
  }),
});

const peer = { tag: 'peer', errors: peerErrors, runs: 'room' } as const;
const track = { tag: 'track', errors: [...roomErrors, 'track_not_found'], runs: 'room' } as const;

export const peerOperations = {
  addPeer: operation('POST /room/{roomId}/peer', {
    ...peer,
    summary: 'Add a peer to a room and get its token.',
    body: { schema: peerOptionsSchema, required: true },
    response: creates(
      createdPeerSchema,
      'The new peer.',
      'The peer that an earlier request with this externalId created, with a fresh token.',
    ),
    errors: [...roomErrors, 'already_exists', 'conflict', 'room_full'],
    repeatable: true,
    sdk: 'peers.add(peer)',
  }),
  getPeer: operation('GET /room/{roomId}/peer/{peerId}', {
    ...peer,
    summary: 'Show a peer.',
    response: shows(foundPeerSchema, 'The peer.'),
    sdk: 'peers.get()',
  }),
  updatePeer: operation('PATCH /room/{roomId}/peer/{peerId}', {
    ...peer,
    summary: 'Change the permissions, metadata, name or attributes of a peer, effective immediately.',
    body: { schema: peerPatchSchema, required: true },
    response: shows(foundPeerSchema, 'The updated peer.'),
    sdk: 'peers.update(patch)',
  }),
  requestRpc: operation('POST /room/{roomId}/peer/{peerId}/rpc', {
    ...peer,
    summary: 'Request something of a connected peer, and get the response of its application.',
    body: { schema: rpcRequestSchema, required: true },
    response: shows(rpcResponseSchema, 'The response of the peer.'),
    errors: [...peerErrors, 'rpc_failed', 'rpc_timeout', 'too_large', 'too_many_requests'],
    timeoutMs: (maxRpcTimeout + 5) * 1000,
    sdk: 'peers.rpc(rpc): payload',
    sdkTimeoutMs: (maxRpcTimeout + 10) * 1000,
  }),
  admitPeer: operation('POST /room/{roomId}/peer/{peerId}/admit', {
    ...peer,
    summary: 'Admit a peer to a room with manual admission. A waiting peer joins at once, another one when it connects. It stays admitted.',
    response: does(204, 'The peer is admitted.'),
    repeatable: true,
    sdk: 'peers.admit()',
  }),
  denyPeer: operation('POST /room/{roomId}/peer/{peerId}/deny', {
    ...peer,
    summary: 'Do not admit a waiting peer: it is removed like with DELETE, and its client is notified of the cause.',
    response: does(204, 'The peer was removed.'),
    errors: [...peerErrors, 'conflict'],
    sdk: 'peers.deny()',
  }),
  admitWaiting: operation('POST /room/{roomId}/admit', {
    ...peer,
    summary: 'Admit every peer that waits now.',
    response: does(204, 'The peers are admitted.'),
    errors: roomErrors,
    repeatable: true,
    sdk: 'peers.admitWaiting()',
  }),
  movePeer: operation('POST /room/{roomId}/peer/{peerId}/move', {
    ...peer,
    summary:
      'Move the media of a connected peer to another media worker of the node, without a gap. The response follows when it is moved.',
    body: { schema: moveSchema, required: false },
    response: does(204, 'The peer was moved.'),
    errors: [...peerErrors, 'conflict', 'unavailable'],
    timeoutMs: moveTimeoutMs,
    sdk: 'peers.move(to)',
    sdkTimeoutMs: moveTimeoutMs + 5_000,
  }),
  deletePeer: operation('DELETE /room/{roomId}/peer/{peerId}', {
    ...peer,
    summary: 'Remove a peer from its room. Access tokens of its identity that were issued before are rejected from then on.',
    response: does(204, 'The peer was removed.'),
    sdk: 'peers.delete()',
  }),
  renewPeerToken: operation('POST /room/{roomId}/peer/{peerId}/token', {
    ...peer,
    summary: 'Get a fresh token for a peer; older tokens stay valid until they expire.',
    response: shows(peerTokenSchema, 'The token.', { status: 201 }),
    repeatable: true,
    sdk: 'peers.renewToken(): token',
  }),
  deleteTrack: operation('DELETE /room/{roomId}/track/{trackId}', {
    ...track,
    summary: 'Remove a track from its room.',
    response: does(204, 'The track was removed.'),
    sdk: 'tracks.delete()',
  }),
  muteTrack: operation('POST /room/{roomId}/track/{trackId}/mute', {
    ...track,
    summary:
      'Mute a track for everyone. It also applies if the peer publishes the track again, until the track is unmuted or the peer removed.',
    response: does(204, 'Done.'),
    repeatable: true,
    sdk: 'tracks.mute()',
  }),
  unmuteTrack: operation('POST /room/{roomId}/track/{trackId}/unmute', {
    ...track,
    summary: 'Unmute a track that the server muted, also one that ended muted and will be published again.',
    response: does(204, 'Done.'),
    repeatable: true,
    sdk: 'tracks.unmute()',
  }),
};
