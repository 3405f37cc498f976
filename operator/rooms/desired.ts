// Desired state of a room: converts the spec of a Room to requests of the REST API.
import { roomSpecSchema } from '../../crds/room.ts';
import type { RoomSpec } from '../../crds/types.ts';
import type { NodePermissions, NodeRoomConfig, PeerRequest, RoomRequest } from '../nodes/schemas.ts';
import type { MediaCluster, Room } from '../objects.ts';

/** Default timeouts of rooms in seconds; null = never. */
export type RoomDefaults = Pick<NodeRoomConfig, 'peerlessPurgeTimeout' | 'peerDisconnectedTimeout'>;

/** Defaults of a node if the MediaCluster sets none (docs/reference/configuration.md). */
const nodeDefaults: RoomDefaults = { peerlessPurgeTimeout: null, peerDisconnectedTimeout: 120 };

export function defaultsOf({ spec }: Pick<MediaCluster, 'spec'>): RoomDefaults {
  const given = spec.config?.roomDefaults;
  return {
    peerlessPurgeTimeout: timeoutOf(given?.peerlessPurgeTimeout, nodeDefaults.peerlessPurgeTimeout),
    peerDisconnectedTimeout: timeoutOf(given?.peerDisconnectedTimeout, nodeDefaults.peerDisconnectedTimeout),
  };
}

/** Accepts a Room that does not match the schema. */
export function roomIdOf({ spec, metadata }: Room): string {
  return typeof spec?.roomId === 'string' ? spec.roomId : metadata.name;
}

const idPattern = /^[A-Za-z0-9_-]{1,128}$/;

/** Parses the spec of a Room, which may be older than the schema and its rules. */
export function readSpec(room: Room): { spec: RoomSpec } | { sentence: string } {
  const parsed = roomSpecSchema.safeParse(room.spec ?? {});
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = ['spec', ...(issue?.path ?? [])].join('.');
    return { sentence: `${where} does not match the CRD: ${issue?.message ?? 'it is invalid'}.` };
  }
  const spec = parsed.data;
  if (!idPattern.test(roomIdOf(room))) return { sentence: `${roomIdOf(room)} is not a valid room id; set spec.roomId.` };
  const double = doubleName(spec.peers) ?? doubleName(spec.components);
  return double === undefined ? { spec } : { sentence: `The name ${double} is declared twice.` };
}

function doubleName(items: readonly { name: string }[] | undefined): string | undefined {
  const seen = new Set<string>();
  return items?.find(({ name }) => seen.size === seen.add(name).size)?.name;
}

export function configOf(spec: RoomSpec, defaults: RoomDefaults): NodeRoomConfig {
  return {
    maxPeers: spec.maxPeers ?? null,
    webhookUrl: spec.webhookUrl ?? null,
    peerlessPurgeTimeout: timeoutOf(spec.peerlessPurgeTimeout, defaults.peerlessPurgeTimeout),
    peerDisconnectedTimeout: timeoutOf(spec.peerDisconnectedTimeout, defaults.peerDisconnectedTimeout),
  };
}

/** The changed fields with their desired values; undefined if there are none. */
export function configChanges(wanted: NodeRoomConfig, found: NodeRoomConfig): Partial<NodeRoomConfig> | undefined {
  const fields = Object.keys(wanted) as (keyof NodeRoomConfig)[];
  const changes = Object.fromEntries(fields.filter((field) => wanted[field] !== found[field]).map((field) => [field, wanted[field]]));
  return Object.keys(changes).length > 0 ? changes : undefined;
}

export function roomRequest(room: { uid: string; roomId: string }, spec: RoomSpec, defaults: RoomDefaults): RoomRequest {
  return { roomId: room.roomId, externalId: room.uid, videoCodec: spec.videoCodec ?? null, ...configOf(spec, defaults) };
}

type PeerSpec = NonNullable<RoomSpec['peers']>[number];

export function peerRequest(uid: string, { name, metadata, permissions }: PeerSpec): PeerRequest {
  return { peerId: name, externalId: externalIdOf(uid, name), metadata, permissions: permissionsOf(permissions) };
}

export function permissionsOf(given: PeerSpec['permissions']): NodePermissions {
  return { publish: given?.publish ?? ['audio', 'video'], subscribe: given?.subscribe ?? true, data: given?.data ?? true };
}

export function samePermissions(one: NodePermissions, other: NodePermissions): boolean {
  const kinds = ({ publish }: NodePermissions) => [...new Set(publish)].sort().join();
  return kinds(one) === kinds(other) && one.subscribe === other.subscribe && one.data === other.data;
}

/** externalId of a peer, or of a component with its revision, so that a changed component is recreated. */
export function externalIdOf(uid: string, name: string, revision?: string): string {
  return revision === undefined ? `${uid}/${name}` : `${uid}/${name}/${revision}`;
}

/** Declared name of an object of the Room with that uid; undefined for foreign objects. */
export function declaredName(externalId: string | null, uid: string): string | undefined {
  return externalId?.startsWith(`${uid}/`) ? externalId.split('/')[1] : undefined;
}

/** 0 in a spec is null in REST: never. */
function timeoutOf(given: number | null | undefined, byDefault: number | null): number | null {
  if (given === undefined) return byDefault;
  return given === 0 ? null : given;
}
