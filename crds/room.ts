// The Room resource: a media room that is to exist on some node of a MediaCluster.
import { z } from 'zod';
import { componentSchema } from './component.ts';
import {
  clusterName,
  conditions,
  httpUrl,
  id,
  integer,
  listMap,
  observedGeneration,
  preservedJson,
  type Rule,
  secondsOrZero,
  withRules,
} from './schema.ts';

const peer = z
  .object({
    name: id.meta({ description: 'Id of the peer. It stays the same when the room is made again, so tokens stay good.' }),
    metadata: preservedJson('Any JSON value of the application, at most 16 KiB.').optional(),
    permissions: z
      .object({
        publish: z
          .array(z.enum(['audio', 'video']))
          .max(2)
          .optional()
          .meta({ description: 'Kinds of tracks that the peer may publish; both where left out.', 'x-kubernetes-list-type': 'set' }),
        subscribe: z.boolean().optional().meta({ description: 'Whether the peer may receive tracks; it may where left out.' }),
        data: z.boolean().optional().meta({ description: 'Whether the peer may send and publish data; it may where left out.' }),
      })
      .optional()
      .meta({ description: 'What the peer may do; all where left out.' }),
  })
  .meta({ description: 'A peer of the room.' });

/** Immutable, also to be set or removed later. */
function immutable(field: string): Rule {
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field} cannot change: delete this Room and make another`,
    fieldPath: `.${field}`,
  };
}

const oncePerRoom: Rule[] = ['hls', 'recording'].map((type) => ({
  rule: `self.filter(each, each.type == '${type}').size() <= 1`,
  message: `a room has at most one component of type ${type}`,
}));

export const roomSpecSchema = withRules(
  z
    .object({
      clusterRef: z
        .object({ name: clusterName.meta({ description: 'Name of the MediaCluster.' }) })
        .optional()
        .meta({ description: 'The MediaCluster of the same namespace; may be left out where there is exactly one. Immutable.' }),
      roomId: id.optional().meta({ description: 'Id of the room on the nodes; metadata.name where left out. Immutable.' }),
      videoCodec: z
        .enum(['h264', 'vp8'])
        .optional()
        .meta({ description: 'The one video codec of the room; any where left out. Immutable.' }),
      maxPeers: integer(1, 1_000_000).optional().meta({ description: 'Most peers in the room; the limit of the cluster where left out.' }),
      peerlessPurgeTimeout: secondsOrZero.optional().meta({
        description: 'Seconds without a connected peer after which the room ends; 0 = never; the default of the cluster where left out.',
      }),
      peerDisconnectedTimeout: secondsOrZero.optional().meta({
        description: 'Seconds after which a disconnected peer is removed; 0 = never; the default of the cluster where left out.',
      }),
      webhookUrl: httpUrl.optional().meta({ description: 'Receiver of the events of this room, http or https.' }),
      recreate: z
        .enum(['Always', 'Never'])
        .default('Always')
        .meta({ description: 'What happens when the room is lost with its node: Always makes it again, Never leaves it Failed.' }),
      components: withRules(listMap('name', z.array(componentSchema).max(16)), ...oncePerRoom)
        .optional()
        .meta({ description: 'Components that the room is to have.' }),
      peers: listMap('name', z.array(peer).max(500)).optional().meta({
        description: 'Peers that the room is to have; their tokens and URLs are written into the Secret that the status names.',
      }),
    })
    .meta({ description: 'The room that is to exist.' }),
  {
    rule: '!has(self.maxPeers) || !has(self.peers) || self.peers.size() <= self.maxPeers',
    message: 'must not be more than maxPeers',
    fieldPath: '.peers',
  },
  {
    rule: "!has(self.videoCodec) || self.videoCodec == 'h264' || !has(self.components) || !self.components.exists(each, each.type == 'file' && has(each.options) && has(each.options.filePath) && each.options.filePath.endsWith('.h264'))",
    message: 'an .h264 file can be played only where videoCodec is h264 or left out',
    fieldPath: '.components',
  },
  ...['clusterRef', 'roomId', 'videoCodec'].map(immutable),
);
export type RoomSpec = z.infer<typeof roomSpecSchema>;
export type RoomPeerSpec = z.infer<typeof peer>;

export const roomPhases = ['Pending', 'Ready', 'Recovering', 'Finished', 'Failed'] as const;

export const roomStatusSchema = z
  .object({
    observedGeneration: observedGeneration.optional(),
    phase: z.enum(roomPhases).optional().meta({ description: 'The conditions in one word.' }),
    conditions: conditions.optional(),
    cluster: z.string().optional().meta({ description: 'The MediaCluster that the room is on.' }),
    roomId: z.string().optional().meta({ description: 'Id of the room on the nodes.' }),
    incarnation: z.string().optional().meta({ description: 'The very room: another one of the same id has another.' }),
    node: z.string().optional().meta({ description: 'Name of the node that has the room.' }),
    address: z.string().optional().meta({ description: 'Address of the room for clients: host[:port][/path].' }),
    peersSecretName: z.string().optional().meta({ description: 'Secret with `<peer>.token` and `<peer>.url` of each declared peer.' }),
    peers: z
      .object({
        total: integer(0, 1_000_000).meta({ description: 'All, connected or not.' }),
        connected: integer(0, 1_000_000).meta({ description: 'Those that are connected.' }),
      })
      .optional()
      .meta({ description: 'Peers in the room; written every 10 seconds at most.' }),
    components: listMap(
      'name',
      z.array(
        z
          .object({
            name: z.string().meta({ description: 'Its name in the spec.' }),
            id: z.string().optional().meta({ description: 'Id on the node.' }),
            type: z.string().meta({ description: 'Its kind.' }),
            ready: z.boolean().meta({ description: 'Whether it runs as declared.' }),
            revision: z.string().optional().meta({ description: 'Of its options and Secrets: with another one it is replaced.' }),
            message: z.string().optional().meta({ description: 'Why it is not ready.' }),
          })
          .meta({ description: 'A declared component.' }),
      ),
    )
      .optional()
      .meta({ description: 'The declared components.' }),
    componentsReady: z.string().optional().meta({ description: 'How many of the declared components are ready, e.g. 1/2.' }),
    createdAt: z.string().optional().meta({ description: 'When this incarnation was made.', format: 'date-time' }),
    crashes: z
      .array(z.string().meta({ format: 'date-time' }))
      .max(3)
      .optional()
      .meta({
        description: 'When the room crashed of itself last; from the third within ten minutes on it is made again 30 s later.',
        'x-kubernetes-list-type': 'atomic',
      }),
  })
  .meta({ description: 'The room as its node tells it.' });
export type RoomStatus = z.infer<typeof roomStatusSchema>;
