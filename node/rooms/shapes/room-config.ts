// What callers may say of a room, a peer and data: options as they come in, checked field by field.
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

/** Longest time in seconds that a room's timeouts may have: 10 years, so that no timer overflows unnoticed. */
export const maxTimeout = 315_360_000;

/** 0, as in a Room of Kubernetes, and null are the same: never. */
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
    description: 'Options of a new room. Timeouts are in seconds; 0 or null means never; what is left out gets the default of the node.',
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
    description: 'What can change while a room lives. Timeouts are as those of a new room. A field that is left out stays as it is.',
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
    // Not permissionsSchema.partial(): that keeps the defaults, so what is left out would be granted.
    permissions: z.strictObject({
      publish: permissionsSchema.shape.publish.unwrap().optional(),
      subscribe: permissionsSchema.shape.subscribe.unwrap().optional(),
      data: permissionsSchema.shape.data.unwrap().optional(),
    }),
  })
  .meta({ id: 'PeerPatch', description: 'New permissions of a peer, in force at once; a permission that is left out stays as it is.' });
export type PeerPatch = z.infer<typeof peerPatchSchema>;

export const componentOptionsSchema = z.strictObject({
  type: componentTypeSchema,
  /** Read by the kind itself: component-options.ts. */
  options: z.record(z.string().max(128), jsonSchema).optional(),
  externalId: externalIdSchema.optional(),
});
export type ComponentOptions = z.infer<typeof componentOptionsSchema>;

export const componentSubscriptionSchema = z
  .strictObject({
    origins: z.array(idSchema).max(1000).meta({ description: 'Ids of peers and components whose tracks it receives from here.' }),
  })
  .meta({ id: 'ComponentSubscription', description: 'What a component in manual mode receives beside what it does already.' });

export const roomDataSchema = z
  .strictObject({
    label: z.string().min(1).max(128),
    payload: jsonSchema,
    to: z.array(z.string().max(128)).max(1000).optional().meta({ description: 'Ids of the peers that get it; all where left out.' }),
  })
  .meta({ id: 'RoomData', description: 'A message of the application to peers.' });
export type RoomData = z.infer<typeof roomDataSchema>;
