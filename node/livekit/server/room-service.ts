// RoomService of LiveKit's server API: rooms and participants.
import {
  CreateRoomRequest,
  DeleteRoomRequest,
  DeleteRoomResponse,
  ListParticipantsRequest,
  ListParticipantsResponse,
  ListRoomsRequest,
  ListRoomsResponse,
  MuteRoomTrackRequest,
  MuteRoomTrackResponse,
  PerformRpcRequest,
  PerformRpcResponse,
  RemoveParticipantResponse,
  RoomParticipantIdentity,
  SendDataRequest,
  SendDataResponse,
  UpdateParticipantRequest,
  UpdateRoomMetadataRequest,
  UpdateSubscriptionsRequest,
  UpdateSubscriptionsResponse,
} from '@livekit/protocol';
import { ServiceError } from '../../../api/errors.ts';
import { operations } from '../../../api/operations/table.ts';
import { peerPatchSchema } from '../../../api/peer.ts';
import { maxTimeout, type RoomOptions, roomDataSchema, roomOptionsSchema } from '../../../api/room.ts';
import { maxRpcTimeout, rpcRequestSchema } from '../../../api/socket/rpc.ts';
import { roomOptionsOf } from '../../rooms/tokens/access-claims.ts';
import { jsonOf, jsonText, messagePayloadOf } from '../data/payloads.ts';
import { trackSid } from '../ids.ts';
import { metadataOf, trackInfo } from '../participants.ts';
import { findPeer, requireParticipant, requireTrack, roomOf, trackIdsOf } from './found.ts';
import { peerPatchOf } from './participant-patch.ts';
import { isPresent, participantMessage, participantsOf, roomInfo } from './room-messages.ts';
import { notImplemented, type ServerContext, type ServerMethods, serverMethod } from './server-method.ts';
import { parse } from './validated.ts';

const none = { body: undefined, query: undefined };
const defaultRpcTimeout = 15_000;

