// Views of rooms and their contents: one zod schema per shape, for REST, RPC between nodes and the documents.
import { z } from 'zod';
import { idPattern } from '../ids.ts';

export const kindSchema = z.enum(['audio', 'video']).meta({ id: 'Kind', description: 'Media kind of a track.' });
export type Kind = z.infer<typeof kindSchema>;

export const idSchema = z.string().regex(idPattern, 'may contain only alphanumeric characters, hyphens and underscores (1 to 128)');

/** Any JSON value. The input must be parsed JSON: validating a quarter of a megabyte again would take 150 ms. */
export const jsonSchema = z
  .any()
  .refine((value) => value !== undefined, { abort: true })
  .meta({ id: 'Json', description: 'Any JSON value.' }) as unknown as z.ZodType<z.core.util.JSONType, z.core.util.JSONType>;

/** Maximum size of the metadata of a peer or track, in bytes of JSON. */
export const maxMetadataBytes = 16 * 1024;
export const metadataSchema = jsonSchema
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= maxMetadataBytes, `may be at most ${maxMetadataBytes} bytes of JSON`)
  .meta({ description: 'Any JSON value of the application, at most 16 KiB.' });
export type Metadata = z.infer<typeof metadataSchema>;

export const externalIdSchema = z
  .string()
  .min(1)
  .refine((value) => Buffer.byteLength(value) <= 256, 'may be at most 256 bytes')
  .meta({ description: 'Idempotency key chosen by the client: a repeated request returns the existing object.' });

export const permissionsSchema = z
  .strictObject({
    publish: z.array(kindSchema).max(2).default(['audio', 'video']).meta({ description: 'Media kinds that the peer may publish.' }),
    subscribe: z.boolean().default(true).meta({ description: 'True if the peer may receive tracks.' }),
    data: z
      .boolean()
      .default(true)
      .meta({ description: 'True if the peer may send data and use data channels (SCTP) in both directions.' }),
  })
  .meta({ id: 'Permissions', description: 'Permissions of a peer; enforced by the server on every request.' });
export type Permissions = z.infer<typeof permissionsSchema>;

export const trackViewSchema = z
  .object({
    id: z.string(),
    type: kindSchema,
    metadata: metadataSchema.nullable(),
    encoding: z.string().nullable().meta({ description: 'Codec of the track, for example opus, vp8, h264.' }),
    simulcast: z.boolean(),
    paused: z.boolean().meta({ description: 'Paused by its publisher.' }),
    muted: z.boolean().meta({ description: 'Muted by the server.' }),
  })
  .meta({ id: 'Track', description: 'A published track.' });
export type TrackView = z.infer<typeof trackViewSchema>;

export const peerViewSchema = z
  .object({
    id: z.string(),
    type: z.literal('webrtc'),
    externalId: z.string().nullable(),
    status: z.enum(['connected', 'disconnected']),
    metadata: metadataSchema.nullable(),
    permissions: permissionsSchema,
    tracks: z.array(trackViewSchema),
  })
  .meta({ id: 'Peer', description: 'A participant of a room.' });
export type PeerView = z.infer<typeof peerViewSchema>;

export const componentTypeSchema = z.enum(['hls', 'recording', 'sip', 'file']).meta({ id: 'ComponentType' });
export type ComponentType = z.infer<typeof componentTypeSchema>;

export const componentViewSchema = z
  .object({
    id: z.string(),
    type: componentTypeSchema,
    externalId: z.string().nullable(),
    properties: z.record(z.string(), jsonSchema).meta({
      description:
        'Options without secrets, and state. `uploadProblem`: why uploads to S3 fail (two rejections in a row, or no success for 15 s); null or missing if they succeed.',
    }),
    tracks: z.array(trackViewSchema),
  })
  .meta({ id: 'Component', description: 'A component of a room: hls, recording, sip or file.' });
export type ComponentView = z.infer<typeof componentViewSchema>;

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
