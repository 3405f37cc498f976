// Request bodies for rooms, peers and data, validated field by field.
import { z } from 'zod';
import {
  componentTypeSchema,
  externalIdSchema,
  idSchema,
  jsonSchema,
  metadataSchema,
  permissionsSchema,
  videoCodecSchema,
} from './views.ts';

/** Maximum of room timeouts in seconds: 10 years, so that no timer overflows. */
export const maxTimeout = 315_360_000;

/** 0 (as in a Room resource of Kubernetes) and null both mean never. */
const timeout = z
  .number({ error: 'to be a positive integer' })
  .int('to be a positive integer')
  .min(0, 'to be a positive integer')
  .max(maxTimeout, `to be at most ${maxTimeout}`)
  .nullable()
  .transform((seconds) => (seconds === 0 ? null : seconds));
const maxPeers = z
  .number({ error: 'to be a positive integer' })
  .int('to be a positive integer')
  .positive('to be a positive integer')
  .max(1_000_000, 'to be at most 1000000')
  .nullable();
const webhookUrl = z
  .string({ error: 'to be an http or https URL' })
  .max(2048, 'to be at most 2048 characters')
  .refine(isHttpUrl, 'to be an http or https URL')
  .nullable();

/** A URL that a webhook may be posted to: http or https, with a host, without a fragment. */
export function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '' && url.hash === '';
}

export const roomOptionsSchema = z
  .strictObject({
    roomId: idSchema.optional(),
    externalId: externalIdSchema.optional(),
    maxPeers: maxPeers.optional(),
    videoCodec: videoCodecSchema.nullable().optional(),
    webhookUrl: webhookUrl.optional(),
    peerlessPurgeTimeout: timeout.optional(),
    peerDisconnectedTimeout: timeout.optional(),
  })
  .meta({
    id: 'RoomOptions',
    description: 'Options of a new room. Timeouts are in seconds; 0 or null means never; omitted options get the default of the node.',
  });
export type RoomOptions = z.infer<typeof roomOptionsSchema>;

export const roomPatchSchema = z
  .strictObject({
    maxPeers: maxPeers.optional(),
    webhookUrl: webhookUrl.optional(),
    peerlessPurgeTimeout: timeout.optional(),
    peerDisconnectedTimeout: timeout.optional(),
  })
  .meta({
    id: 'RoomPatch',
    description: 'Changes to a room. Timeouts as in RoomOptions. Omitted fields stay unchanged.',
  });
export type RoomPatch = z.infer<typeof roomPatchSchema>;

export const peerOptionsSchema = z
  .strictObject({
    type: z.literal('webrtc'),
    options: z.strictObject({ enableSimulcast: z.boolean().default(true), permissions: permissionsSchema.optional() }).optional(),
    metadata: metadataSchema.nullable().optional(),
    peerId: idSchema.optional(),
    externalId: externalIdSchema.optional(),
  })
  .meta({ id: 'PeerOptions', description: 'Options of a new peer.' });
export type PeerOptions = z.infer<typeof peerOptionsSchema>;

export const peerPatchSchema = z
  .strictObject({
    // Not permissionsSchema.partial(): it would keep the defaults, so omitted permissions would be granted.
    permissions: z.strictObject({
      publish: permissionsSchema.shape.publish.unwrap().optional(),
      subscribe: permissionsSchema.shape.subscribe.unwrap().optional(),
      data: permissionsSchema.shape.data.unwrap().optional(),
    }),
  })
  .meta({ id: 'PeerPatch', description: 'New permissions of a peer, effective at once; omitted permissions stay unchanged.' });
export type PeerPatch = z.infer<typeof peerPatchSchema>;

export const componentOptionsSchema = z.strictObject({
  type: componentTypeSchema,
  /** Parsed by the component type: component-options.ts. */
  options: z.record(z.string().max(128), jsonSchema).optional(),
  externalId: externalIdSchema.optional(),
});
export type ComponentOptions = z.infer<typeof componentOptionsSchema>;

export const componentSubscriptionSchema = z
  .strictObject({
    origins: z.array(idSchema).max(1000).meta({ description: 'Ids of peers and components to receive tracks from.' }),
  })
  .meta({ id: 'ComponentSubscription', description: 'Additional origins of a component in manual mode.' });

export const roomDataSchema = z
  .strictObject({
    label: z.string().min(1).max(128),
    payload: jsonSchema,
    to: z.array(z.string().max(128)).max(1000).optional().meta({ description: 'Ids of the receiving peers; default: all.' }),
  })
  .meta({ id: 'RoomData', description: 'An application message to peers.' });
export type RoomData = z.infer<typeof roomDataSchema>;