export const roomService: ServerMethods = {
  'livekit.RoomService/CreateRoom': serverMethod(CreateRoomRequest, async (context, request) => {
    const { access, operations: runner } = context;
    access.requireRoom('roomCreate', request.name);
    const options = optionsOf(context, request);
    const params = { roomId: options.roomId };
    const existed = await exists(context, options.roomId);
    if (!existed) await context.createRoom(options);
    const patch = patchOf(request, options);
    if (existed && Object.keys(patch).length > 0)
      return roomInfo(await runner.run(operations.updateRoom, { params, body: patch, query: undefined }));
    return roomInfo(await runner.run(operations.getRoom, { ...none, params }));
  }),
  'livekit.RoomService/ListRooms': serverMethod(ListRoomsRequest, async ({ access, operations: runner }, { names }) => {
    access.require('roomList');
    const { data } = await runner.run(operations.listRooms, { params: {}, body: undefined, query: {} });
    const wanted = names.length > 0 ? new Set(names) : undefined;
    const shown = data.filter(({ id }) => access.includes(id) && (wanted?.has(id) ?? true));
    return new ListRoomsResponse({ rooms: shown.map(roomInfo) });
  }),
  'livekit.RoomService/DeleteRoom': serverMethod(DeleteRoomRequest, async ({ access, operations: runner }, { room: roomId }) => {
    access.requireRoom('roomCreate', roomId);
    await runner.run(operations.deleteRoom, { ...none, params: { roomId } });
    return new DeleteRoomResponse();
  }),
  'livekit.RoomService/UpdateRoomMetadata': serverMethod(
    UpdateRoomMetadataRequest,
    async ({ access, operations: runner }, { room: roomId, metadata: text }) => {
      access.requireRoom('roomAdmin', roomId);
      const body = parse(roomOptionsSchema.pick({ metadata: true }), { metadata: metadataOf({ name: '', metadata: text }) });
      return roomInfo(await runner.run(operations.updateRoom, { params: { roomId }, body, query: undefined }));
    },
  ),
  'livekit.RoomService/ListParticipants': serverMethod(ListParticipantsRequest, async (context, { room: roomId }) => {
    const view = await roomOf(context, roomId);
    return new ListParticipantsResponse({ participants: participantsOf(view).filter(isPresent).map(participantMessage) });
  }),
  'livekit.RoomService/GetParticipant': serverMethod(RoomParticipantIdentity, async (context, { room, identity }) => {
    const found = requireParticipant(await roomOf(context, room), identity);
    if (!isPresent(found)) throw new ServiceError('peer_not_found', `Participant ${identity} is not connected`);
    return participantMessage(found);
  }),
  'livekit.RoomService/RemoveParticipant': serverMethod(RoomParticipantIdentity, async (context, { room: roomId, identity }) => {
    const { participant, peer } = requireParticipant(await roomOf(context, roomId), identity);
    const { id } = participant;
    if (peer) await context.operations.run(operations.deletePeer, { ...none, params: { roomId, peerId: id } });
    else await context.operations.run(operations.deleteComponent, { ...none, params: { roomId, componentId: id } });
    return new RemoveParticipantResponse();
  }),
  'livekit.RoomService/MutePublishedTrack': serverMethod(MuteRoomTrackRequest, async (context, request) => {
    const { room: roomId, identity, trackSid: sid, muted } = request;
    const { id: trackId } = requireTrack(requireParticipant(await roomOf(context, roomId), identity), sid);
    await context.operations.run(muted ? operations.muteTrack : operations.unmuteTrack, { ...none, params: { roomId, trackId } });
    const track = requireTrack(requireParticipant(await roomOf(context, roomId), identity), trackSid(trackId));
    return new MuteRoomTrackResponse({ track: trackInfo(track) });
  }),
  'livekit.RoomService/UpdateParticipant': serverMethod(UpdateParticipantRequest, async (context, request) => {
    const { room: roomId, identity } = request;
    const peer = findPeer(await roomOf(context, roomId), identity);
    const body = parse(peerPatchSchema, peerPatchOf(peer, request));
    const params = { roomId, peerId: peer.id };
    await context.operations.run(operations.updatePeer, { params, body, query: undefined });
    return participantMessage(requireParticipant(await roomOf(context, roomId), identity));
  }),
  'livekit.RoomService/SendData': serverMethod(SendDataRequest, async (context, request) => {
    const { room: roomId, data, topic = '', destinationIdentities, destinationSids } = request;
    const view = await roomOf(context, roomId);
    const isNamed = destinationIdentities.length + destinationSids.length > 0;
    const receivers = participantsOf(view).flatMap(({ participant, peer }) =>
      peer && (destinationIdentities.includes(participant.identity) || destinationSids.includes(participant.sid)) ? [peer.id] : [],
    );
    const body = parse(roomDataSchema, { label: topic, payload: messagePayloadOf(data), ...(isNamed && { to: receivers }) });
    await context.operations.run(operations.sendData, { params: { roomId }, body, query: undefined });
    return new SendDataResponse();
  }),
  'livekit.RoomService/PerformRpc': serverMethod(PerformRpcRequest, async (context, request) => {
    const { room: roomId, destinationIdentity, method, payload: text, responseTimeoutMs } = request;
    const { id: peerId } = findPeer(await roomOf(context, roomId), destinationIdentity);
    const timeout = Math.min(maxRpcTimeout, Math.ceil((responseTimeoutMs || defaultRpcTimeout) / 1000));
    const body = parse(rpcRequestSchema, { method, payload: jsonOf(text), timeout });
    const { payload } = await context.operations.run(operations.requestRpc, { params: { roomId, peerId }, body, query: undefined });
    return new PerformRpcResponse({ payload: jsonText(payload) });
  }),
  'livekit.RoomService/UpdateSubscriptions': serverMethod(UpdateSubscriptionsRequest, async (context, request) => {
    const { room: roomId, identity, trackSids, participantTracks, subscribe } = request;
    const view = await roomOf(context, roomId);
    const { id: peerId } = findPeer(view, identity);
    const sids = new Set([...trackSids, ...participantTracks.flatMap((each) => each.trackSids)]);
    await context.updateSubscriptions({ roomId, peerId, trackIds: trackIdsOf(view, [...sids]), subscribe });
    return new UpdateSubscriptionsResponse();
  }),
  'livekit.RoomService/ForwardParticipant': notImplemented('Tracks of a participant are not forwarded to another room'),
  'livekit.RoomService/MoveParticipant': notImplemented(
    'A participant is not moved to another room; it joins that room with another token',
  ),
};

/** What a key permits, of what the request sets. @throws ServiceError `invalid_field` */
function optionsOf({ access: { key } }: ServerContext, request: CreateRoomRequest): RoomOptions & { roomId: string } {
  const { name: roomId, metadata, maxParticipants, departureTimeout, emptyTimeout } = request;
  const isTimed = departureTimeout > 0 || emptyTimeout > 0;
  const peerlessPurgeTimeout = key.peerlessPurgeTimeout ?? (isTimed ? maxTimeout : undefined);
  const bounds = {
    ...(key.maxPeers !== undefined && { maxPeers: key.maxPeers }),
    ...(peerlessPurgeTimeout !== undefined && { peerlessPurgeTimeout }),
  };
  const options = roomOptionsOf(roomId, { metadata, maxParticipants, departureTimeout, emptyTimeout }, bounds);
  return { ...parse(roomOptionsSchema, options), roomId };
}

/** As in LiveKit, a repeated request changes what it sets. */
function patchOf(request: CreateRoomRequest, { maxPeers, peerlessPurgeTimeout, metadata }: RoomOptions) {
  return {
    ...(request.maxParticipants > 0 && { maxPeers }),
    ...((request.departureTimeout > 0 || request.emptyTimeout > 0) && { peerlessPurgeTimeout }),
    ...(request.metadata !== '' && { metadata }),
  };
}

async function exists({ operations: runner }: ServerContext, roomId: string): Promise<boolean> {
  try {
    await runner.run(operations.getRoom, { ...none, params: { roomId } });
    return true;
  } catch (error) {
    if (error instanceof ServiceError && (error.code === 'room_not_found' || error.code === 'room_ended')) return false;
    throw error;
  }
}
