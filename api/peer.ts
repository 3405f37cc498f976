// Peers: permissions, request bodies and views.
import { z } from 'zod';
import { externalIdSchema, idSchema } from './id.ts';
import { metadataSchema } from './json.ts';
import { kindSchema, sourceSchema, trackViewSchema } from './track.ts';

/** Path of the peer websocket, appended to the address of a node. */
export const peerSocketPath = '/socket/peer/websocket';

export const permissionsSchema = z
  .strictObject({
    publish: z.array(kindSchema).max(2).default(['audio', 'video']).meta({ description: 'Media kinds that the peer may publish.' }),
    subscribe: z.boolean().default(true).meta({ description: 'True if the peer may receive tracks.' }),
    data: z
      .boolean()
      .default(true)
      .meta({ description: 'True if the peer may send data and use data channels (SCTP) in both directions.' }),
    // Without defaults, because nodes of 0.7 reject them.
    roomMetadata: z.boolean().optional().meta({ description: 'True if the peer may set the metadata of the room; false if omitted.' }),
    publishSources: z
      .array(sourceSchema)
      .min(1)
      .max(4)
      .optional()
      .meta({ description: 'Sources that the peer may publish, among its media kinds; all if omitted.' }),
  })
  .meta({ id: 'Permissions', description: 'Permissions of a peer; enforced by the server on every request.' });
export type Permissions = z.infer<typeof permissionsSchema>;

const maxAttributes = 64;
const maxAttributesBytes = 16 * 1024;
const attributeName = z.string().min(1).max(128);
const isSmall = (attributes: object) =>
  Object.keys(attributes).length <= maxAttributes && Buffer.byteLength(JSON.stringify(attributes)) <= maxAttributesBytes;
const tooLarge = `may have at most ${maxAttributes} entries and ${maxAttributesBytes} bytes of JSON`;
export const attributesSchema = z
  .record(attributeName, z.string())
  .refine(isSmall, tooLarge)
  .meta({ description: 'Texts of the application by name, for example `{"role": "host"}`: at most 64, together 16 KiB of JSON.' });
export type Attributes = Readonly<z.infer<typeof attributesSchema>>;
export const attributesPatchSchema = z
  .record(attributeName, z.string().nullable())
  .refine(isSmall, tooLarge)
  .meta({ description: 'Changed attributes; null deletes one, the others stay unchanged.' });
export type AttributesPatch = Readonly<z.infer<typeof attributesPatchSchema>>;

export const peerStatusSchema = z.enum(['connected', 'waiting', 'disconnected']).meta({
  description: 'waiting: connected, but not admitted to the room yet (`admission` of the room).',
});
export type PeerStatus = z.infer<typeof peerStatusSchema>;

export const peerViewSchema = z
  .object({
    id: z.string(),
    type: z.literal('webrtc'),
    externalId: z.string().nullable(),
    status: peerStatusSchema,
    metadata: metadataSchema.nullable(),
    // Nodes of 0.7 do not send `attributes`, `hidden` and `admitted`.
    attributes: attributesSchema.default({}),
    permissions: permissionsSchema,
    hidden: z.boolean().default(false).meta({ description: 'True if other peers do not see this one.' }),
    admitted: z.boolean().default(true).meta({ description: 'False if the peer waits, or will wait when it connects.' }),
    tracks: z.array(trackViewSchema),
  })
  .meta({ id: 'Peer', description: 'A participant of a room.' });
export type PeerView = z.infer<typeof peerViewSchema>;

export const peerOptionsSchema = z
  .strictObject({
    type: z.literal('webrtc'),
    options: z.strictObject({ enableSimulcast: z.boolean().default(true), permissions: permissionsSchema.optional() }).optional(),
    metadata: metadataSchema.nullable().optional(),
    attributes: attributesSchema.optional(),
    admitted: z.boolean().optional().meta({ description: 'True: the peer never waits, also if the room has manual admission.' }),
    peerId: idSchema.optional(),
    externalId: externalIdSchema.optional(),
  })
  .meta({ id: 'PeerOptions', description: 'Options of a new peer.' });
export type PeerOptions = z.infer<typeof peerOptionsSchema>;

export const peerPatchSchema = z
  .strictObject({
    // Not permissionsSchema.partial(): it would keep the defaults, so omitted permissions would be granted.
    permissions: z
      .strictObject({
        publish: permissionsSchema.shape.publish.unwrap().optional(),
        subscribe: permissionsSchema.shape.subscribe.unwrap().optional(),
        data: permissionsSchema.shape.data.unwrap().optional(),
        roomMetadata: permissionsSchema.shape.roomMetadata,
        publishSources: permissionsSchema.shape.publishSources.unwrap().nullable().optional().meta({
          description: 'Sources that the peer may publish, among its media kinds; null permits all.',
        }),
      })
      .optional(),
    metadata: metadataSchema.nullable().optional(),
    name: z
      .string()
      .max(256)
      .nullable()
      .optional()
      .meta({ description: 'The `name` of the metadata, for example the display name; null removes it.' }),
    attributes: attributesPatchSchema.optional(),
  })
  .meta({ id: 'PeerPatch', description: 'Changes to a peer, effective at once; omitted fields and permissions stay unchanged.' });
export type PeerPatch = z.infer<typeof peerPatchSchema>;
export type PermissionsPatch = NonNullable<PeerPatch['permissions']>;
