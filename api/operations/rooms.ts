// Operations of rooms, and of messages to their peers.
import { z } from 'zod';
import { operation } from '../core/operation.ts';
import { creates, does, lists, shows } from '../core/response.ts';
import { formatValue } from '../derive/validation-messages.ts';
import { type RoomView, roomDataSchema, roomOptionsSchema, roomPatchSchema, roomViewSchema } from '../room.ts';
import { roomStatsSchema } from '../stats.ts';

/** Errors of every operation on one room. */
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
const pageQuerySchema = z.strictObject({
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

const room = { tag: 'room', errors: roomErrors, runs: 'room' } as const;

export const roomOperations = {
  createRoom: operation('POST /room', {
    ...room,
    summary: 'Create a room on the node with the lowest load.',
    body: { schema: roomOptionsSchema, required: false, refuse: refuseRoomId },
    response: creates(createdRoomSchema, 'The new room.', 'The room that an earlier request with this externalId created.'),
    errors: ['already_exists', 'conflict', 'no_node_accepts_rooms', 'node_unreachable', 'unavailable'],
    runs: 'here',
    repeatable: true,
    sdk: 'rooms.create(room)',
  }),
  listRooms: operation('GET /room', {
    ...room,
    summary: 'List the rooms of the whole cluster.',
    query: pageQuerySchema,
    response: lists(roomPageSchema, 'Rooms, page by page.', { forReaders: (page) => ({ ...page, data: page.data.map(withoutKeys) }) }),
    errors: ['bad_request'],
    runs: 'here',
    sdk: 'rooms.list(page)',
  }),
  getRoom: operation('GET /room/{roomId}', {
    ...room,
    summary: 'Show a room.',
    response: shows<RoomView>(roomViewSchema, 'The room.', { forReaders: withoutKeys }),
    sdk: 'rooms.get()',
  }),
  getRoomStats: operation('GET /room/{roomId}/stats', {
    ...room,
    summary: 'Show the media stats of a room: links, tracks, loss, round trip, bitrates and layers.',
    description:
      'Measured on request, at most once a second, so that many clients cost as much as one. In large rooms less often, and some received tracks are left out.',
    response: shows(roomStatsSchema, 'Stats of each peer and component.'),
    errors: [...roomErrors, 'unavailable'],
    sdk: 'rooms.stats()',
  }),
  updateRoom: operation('PATCH /room/{roomId}', {
    ...room,
    summary: 'Change the configuration of a running room.',
    body: { schema: roomPatchSchema, required: true },
    response: shows<RoomView>(roomViewSchema, 'The updated room.'),
    sdk: 'rooms.update(patch)',
  }),
  deleteRoom: operation('DELETE /room/{roomId}', {
    ...room,
    summary: 'End a room and everything in it.',
    response: does(204, 'The room has ended.'),
    sdk: 'rooms.delete()',
  }),
  sendData: operation('POST /room/{roomId}/data', {
    ...room,
    summary: 'Send a message to peers of a room.',
    body: { schema: roomDataSchema, required: true },
    response: does(202, 'The message was sent.'),
    errors: [...roomErrors, 'peer_not_found'],
    sdk: 'rooms.sendData(label, payload, to)',
  }),
};

/** The path of a webhook URL may contain a key, so it is hidden from read tokens. */
function withoutKeys(view: RoomView): RoomView {
  const { webhookUrl } = view.config;
  if (webhookUrl === null) return view;
  return { ...view, config: { ...view.config, webhookUrl: URL.parse(webhookUrl)?.origin ?? null } };
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
