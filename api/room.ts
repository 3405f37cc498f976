// Rooms: request bodies and views.
import { z } from 'zod';
import { componentViewSchema } from './component/component.ts';
import { kube, matches } from './core/kube.ts';
import { externalIdSchema, idSchema } from './id.ts';
import { jsonSchema, metadataSchema } from './json.ts';
import { peerViewSchema } from './peer.ts';

const videoCodecSchema = z.enum(['h264', 'vp8', 'none']).meta({ id: 'VideoCodec', description: 'none: the room has audio only.' });
export type VideoCodec = z.infer<typeof videoCodecSchema>;

const admissionSchema = z.enum(['automatic', 'manual']).meta({
  id: 'Admission',
  description: 'manual: a peer that connects waits until a backend admits it. automatic: no peer waits.',
});

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
  .min(1, 'to be a positive integer')
  .max(1_000_000, 'to be at most 1000000')
  .nullable();
/** The form of `isHttpUrl` in CEL, which cannot parse a URL. */
export const httpUrlRules = [matches(/^https?:\/\/[^\s/?#]+[^\s#]*$/, 'must be an http or https URL with a host and without a fragment')];
const webhookUrl = z
  .string({ error: 'to be an http or https URL' })
  .max(2048, 'to be at most 2048 characters')
  .refine(isHttpUrl, 'to be an http or https URL')
  .register(kube, { rules: httpUrlRules })
  .nullable();
const roomMetadata = metadataSchema.register(kube, { preserved: true }).nullable();
const nullableNumber = z.number().int().nullable();

/** A URL that a webhook may be posted to: http or https, with a host, without a fragment. */
export function isHttpUrl(text: string): boolean {
  const url = URL.parse(text);
  return url !== null && (url.protocol === 'http:' || url.protocol === 'https:') && url.hostname !== '' && url.hash === '';
}

type RoomField = {
  /** Of a request. */
  schema: z.ZodType;
  /** Of the effective configuration. */
  view: z.ZodType;
  /** In a Room. */
  doc: string;
  /** May change while the room exists; otherwise the field of a Room is immutable. */
  patchable?: true;
  /** In a Room: without the field, the value of the room stays as REST set it. */
  keptIfOmitted?: true;
  /** Default of a node without configuration. */
  nodeDefault?: number | null;
  /** Default of every node. Without both defaults, the field of a room is null if omitted. */
  fixedDefault?: string;
};

/** Options of a room. Requests, view, CRD and operator are derived from this table. */
export const roomFields = {
  maxPeers: {
    schema: maxPeers,
    view: nullableNumber,
    doc: 'Maximum number of peers in the room; the limit of the cluster if omitted.',
    patchable: true,
  },
  videoCodec: {
    schema: videoCodecSchema.nullable(),
    view: videoCodecSchema.nullable(),
    doc: 'The only video codec of the room; none: the room has audio only; any codec if omitted. Immutable.',
  },
  webhookUrl: {
    schema: webhookUrl,
    view: z.string().nullable(),
    doc: 'Receiver of the events of this room, http or https.',
    patchable: true,
  },
  metadata: {
    schema: roomMetadata,
    // Nodes of 0.7 do not send it.
    view: metadataSchema.nullable().default(null),
    doc: 'Metadata of the room for its peers, any JSON of at most 16 KiB. If omitted, the metadata that REST or a peer set stays; otherwise the operator sets it back.',
    patchable: true,
    keptIfOmitted: true,
  },
  admission: {
    schema: admissionSchema,
    // Nodes of 0.7 do not send it.
    view: admissionSchema.default('automatic'),
    doc: 'manual: a peer that connects waits until a backend admits it over REST; automatic: no peer waits. If omitted, the admission that REST set stays.',
    patchable: true,
    keptIfOmitted: true,
    fixedDefault: 'automatic',
  },
  peerlessPurgeTimeout: {
    schema: timeout,
    view: nullableNumber.meta({ description: 'Seconds without a connected or waiting peer after which the room ends; null = never.' }),
    doc: 'Seconds without a connected or waiting peer after which the room ends; 0 = never; the default of the cluster if omitted.',
    patchable: true,
    nodeDefault: null,
  },
  peerDisconnectedTimeout: {
    schema: timeout,
    view: nullableNumber.meta({ description: 'Seconds after the loss of its connection that a peer is removed; null = never.' }),
    doc: 'Seconds after which a disconnected peer is removed; 0 = never; the default of the cluster if omitted.',
    patchable: true,
    nodeDefault: 120,
  },
} as const satisfies Record<string, RoomField>;
type Fields = typeof roomFields;
export type RoomFieldName = keyof Fields;
type NamesWith<Property extends keyof RoomField> = { [K in RoomFieldName]: Property extends keyof Fields[K] ? K : never }[RoomFieldName];
export type PatchableName = NamesWith<'patchable'>;
export type DefaultedName = NamesWith<'nodeDefault'>;

export const roomFieldNames = Object.keys(roomFields) as RoomFieldName[];
export const isPatchable = (name: RoomFieldName): name is PatchableName => 'patchable' in roomFields[name];
export const patchableNames = roomFieldNames.filter(isPatchable);
export const fixedNames = roomFieldNames.filter((name) => !isPatchable(name));
export const defaultedNames = roomFieldNames.filter((name): name is DefaultedName => 'nodeDefault' in roomFields[name]);

/** One entry for each name. */
export function mapNames<Name extends string, Result extends { [K in Name]: unknown }>(
  names: readonly Name[],
  of: (name: Name) => Result[Name],
): Result {
  return Object.fromEntries(names.map((name) => [name, of(name)])) as Result;
}

type Views = { [K in RoomFieldName]: Fields[K]['view'] };
type Optional<Name extends RoomFieldName> = { [K in Name]: z.ZodOptional<Fields[K]['schema']> };
const optional = (name: RoomFieldName) => (roomFields[name].schema as z.ZodType).optional() as never;

const roomConfigViewSchema = z
  .object({ roomId: z.string(), ...mapNames<RoomFieldName, Views>(roomFieldNames, (name) => roomFields[name].view as never) })
  .meta({ id: 'RoomConfig', description: 'Effective configuration of a room; null if unset.' });
export type RoomConfigView = z.infer<typeof roomConfigViewSchema>;

const count = z.number().int().nonnegative();
const legViewSchema = z
  .object({
    worker: count.meta({ description: 'Index of the media worker, as in metrics.' }),
    peers: count.meta({ description: 'Peers whose media it forwards.' }),
    forwardedTracks: count.meta({ description: 'Tracks that it forwards for the room: one per track and receiver.' }),
    pipedTracks: count.meta({ description: 'Tracks that it gets from other legs of the room.' }),
  })
  .meta({ id: 'RoomLeg', description: 'What a room has on one media worker.' });
export type LegView = z.infer<typeof legViewSchema>;

export const roomViewSchema = z
  .object({
    id: z.string(),
    incarnation: z.string().meta({ description: 'ULID of this incarnation, unique among all rooms.' }),
    externalId: z.string().nullable(),
    config: roomConfigViewSchema,
    components: z.array(componentViewSchema),
    peers: z.array(peerViewSchema),
    // Nodes of 0.7 do not send it.
    legs: z.array(legViewSchema).default([]).meta({ description: 'The media workers of the room, the first one first.' }),
  })
  .meta({ id: 'Room', description: 'A room with its peers and components.' });
export type RoomView = z.infer<typeof roomViewSchema>;

export const roomOptionsSchema = z
  .strictObject({
    roomId: idSchema.optional(),
    externalId: externalIdSchema.optional(),
    ...mapNames<RoomFieldName, Optional<RoomFieldName>>(roomFieldNames, optional),
  })
  .meta({
    id: 'RoomOptions',
    description: 'Options of a new room. Timeouts are in seconds; 0 or null means never; omitted options get the default of the node.',
  });
export type RoomOptions = z.infer<typeof roomOptionsSchema>;

/** Effective configuration of a new room. */
export function roomConfigOf(roomId: string, options: RoomOptions, defaults: Pick<RoomConfigView, DefaultedName>): RoomConfigView {
  const given = Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as RoomOptions;
  const unset: Omit<RoomConfigView, 'roomId'> = mapNames(roomFieldNames, (name) => fixedDefaultOf(roomFields[name]) as never);
  const byDefault = mapNames<DefaultedName, Pick<RoomConfigView, DefaultedName>>(defaultedNames, (name) => defaults[name]);
  const { roomId: _, externalId: _externalId, ...config } = { ...unset, ...byDefault, ...given };
  return { roomId, ...config } as RoomConfigView;
}

const fixedDefaultOf = (field: RoomField): string | null => field.fixedDefault ?? null;

export const roomPatchSchema = z.strictObject(mapNames<PatchableName, Optional<PatchableName>>(patchableNames, optional)).meta({
  id: 'RoomPatch',
  description: 'Changes to a room. Timeouts as in RoomOptions. Omitted fields stay unchanged.',
});
export type RoomPatch = z.infer<typeof roomPatchSchema>;

export const roomDataSchema = z
  .strictObject({
    label: z.string().max(128),
    payload: jsonSchema,
    to: z.array(z.string().max(128)).max(1000).optional().meta({ description: 'Ids of the receiving peers; default: all.' }),
  })
  .meta({ id: 'RoomData', description: 'An application message to peers.' });
export type RoomData = z.infer<typeof roomDataSchema>;
