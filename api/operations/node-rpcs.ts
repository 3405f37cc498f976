// RPCs that only nodes request from each other. Names and fields are those of 0.7, unless legacy-rpcs.ts translates them.
import { z } from 'zod';
import { named, rpc } from '../core/operation.ts';
import { nodeConfigSchema } from '../node.ts';
import { maxRecordingDetails, recordingIdSchema, recordingSummarySchema } from '../recording.ts';
import { renderOptionsSchema, renderViewSchema } from '../render.ts';
import { roomOptionsSchema, roomViewSchema } from '../room.ts';
import { deadLetterSchema, replaySchema, webhookStatusSchema } from '../webhook.ts';

const nothing = z.null();
const roomIdSchema = z.string().max(128);
const counts = z.record(z.string().max(512), z.int().min(0));

const loadResponseSchema = z.object({
  forwardedTracks: z.number().min(0),
  rooms: z.number().min(0),
  cpu: z.number().min(0),
  accepting: z.boolean(),
  /** Rooms that this node sent to other nodes, by target, since they connected. */
  sent: counts,
  /** Rooms that other nodes sent to this node, by sender. The difference to their `sent` is in transit and not part of `rooms`. */
  received: counts,
});
export type LoadResponse = z.infer<typeof loadResponseSchema>;

/** A name in one of two spaces: the id of a room, or the external id that the client chose. */
const reservedNameSchema = z.object({ space: z.enum(['id', 'externalId']), name: z.string().max(256) });
export type ReservedName = z.infer<typeof reservedNameSchema>;
/** Names reserved during a room creation, with the secret ticket of the reserving node. */
export const nameReservationSchema = z.object({ names: z.array(reservedNameSchema).max(2), ticket: z.string().max(64) });
export type NameReservation = z.infer<typeof nameReservationSchema>;

const createdRoomSchema = z.object({ created: z.boolean(), room: roomViewSchema, address: z.string().max(1024) });
/** `address` is the SVC_HOST of the owning node: `host[:port][/path]`. `created` is false if an `externalId` was repeated. */
export type CreatedRoom = z.infer<typeof createdRoomSchema>;
const roomListSchema = z.object({ rooms: z.array(roomViewSchema), cursor: z.string().optional(), incomplete: z.array(z.string()) });
/** `cursor` is present if more rooms follow. `incomplete` lists nodes that did not respond. */
export type RoomList = z.infer<typeof roomListSchema>;

const place = z.int().min(0);
const source = z.string().max(600);
/** Parsed one by one: an event type that only a newer node has must not block the other events. */
const events = z.array(z.unknown()).max(1_000);
export const eventBatchSchema = z.object({ source, from: place, events });
export const eventPositionSchema = z.object({ source, index: place, uptime: z.number().min(0) });
const eventPageSchema = eventBatchSchema.extend({ last: place, missing: z.boolean() });
export type RawEventPage = z.infer<typeof eventPageSchema>;

const render = z.object({ id: recordingIdSchema, options: renderOptionsSchema.optional() });

/** Milliseconds. Lists leave out nodes that exceed it, and searches skip them. */
const listTimeoutMs = 2_000;
const searchTimeoutMs = 1_000;

/**
 * Maximum time in milliseconds from POST /room to the creation of its room: a request whose client has ended has no effect later. The operator
 * relies on it.
 */
export const roomCreationMs = 10_000;

export const nodeRpcs = named({
  load: rpc(nothing, loadResponseSchema, 1_000),
  has: rpc(roomIdSchema, z.boolean(), searchTimeoutMs),
  reserve: rpc(
    nameReservationSchema,
    z.union([z.object({ ok: z.literal(true) }), z.object({ ok: z.literal(false), taken: reservedNameSchema })]),
    3_000,
  ),
  createLocalRoom: rpc(z.object({ options: roomOptionsSchema, reservation: nameReservationSchema.nullable() }), createdRoomSchema),
  listLocalRooms: rpc(
    z.object({ limit: z.int().positive().optional(), cursor: z.string().max(64).optional() }),
    roomListSchema,
    listTimeoutMs,
  ),
  config: rpc(nothing, nodeConfigSchema, listTimeoutMs),
  eventsSince: rpc(z.object({ source, index: place, limit: z.int().positive().optional() }), eventPageSchema, 2_000),
  hasContent: rpc(z.object({ kind: z.enum(['hls', 'recording']), folder: recordingIdSchema }), z.boolean(), searchTimeoutMs),
  listRecordings: rpc(nothing, z.array(recordingIdSchema).max(100_000), listTimeoutMs),
  describeRecordings: rpc(nothing, z.array(recordingSummarySchema).max(maxRecordingDetails), listTimeoutMs),
  deleteRecording: rpc(recordingIdSchema, nothing),
  holdsRender: rpc(render, z.boolean(), searchTimeoutMs),
  renderRecording: rpc(render, renderViewSchema),
  getRender: rpc(render, renderViewSchema),
  cancelRender: rpc(render, nothing),
  webhookStatus: rpc(nothing, webhookStatusSchema, listTimeoutMs),
  deadLetters: rpc(
    z.object({ filter: replaySchema, limit: z.number().int().min(1).max(999) }),
    z.array(deadLetterSchema).max(999),
    listTimeoutMs,
  ),
  replayDeadLetters: rpc(replaySchema, z.number().int(), 10_000),
  /** A node that shuts down hands over deliveries. The receiver validates them one by one. */
  webhooks: rpc(z.unknown(), z.number().int(), 2_000),
});
