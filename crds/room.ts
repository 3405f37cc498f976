// Room resource: the desired state of a media room on a node of a MediaCluster.
import { z } from 'zod';
import { componentTypeNames, definitionOf } from '../api/component/types.ts';
import { type Rule, rule } from '../api/core/kube.ts';
import { resourceSchema } from '../api/derive/room-options.ts';
import { fixedNames, mapNames, type RoomFieldName, roomFieldNames, roomFields } from '../api/room.ts';
import { sourceSchema } from '../api/track.ts';
import { componentSchema, isOfType, v1alpha1ComponentSchema } from './component.ts';
import { clusterName, conditions, id, integer, listMap, observedGeneration, preservedJson, withRules } from './schema.ts';

const peer = z
  .object({
    name: id.meta({ description: 'Id of the peer. It stays the same when the room is recreated, so tokens stay valid.' }),
    metadata: preservedJson(
      'Metadata of the peer when it is created: any JSON value of the application, at most 16 KiB. The peer may change it.',
    ).optional(),
    attributes: z.record(z.string(), z.string().max(16_384)).optional().meta({
      description:
        'Texts of the application by name (1 to 128 characters), together at most 16 KiB. The peer cannot change them; a name that is removed here keeps its text.',
      maxProperties: 64,
    }),
    admitted: z
      .boolean()
      .optional()
      .meta({ description: 'Whether the peer joins without waiting if the admission of the room is manual; false if omitted.' }),
    permissions: z
      .object({
        publish: z
          .array(z.enum(['audio', 'video']))
          .max(2)
          .optional()
          .meta({ description: 'Media kinds that the peer may publish; both if omitted.', 'x-kubernetes-list-type': 'set' }),
        subscribe: z.boolean().optional().meta({ description: 'Whether the peer may receive tracks; true if omitted.' }),
        data: z.boolean().optional().meta({ description: 'Whether the peer may send and publish data; true if omitted.' }),
        roomMetadata: z.boolean().optional().meta({ description: 'Whether the peer may set the metadata of the room; false if omitted.' }),
        publishSources: z.array(z.enum(sourceSchema.options)).min(1).max(4).optional().meta({
          description: 'Sources that the peer may publish, among its media kinds; all if omitted.',
          'x-kubernetes-list-type': 'set',
        }),
      })
      .optional()
      .meta({ description: 'Permissions of the peer; all except roomMetadata if omitted.' }),
  })
  .meta({ description: 'A peer of the room.' });

/** Makes a field immutable; it cannot be set or removed later either. */
function immutable(field: string): Rule {
  return {
    rule: `has(self.${field}) == has(oldSelf.${field}) && (!has(self.${field}) || self.${field} == oldSelf.${field})`,
    message: `${field} cannot change: delete this Room and create another`,
    fieldPath: `.${field}`,
  };
}

const oncePerRoom = componentTypeNames
  .filter((type) => definitionOf(type).oncePerRoom)
  .map((type) => rule(`self.filter(each, ${isOfType(type)}).size() <= 1`, `a room has at most one component of type ${type}`));

type SpecFields = { [K in RoomFieldName]: z.ZodOptional<z.ZodType<NonNullable<z.input<(typeof roomFields)[K]['schema']>>>> };
const specField = (name: RoomFieldName) =>
  resourceSchema(roomFields[name].schema).meta({ description: roomFields[name].doc }).optional() as never;

const h264Rule: Rule = {
  rule: "!has(self.videoCodec) || self.videoCodec == 'h264' || !has(self.components) || !self.components.exists(each, has(each.file) && each.file.filePath.endsWith('.h264'))",
  message: 'an .h264 file can be played only if videoCodec is h264 or omitted',
  fieldPath: '.components',
};

