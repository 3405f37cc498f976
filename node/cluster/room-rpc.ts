// Room RPC: schemas of RoomService methods between nodes, validated on both sides because other nodes are untrusted input.
import { z } from 'zod';
import { callDigitsSchema, callViewSchema, phoneCallOptionsSchema } from '../../api/call.ts';
import { componentOptionsSchema, componentSubscriptionSchema, componentViewSchema } from '../../api/component/component.ts';
import { peerOptionsSchema, peerPatchSchema, peerViewSchema } from '../../api/peer.ts';
import { roomDataSchema, roomOptionsSchema, roomPatchSchema, roomViewSchema } from '../../api/room.ts';
import { roomStatsSchema } from '../../api/stats.ts';
import { nameReservationSchema } from './room-creator.ts';

const name = z.string().max(128);
const address = z.string().max(1024);
const nothing = z.null();
const foundPeer = z.object({ peer: peerViewSchema, address });

/** By method of RoomService: its arguments as a tuple, and its result. */
export const roomRpc = {
  createRoom: {
    args: z.tuple([roomOptionsSchema, nameReservationSchema.nullable()]),
    result: z.object({ created: z.boolean(), room: roomViewSchema, address }),
  },
  listRooms: {
    args: z.tuple([z.object({ limit: z.int().positive().optional(), cursor: z.string().max(64).optional() })]),
    result: z.object({ rooms: z.array(roomViewSchema), cursor: z.string().optional(), incomplete: z.array(z.string()) }),
  },
  getRoom: { args: z.tuple([name]), result: roomViewSchema },
  getRoomStats: { args: z.tuple([name]), result: roomStatsSchema },
  patchRoom: { args: z.tuple([name, roomPatchSchema]), result: roomViewSchema },
  deleteRoom: { args: z.tuple([name]), result: nothing },
  addPeer: { args: z.tuple([name, peerOptionsSchema]), result: foundPeer.extend({ created: z.boolean(), token: z.string() }) },
  getPeer: { args: z.tuple([name, name]), result: foundPeer },
  patchPeer: { args: z.tuple([name, name, peerPatchSchema]), result: foundPeer },
  deletePeer: { args: z.tuple([name, name]), result: nothing },
  renewPeerToken: { args: z.tuple([name, name]), result: z.string() },
  removeTrack: { args: z.tuple([name, name]), result: nothing },
  setTrackMuted: { args: z.tuple([name, name, z.boolean()]), result: nothing },
  sendData: { args: z.tuple([name, roomDataSchema]), result: nothing },
  addComponent: {
    args: z.tuple([name, componentOptionsSchema]),
    result: z.object({ created: z.boolean(), component: componentViewSchema }),
  },
  getComponent: { args: z.tuple([name, name]), result: componentViewSchema },
  deleteComponent: { args: z.tuple([name, name]), result: nothing },
  subscribeComponent: { args: z.tuple([name, name, componentSubscriptionSchema.shape.origins]), result: nothing },
  startCall: { args: z.tuple([name, name, phoneCallOptionsSchema]), result: callViewSchema },
  endCalls: { args: z.tuple([name, name, name.nullable()]), result: nothing },
  sendDigits: { args: z.tuple([name, name, name, callDigitsSchema.shape.digits]), result: nothing },
} as const;
export type RoomRpc = keyof typeof roomRpc;
export type RoomRpcArgs<C extends RoomRpc> = z.output<(typeof roomRpc)[C]['args']>;
export type RoomRpcResult<C extends RoomRpc> = z.output<(typeof roomRpc)[C]['result']>;

/** Prefix of the RPC method names. */
export const roomRpcPrefix = 'room.';
