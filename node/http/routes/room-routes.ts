// Routes of rooms, and of messages to their peers.
import { z } from 'zod';
import { formatValue } from '../../../api/derive/validation-messages.ts';
import { type RoomView, roomDataSchema, roomOptionsSchema, roomPatchSchema, roomViewSchema } from '../../../api/room.ts';
import { roomStatsSchema } from '../../../api/stats.ts';
import type { RoomService } from '../../rooms/services/room-service.ts';
import { type Answer, dataSchema, type Route, type RouteRequest, route } from './route.ts';

/** Errors of every route of one room. */
export const roomErrors = ['room_not_found', 'room_ended', 'node_unreachable'] as const;

const createdRoomSchema = z
  .object({
    room: roomViewSchema,
    svc_address: z.string().meta({ description: 'Address of the node that owns the room: host[:port][/path].' }),
  })
  .meta({ id: 'CreatedRoom' });

const wholeNumber = z.preprocess(
  (value) => (typeof value === 'string' && /^\d{1,9}$/.test(value) ? Number(value) : value),
  z
    .number({ error: 'to be an integer from 1 to 1000' })
    .int()
    .min(1, 'to be an integer from 1 to 1000')
    .max(1000, 'to be an integer from 1 to 1000'),
);
const pageSchema = z.strictObject({
  limit: wholeNumber.optional().meta({ description: 'Maximum number of rooms in the response.' }),
  cursor: z.string().min(1).max(2048).optional().meta({ description: 'The cursor of the previous page.' }),
});

const roomPageSchema = z
  .object({
    data: z.array(roomViewSchema),
    incomplete: z.array(z.string()).meta({ description: 'Nodes that did not respond in time: their rooms are missing.' }),
    cursor: z.string().optional().meta({ description: 'Present if more rooms follow.' }),
  })
  .meta({ id: 'RoomPage' });

export const roomRoutes: readonly Route[] = [
  route({
    method: 'POST',
    path: '/room',
    operationId: 'createRoom',
    tag: 'room',
    summary: 'Create a room on the node with the lowest load.',
    auth: 'token',
    body: { schema: roomOptionsSchema, required: false, refuse: refuseRoomId },
    answers: {
      201: { description: 'The new room.', schema: dataSchema(createdRoomSchema) },
      200: { description: 'The room that an earlier request with this externalId created.', schema: dataSchema(createdRoomSchema) },
    },
    errors: ['already_exists', 'conflict', 'no_node_accepts_rooms', 'node_unreachable', 'unavailable'],
    handle: async ({ body }, { rooms }) => {
      const { created, room, address } = await rooms.createRoom(body);
      return { status: created ? 201 : 200, json: { data: { room, svc_address: address } } };
    },
  }),
  route({
    method: 'GET',
    path: '/room',
    operationId: 'listRooms',
    tag: 'room',
    summary: 'List the rooms of the whole cluster.',
    auth: 'token',
    query: pageSchema,
    answers: { 200: { description: 'Rooms, page by page.', schema: roomPageSchema } },
    errors: ['bad_request'],
    handle: ({ query, scope }, { rooms }) => listRooms(rooms, query, scope),
  }),
  route({
    method: 'GET',
    path: '/room/{roomId}',
    operationId: 'getRoom',
    tag: 'room',
    summary: 'Show a room.',
    auth: 'token',
    answers: { 200: { description: 'The room.', schema: dataSchema(roomViewSchema) } },
    errors: roomErrors,
    handle: async ({ params, scope }, { rooms }) => ({ status: 200, json: { data: shownTo(scope, await rooms.getRoom(params.roomId)) } }),
  }),
  route({
    method: 'GET',
    path: '/room/{roomId}/stats',
    operationId: 'getRoomStats',
    tag: 'room',
    summary: 'Show the media stats of a room: links, tracks, loss, round trip, bitrates and layers.',
    description:
      'Measured on request, at most once a second, so that many clients cost as much as one. In large rooms less often, and some received tracks are left out.',
    auth: 'token',
    answers: { 200: { description: 'Stats of each peer and component.', schema: dataSchema(roomStatsSchema) } },
    errors: [...roomErrors, 'unavailable'],
    handle: async ({ params }, { rooms }) => ({ status: 200, json: { data: await rooms.getRoomStats(params.roomId) } }),
  }),
  route({
    method: 'PATCH',
    path: '/room/{roomId}',
    operationId: 'updateRoom',
    tag: 'room',
    summary: 'Change the configuration of a running room.',
    auth: 'token',
    body: { schema: roomPatchSchema, required: true },
    answers: { 200: { description: 'The updated room.', schema: dataSchema(roomViewSchema) } },
    errors: roomErrors,
    handle: async ({ params, body }, { rooms }) => ({ status: 200, json: { data: await rooms.patchRoom(params.roomId, body) } }),
  }),
  route({
    method: 'DELETE',
    path: '/room/{roomId}',
    operationId: 'deleteRoom',
    tag: 'room',
    summary: 'End a room and everything in it.',
    auth: 'token',
    answers: { 204: { description: 'The room has ended.' } },
    errors: roomErrors,
    handle: async ({ params }, { rooms }) => {
      await rooms.deleteRoom(params.roomId);
      return { status: 204 };
    },
  }),
  route({
    method: 'POST',
    path: '/room/{roomId}/data',
    operationId: 'sendData',
    tag: 'room',
    summary: 'Send a message to peers of a room.',
    auth: 'token',
    body: { schema: roomDataSchema, required: true },
    answers: { 202: { description: 'The message was sent.' } },
    errors: [...roomErrors, 'peer_not_found'],
    handle: async ({ params, body }, { rooms }) => {
      await rooms.sendData(params.roomId, body);
      return { status: 202 };
    },
  }),
];

async function listRooms(rooms: RoomService, query: z.output<typeof pageSchema>, scope: RouteRequest['scope']): Promise<Answer> {
  const page = await rooms.listRooms(query);
  return {
    status: 200,
    json: {
      data: page.rooms.map((room) => shownTo(scope, room)),
      incomplete: page.incomplete,
      ...(page.cursor !== undefined && { cursor: page.cursor }),
    },
  };
}

/** The path of a webhook URL may contain a key, so it is hidden from read tokens. */
function shownTo(scope: RouteRequest['scope'], room: RoomView): RoomView {
  const { webhookUrl } = room.config;
  if (scope === 'admin' || webhookUrl === null) return room;
  return { ...room, config: { ...room.config, webhookUrl: URL.parse(webhookUrl)?.origin ?? null } };
}

/** Message for an invalid room id, kept for compatibility with earlier versions of the API. */
function refuseRoomId(body: unknown, field: string | undefined): string | undefined {
  if (field !== 'roomId' || typeof body !== 'object' || body === null || !('roomId' in body)) return undefined;
  const { roomId } = body;
  const rule =
    typeof roomId === 'string' && roomId.length > 128
      ? 'be at most 128 characters long'
      : 'contain only alphanumeric characters, hyphens and underscores';
  return `Cannot add room with id ${formatValue(roomId)} - roomId may ${rule}`;
}