const specOf = <Component extends z.ZodType>(component: Component) =>
  withRules(
    z
      .object({
        clusterRef: z
          .object({ name: clusterName.meta({ description: 'Name of the MediaCluster.' }) })
          .optional()
          .meta({ description: 'The MediaCluster of the same namespace; may be omitted if the namespace has exactly one. Immutable.' }),
        roomId: id.optional().meta({ description: 'Id of the room on the nodes; metadata.name if omitted. Immutable.' }),
        ...mapNames<RoomFieldName, SpecFields>(roomFieldNames, specField),
        recreate: z
          .enum(['Always', 'Never'])
          .default('Always')
          .meta({ description: 'What happens if the room is lost with its node: Always recreates it, Never leaves the Room Failed.' }),
        ttlSecondsAfterFinished: integer(0, 2_147_483_647).optional().meta({
          description:
            'Seconds after which a Finished or Failed Room is deleted, as in a Job: 0 deletes it immediately. It is kept if omitted.',
        }),
        components: withRules(listMap('name', z.array(component).max(16)), ...oncePerRoom)
          .optional()
          .meta({ description: 'Desired components of the room.' }),
        peers: listMap('name', z.array(peer).max(500)).optional().meta({
          description: 'Desired peers of the room; their tokens and URLs are written into the Secret named in the status.',
        }),
      })
      .meta({ description: 'Desired state of the room.' }),
    {
      rule: '!has(self.maxPeers) || !has(self.peers) || self.peers.size() <= self.maxPeers',
      message: 'must not be more than maxPeers',
      fieldPath: '.peers',
    },
    h264Rule,
    ...['clusterRef', 'roomId', ...fixedNames].map(immutable),
  );
export const roomSpecSchema = specOf(componentSchema);
export const v1alpha1RoomSpecSchema = specOf(v1alpha1ComponentSchema);
export type RoomSpec = z.infer<typeof roomSpecSchema>;

const roomPhases = ['Pending', 'Ready', 'Recovering', 'Finished', 'Failed'] as const;

export const roomStatusSchema = z
  .object({
    observedGeneration: observedGeneration.optional(),
    phase: z.enum(roomPhases).optional().meta({ description: 'Summary of the conditions.' }),
    conditions: conditions.optional(),
    cluster: z.string().optional().meta({ description: 'The MediaCluster that the room is on.' }),
    roomId: z.string().optional().meta({ description: 'Id of the room on the nodes.' }),
    incarnation: z.string().optional().meta({ description: 'Incarnation of the room: it differs between rooms that used the same id.' }),
    node: z.string().optional().meta({ description: 'Name of the owning node of the room.' }),
    address: z.string().optional().meta({ description: 'Address of the room for clients: host[:port][/path].' }),
    peersSecretName: z.string().optional().meta({ description: 'Secret with `<peer>.token` and `<peer>.url` of each declared peer.' }),
    peers: z
      .object({
        total: integer(0, 1_000_000).meta({ description: 'All peers, connected or not.' }),
        connected: integer(0, 1_000_000).meta({ description: 'Connected peers.' }),
      })
      .optional()
      .meta({ description: 'Peers in the room; written every 10 seconds at most.' }),
    legs: integer(1, 1_000).optional().meta({ description: 'Media workers that the room uses; written with the peers.' }),
    components: listMap(
      'name',
      z.array(
        z
          .object({
            name: z.string().meta({ description: 'Its name in the spec.' }),
            id: z.string().optional().meta({ description: 'Id on the node.' }),
            type: z.string().meta({ description: 'Component type.' }),
            ready: z.boolean().meta({ description: 'Whether it runs as declared.' }),
            revision: z
              .string()
              .optional()
              .meta({ description: 'Hash of its options and Secrets; the component is replaced when it changes.' }),
            message: z.string().optional().meta({ description: 'Why it is not ready.' }),
          })
          .meta({ description: 'A declared component.' }),
      ),
    )
      .optional()
      .meta({ description: 'The declared components.' }),
    componentsReady: z.string().optional().meta({ description: 'How many of the declared components are ready, for example 1/2.' }),
    createdAt: z.string().optional().meta({ description: 'When this incarnation was created.', format: 'date-time' }),
    crashes: z
      .array(z.string().meta({ format: 'date-time' }))
      .max(3)
      .optional()
      .meta({
        description: 'Times of recent crashes of the room; after the third crash within ten minutes it is recreated 30 s later.',
        'x-kubernetes-list-type': 'atomic',
      }),
  })
  .meta({ description: 'Observed state of the room, as reported by its node.' });
export type RoomStatus = z.infer<typeof roomStatusSchema>;
