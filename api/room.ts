// Rooms: request bodies and views.
import { z } from 'zod';
import { componentViewSchema } from './component.ts';
import { externalIdSchema, idSchema } from './id.ts';
import { jsonSchema } from './json.ts';
import { peerViewSchema } from './peer.ts';

export const videoCodecSchema = z.enum(['h264', 'vp8']).meta({ id: 'VideoCodec' });
export type VideoCodec = z.infer<typeof videoCodecSchema>;

const nullableNumber = z.number().int().nullable();
export const roomConfigViewSchema = z
  .object({
    roomId: z.string(),
    maxPeers: nullableNumber,
    videoCodec: videoCodecSchema.nullable(),
    webhookUrl: z.string().nullable(),
    peerlessPurgeTimeout: nullableNumber.meta({ description: 'Seconds without a connected peer after which the room ends; null = never.' }),
    peerDisconnectedTimeout: nullableNumber.meta({
      description: 'Seconds after the loss of its connection that a peer is removed; null = never.',
    }),
  })
  .meta({ id: 'RoomConfig', description: 'Effective configuration of a room; null if unset.' });
export type RoomConfigView = z.infer<typeof roomConfigViewSchema>;

export const roomViewSchema = z
  .object({
    id: z.string(),
    incarnation: z.string().meta({ description: 'ULID of this incarnation, unique among all rooms.' }),
    externalId: z.string().nullable(),
    config: roomConfigViewSchema,
    components: z.array(componentViewSchema),
    peers: z.array(peerViewSchema),
  })
  .meta({ id: 'Room', description: 'A room with its peers and components.' });
export type RoomView = z.infer<typeof roomViewSchema>;

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

export const roomDataSchema = z
  .strictObject({
    label: z.string().min(1).max(128),
    payload: jsonSchema,
    to: z.array(z.string().max(128)).max(1000).optional().meta({ description: 'Ids of the receiving peers; default: all.' }),
  })
  .meta({ id: 'RoomData', description: 'An application message to peers.' });
export type RoomData = z.infer<typeof roomDataSchema>;
