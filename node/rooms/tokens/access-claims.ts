// Access claims: the claims of an access token, which are those of LiveKit's, as the rights of a peer in a room.
import { z } from 'zod';
import { validationMessage } from '../../../api/derive/validation-messages.ts';
import { ServiceError } from '../../../api/errors.ts';
import { externalIdSchema, idSchema } from '../../../api/id.ts';
import { type Metadata, metadataSchema } from '../../../api/json.ts';
import { type AgentRequest, agentNameSchema, maxAgentDispatches } from '../../../api/operations/agent-rpcs.ts';
import { type Attributes, attributesSchema, type Permissions } from '../../../api/peer.ts';
import type { RoomOptions } from '../../../api/room.ts';
import type { AccessKey } from '../../../api/settings/access-keys.ts';
import type { Kind, Source } from '../../../api/track.ts';

/** What a valid access token allows: one peer in one room. */
export type Access = {
  /** Id of the access key that signed it. */
  keyId: string;
  roomId: string;
  /** Name of the peer, chosen by the backend. */
  identity: string;
  metadata: Metadata | null;
  attributes: Attributes;
  permissions: Permissions;
  /** True if other peers must not see this one. */
  hidden: boolean;
  /** True if the peer is an agent, which does not keep the room open. */
  agent: boolean;
  /** Agents that the room gets. */
  agents: readonly AgentRequest[];
  /** True if the token is one of AccessTokens.forRejoin(). */
  rejoin: boolean;
  /** Options of the room if it may be created; undefined if it must exist. */
  room: (RoomOptions & { roomId: string }) | undefined;
  /** Milliseconds since 1970. `issuedAt` is 0 if the token does not tell. */
  issuedAt: number;
  expiresAt: number;
};

/** The key with which a worker of agents authenticated. */
export type WorkerKey = Pick<AccessKey, 'id' | 'roomPrefix'>;

/** Seconds without a connected peer after which a created room ends, unless key or token set less. */
const defaultPurgeTimeout = 300;

/** Some signing libraries write null or an empty text for what is not set. */
const optional = <Schema extends z.ZodType>(schema: Schema) => schema.nullish();
const flag = optional(z.boolean());
const limit = optional(z.int().min(0));
const agents = z
  .array(z.object({ agentName: agentNameSchema, metadata: optional(z.string().max(16 * 1024)), attributes: optional(attributesSchema) }))
  .max(maxAgentDispatches - 1);

const claimsSchema = z.object({
  sub: externalIdSchema,
  exp: z.number(),
  nbf: optional(z.number()),
  iat: optional(z.number()),
  name: optional(z.string().max(256)),
  metadata: optional(metadataSchema),
  attributes: optional(attributesSchema),
  kind: optional(z.string().max(64)),
  rejoin: flag,
  video: z.object({
    room: idSchema,
    roomJoin: flag,
    roomCreate: flag,
    canPublish: flag,
    canSubscribe: flag,
    canPublishData: flag,
    canPublishSources: optional(z.array(z.string().max(64)).max(16)),
    roomAdmin: flag,
    hidden: flag,
  }),
  roomConfig: optional(
    z.object({
      ...{ maxParticipants: limit, emptyTimeout: limit, departureTimeout: limit },
      metadata: optional(metadataSchema),
      agents: optional(agents),
    }),
  ),
});
type Claims = z.infer<typeof claimsSchema>;
type CreationConfig = Partial<NonNullable<Claims['roomConfig']>>;
type CreationBounds = Pick<AccessKey, 'maxPeers' | 'peerlessPurgeTimeout'>;
const workerClaimsSchema = z.object({ video: z.object({ agent: z.literal(true) }) });

const sources: Readonly<Record<string, { kind: Kind; source: Source }>> = {
  camera: { kind: 'video', source: 'camera' },
  microphone: { kind: 'audio', source: 'microphone' },
  screen_share: { kind: 'video', source: 'screen' },
  screen_share_audio: { kind: 'audio', source: 'screenSound' },
};

