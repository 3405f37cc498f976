// Schemas of responses of a media node. They contain only used fields, so that responses of newer nodes are accepted, and fallbacks for
// fields of newer nodes only.
import { z } from 'zod';
import type { ComponentView } from '../../api/component/component.ts';
import type { RoomEvent } from '../../api/events.ts';
import type { HealthView } from '../../api/health.ts';
import type { NodeView } from '../../api/node.ts';
import type { operations } from '../../api/operations/table.ts';
import type { PeerView, Permissions } from '../../api/peer.ts';
import {
  isPatchable,
  mapNames,
  type PatchableName,
  type RoomFieldName,
  type RoomView,
  roomFieldNames,
  roomFields,
} from '../../api/room.ts';

/** The compiler rejects a schema that does not accept this view of the contract. */
const readerOf =
  <View>() =>
  <Schema extends z.ZodType>(schema: Schema & (View extends z.input<Schema> ? unknown : never)): Schema =>
    schema;

const text = z.string().max(2048);
const count = z.int().min(0);

export const nodePeerSchema = readerOf<PeerView>()(
  z.object({
    id: text,
    externalId: text.nullable().default(null),
    status: text,
    permissions: z.object({
      ...{ publish: z.array(text).max(16), subscribe: z.boolean(), data: z.boolean() },
      roomMetadata: z.boolean().optional(),
      publishSources: z.array(text).max(16).optional(),
    }),
    // Nodes of 0.7 do not send these.
    attributes: z.record(z.string(), z.string()).default({}),
    admitted: z.boolean().default(true),
  }),
);
export type NodePeer = z.infer<typeof nodePeerSchema>;

export const nodeComponentSchema = readerOf<ComponentView>()(
  z.object({
    id: text,
    type: text,
    externalId: text.nullable().default(null),
    /** Error of the uploads to S3, after repeated failures. */
    properties: z.object({ uploadProblem: text.nullish().catch(null) }).optional(),
  }),
);
export type NodeComponent = z.infer<typeof nodeComponentSchema>;

type RoomConfigFields = { [K in RoomFieldName]: z.ZodDefault<(typeof roomFields)[K]['view']> };
/** A node that is older than the field does not return it. A fixed field of a newer node may have a value that is unknown here. */
function viewOf(name: RoomFieldName): never {
  const view: z.ZodType = roomFields[name].view;
  return (isPatchable(name) ? view.default(null) : view.catch(null)) as never;
}

export const nodeRoomSchema = readerOf<RoomView>()(
  z.object({
    id: text,
    incarnation: text,
    externalId: text.nullable().default(null),
    /** Timeouts in seconds; null = never, or no limit. */
    config: z.object(mapNames<RoomFieldName, RoomConfigFields>(roomFieldNames, viewOf)),
    components: z.array(nodeComponentSchema).max(10_000),
    peers: z.array(nodePeerSchema).max(1_000_000),
    /** A node that is older than legs does not return them. */
    legs: z.array(z.unknown()).max(1_000).default([]),
  }),
);
export type NodeRoom = z.infer<typeof nodeRoomSchema>;
/** Settings that can change while the room exists. */
export type NodeRoomConfig = Pick<NodeRoom['config'], PatchableName>;

export const createdRoomSchema = z.object({ data: z.object({ room: nodeRoomSchema, svc_address: text }) });
export const roomResponseSchema = z.object({ data: nodeRoomSchema });
export const roomPageSchema = z.object({
  data: z.array(nodeRoomSchema).max(1_000_000),
  incomplete: z.array(text).max(10_000).default([]),
  cursor: text.optional(),
});
export const createdPeerSchema = z.object({
  data: z.object({ peer: nodePeerSchema, token: z.string().max(8192), peer_websocket_url: text }),
});
export const foundPeerSchema = z.object({ data: z.object({ peer: nodePeerSchema, peer_websocket_url: text }) });
export const peerTokenSchema = z.object({ data: z.object({ token: z.string().max(8192) }) });
export const createdComponentSchema = z.object({ data: nodeComponentSchema });

export const healthResponseSchema = readerOf<{ data: HealthView }>()(
  z.object({
    data: z.object({
      state: z.enum(['accepting', 'draining', 'terminating']),
      distribution: z.object({ nodesInCluster: count }),
      /** Load of the node itself. */
      load: z.object({
        rooms: count,
        connectedPeers: count,
        forwardedTracks: count,
        // Nodes of 0.7 do not report these.
        streams: count.optional(),
        cpu: z.number().min(0).optional(),
        rejectedRooms: count.optional(),
      }),
      /** What is live in its rooms. Nodes of 0.7 do not report it. */
      busy: z.object({ rooms: count, peers: count, calls: count, streams: count, recordings: count, files: count }).optional(),
      config: z.object({
        files: z.array(z.object({ name: text, sha256: text })).max(100),
        error: z.string().max(65_536).nullable(),
      }),
    }),
  }),
);
export type NodeHealth = z.infer<typeof healthResponseSchema>['data'];

export const clusterNodesSchema = readerOf<{ data: NodeView[] }>()(
  z.object({
    data: z.array(z.object({ name: text, address: text })).max(10_000),
  }),
);
export type ClusterNodeView = z.infer<typeof clusterNodesSchema>['data'][number];

export const errorResponseSchema = z.object({
  errors: z.string().max(65_536),
  code: z.string().max(128),
  /** Why the room ended, with `room_ended`. Nodes of 0.7 have it in the message only. */
  reason: z.string().max(1_000).optional(),
});

/** An event of a room from the notification websocket. */
export const nodeEventSchema = z.object({
  event: z.literal('roomEvent'),
  source: z.string().max(600),
  index: count,
  data: readerOf<RoomEvent>()(
    z.object({
      type: z.string().max(128),
      node: text,
      incarnation: z.string().max(64),
      roomId: z.string().max(128),
      seq: z.int().optional(),
      peerId: text.optional(),
      componentId: text.optional(),
      reason: text.optional(),
    }),
  ),
});
export type NodeEvent = z.infer<typeof nodeEventSchema>['data'];

export type OperationId = keyof typeof operations;
/** Body of an operation as clients send it. */
export type RequestBody<Id extends OperationId> = z.input<NonNullable<(typeof operations)[Id]['body']>['schema']>;

export type RoomRequest = Required<Pick<RequestBody<'createRoom'>, 'roomId' | 'externalId'>> & RequestBody<'createRoom'>;
export type PeerRequest = { peerId: string; externalId: string; permissions: Permissions } & Pick<
  RequestBody<'addPeer'>,
  'metadata' | 'attributes' | 'admitted'
>;
/** `publishSources` null: all. */
export type PeerPatchRequest = Omit<PeerRequest, 'permissions'> & {
  permissions: Omit<Permissions, 'publishSources'> & { publishSources?: Permissions['publishSources'] | null };
};
export type ComponentRequest = Required<RequestBody<'addComponent'>>;