/** The rights of verified claims. @throws ServiceError `invalid_token`, `forbidden` */
export function accessOf(payload: unknown, key: Omit<AccessKey, 'secret' | 'publicKey'>): Access {
  const result = claimsSchema.safeParse(payload);
  if (!result.success) throw new ServiceError('invalid_token', `Access token: ${validationMessage(result.error, payload, 'the claims')}`);
  const claims = result.data;
  const metadata = metadataOf(claims);
  if (![metadata, parsed(claims.roomConfig?.metadata)].every((each) => metadataSchema.safeParse(each).success))
    throw new ServiceError('invalid_token', 'Access token: the metadata is too large');
  const { sub: identity, exp, nbf, iat, video } = claims;
  if (video.roomJoin !== true) throw new ServiceError('forbidden', 'The access token has no grant roomJoin');
  if (!video.room.startsWith(key.roomPrefix ?? ''))
    throw new ServiceError('forbidden', `The access key ${key.id} is valid for rooms with the prefix ${key.roomPrefix} only`);
  return {
    keyId: key.id,
    roomId: video.room,
    identity,
    metadata,
    attributes: claims.attributes ?? {},
    permissions: permissionsOf(video),
    hidden: video.hidden === true,
    agent: claims.kind?.toLowerCase() === 'agent',
    agents: agentsOf(claims),
    rejoin: claims.rejoin === true,
    room: video.roomCreate === true && key.roomCreate !== false ? roomOf(claims, key) : undefined,
    issuedAt: (iat ?? nbf ?? 0) * 1000,
    expiresAt: exp * 1000,
  };
}

/** The key of a worker, if verified claims allow to be one. @throws ServiceError `forbidden` */
export function workerKeyOf(payload: unknown, { id, roomPrefix }: WorkerKey): WorkerKey {
  if (!workerClaimsSchema.safeParse(payload).success) throw new ServiceError('forbidden', 'The access token has no grant agent');
  return { id, ...(roomPrefix !== undefined && { roomPrefix }) };
}

function agentsOf({ roomConfig }: Claims): AgentRequest[] {
  return (roomConfig?.agents ?? []).map(({ agentName, metadata, attributes }) => ({
    ...{ agentName, metadata: metadata ?? '', attributes: attributes ?? {} },
    restart: true,
  }));
}

/**
 * As in LiveKit: everything is permitted unless excluded, data if media is, and the metadata of the room to its administrators. Hidden peers
 * publish nothing, because that shows them.
 */
function permissionsOf({ canPublish, canSubscribe, canPublishData, canPublishSources, roomAdmin, hidden }: Claims['video']): Permissions {
  const publishes = canPublish !== false;
  const named = canPublishSources?.length ? [...new Set(canPublishSources)].flatMap((name) => sources[name] ?? []) : undefined;
  const kinds = new Set(named ? named.map(({ kind }) => kind) : (['audio', 'video'] as const));
  const publish = publishes && hidden !== true ? [...kinds] : [];
  return {
    publish,
    subscribe: canSubscribe !== false,
    data: canPublishData ?? publishes,
    ...(roomAdmin === true && { roomMetadata: true }),
    ...(named && publish.length > 0 && { publishSources: named.map(({ source }) => source) }),
  };
}

/** A name becomes the `name` of the metadata; metadata without names becomes its `value`. */
function metadataOf({ name, metadata: given }: Claims): Metadata | null {
  const metadata = parsed(given);
  if (!name) return metadata;
  if (metadata === null) return { name };
  return typeof metadata === 'object' && !Array.isArray(metadata) ? { name, ...metadata } : { name, value: metadata };
}

/** In these tokens metadata is text, usually JSON. */
function parsed(given: Metadata | null | undefined): Metadata | null {
  if (typeof given !== 'string') return given ?? null;
  if (given === '') return null;
  try {
    return JSON.parse(given) as Metadata;
  } catch {
    return given;
  }
}

function roomOf({ video, roomConfig }: Claims, key: CreationBounds): RoomOptions & { roomId: string } {
  return roomOptionsOf(video.room, roomConfig ?? {}, key);
}

/** A token or a backend may set less than the key, not more. 0 means the default. @throws nothing; metadata is not validated */
export function roomOptionsOf(roomId: string, config: CreationConfig, key: CreationBounds): RoomOptions & { roomId: string } {
  const maxPeers = least(key.maxPeers, config.maxParticipants);
  const timeout = least(key.peerlessPurgeTimeout ?? defaultPurgeTimeout, config.departureTimeout || config.emptyTimeout);
  const metadata = parsed(config.metadata);
  return {
    roomId,
    peerlessPurgeTimeout: timeout,
    ...(maxPeers !== undefined && { maxPeers }),
    ...(metadata !== null && { metadata }),
  };
}

function least(bound: number | undefined, given: number | null | undefined): number | undefined {
  return given ? Math.min(given, bound ?? given) : bound;
}
