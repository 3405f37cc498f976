// Desired state of a room: converts the spec of a Room to requests of the REST API.
import { isDeepStrictEqual } from 'node:util';
import { isValidId } from '../../api/id.ts';
import type { Permissions } from '../../api/peer.ts';
import {
  type DefaultedName,
  defaultedNames,
  mapNames,
  type PatchableName,
  patchableNames,
  type RoomConfigView,
  type RoomFieldName,
  roomFieldNames,
  roomFields,
} from '../../api/room.ts';
import { currentForm, isOldForm } from '../../crds/component.ts';
import { roomSpecSchema } from '../../crds/room.ts';
import { apiVersions, type RoomSpec } from '../../crds/types.ts';
import type { NodePeer, NodeRoomConfig, PeerPatchRequest, PeerRequest, RoomRequest } from '../nodes/schemas.ts';
import type { MediaCluster, Room } from '../objects.ts';

/** Default timeouts of rooms in seconds; null = never. */
export type RoomDefaults = Pick<NodeRoomConfig, DefaultedName>;

export function defaultsOf({ spec }: Pick<MediaCluster, 'spec'>): RoomDefaults {
  const given = spec.config?.roomDefaults;
  return mapNames(defaultedNames, (name) => restValueOf(name, given?.[name], roomFields[name].nodeDefault));
}

/** Accepts a Room that does not match the schema. */
export function roomIdOf({ spec, metadata }: Room): string {
  return typeof spec?.roomId === 'string' ? spec.roomId : metadata.name;
}

function inCurrentForm(spec: RoomSpec): object {
  return Array.isArray(spec.components) ? { ...spec, components: spec.components.map(currentForm) } : spec;
}

/** How components in the form of v1alpha1 are written now, as a message; undefined if there are none. */
export function oldFormNotice({ spec }: Pick<Room, 'spec'>): string | undefined {
  const [old] = (Array.isArray(spec?.components) ? (spec.components as unknown[]) : []).filter(isOldForm);
  if (!old) return undefined;
  return `Component ${old.name} has the form of v1alpha1; in ${apiVersions.Room} it is {name: ${old.name}, ${old.type}: {...}} instead of {name: ${old.name}, type: ${old.type}, options: {...}}.`;
}

/** Parses the spec of a Room, which may be older than the schema and its rules. */
export function readSpec(room: Room): { spec: RoomSpec } | { message: string } {
  const parsed = roomSpecSchema.safeParse(inCurrentForm(room.spec ?? {}));
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    const where = ['spec', ...(issue?.path ?? [])].join('.');
    return { message: `${where} does not match the CRD: ${issue?.message ?? 'it is invalid'}.` };
  }
  const spec = parsed.data;
  if (!isValidId(roomIdOf(room))) return { message: `${roomIdOf(room)} is not a valid room id; set spec.roomId.` };
  const double = doubleName(spec.peers) ?? doubleName(spec.components);
  return double === undefined ? { spec } : { message: `The name ${double} is declared twice.` };
}

function doubleName(items: readonly { name: string }[] | undefined): string | undefined {
  const seen = new Set<string>();
  return items?.find(({ name }) => seen.size === seen.add(name).size)?.name;
}

export function configOf(spec: RoomSpec, defaults: RoomDefaults): Partial<NodeRoomConfig> {
  const names = patchableNames.filter((name) => isManaged(name, spec));
  return mapNames<PatchableName, NodeRoomConfig>(names, (name) => fieldOf(name, spec, defaults) as never);
}

/** False for a field that the Room leaves to REST; nodes before the field would reject it. */
function isManaged(name: RoomFieldName, spec: RoomSpec): boolean {
  return spec[name] !== undefined || !('keptIfOmitted' in roomFields[name]);
}

/** The changed fields with their desired values; undefined if there are none. */
export function configChanges(wanted: Partial<NodeRoomConfig>, found: NodeRoomConfig): Partial<NodeRoomConfig> | undefined {
  const fields = Object.keys(wanted) as (keyof NodeRoomConfig)[];
  const changed = fields.filter((field) => !isDeepStrictEqual(wanted[field], found[field]));
  const changes = Object.fromEntries(changed.map((field) => [field, wanted[field]]));
  return Object.keys(changes).length > 0 ? changes : undefined;
}

export function roomRequest(room: { uid: string; roomId: string }, spec: RoomSpec, defaults: RoomDefaults): RoomRequest {
  const names = roomFieldNames.filter((name) => isManaged(name, spec));
  const fields = mapNames<RoomFieldName, Omit<RoomConfigView, 'roomId'>>(names, (name) => fieldOf(name, spec, defaults) as never);
  return { roomId: room.roomId, externalId: room.uid, ...fields };
}

type PeerSpec = NonNullable<RoomSpec['peers']>[number];

/** Without omitted fields: nodes before them would reject the request. */
export function peerRequest(uid: string, { name, metadata, permissions, attributes, admitted }: PeerSpec): PeerRequest {
  return {
    ...{ peerId: name, externalId: externalIdOf(uid, name), permissions: permissionsOf(permissions) },
    // The API server stores only JSON.
    ...(metadata !== undefined && { metadata: metadata as NonNullable<PeerRequest['metadata']> }),
    ...(attributes && { attributes }),
    ...(admitted && { admitted }),
  };
}

function permissionsOf(given: PeerSpec['permissions']): Permissions {
  const { publish = ['audio', 'video'], subscribe = true, data = true, roomMetadata, publishSources } = given ?? {};
  return {
    ...{ publish, subscribe, data },
    ...(roomMetadata !== undefined && { roomMetadata }),
    ...(publishSources && { publishSources }),
  };
}

/** The change of a peer that is not as declared. A permission or a restriction that is not declared any more is revoked. */
export function peerChange({ permissions: { roomMetadata, publishSources } }: NodePeer, request: PeerRequest): PeerPatchRequest {
  const revoked = { ...(roomMetadata && { roomMetadata: false }), ...(publishSources && { publishSources: null }) };
  return { ...request, permissions: { ...revoked, ...request.permissions } };
}

/** True if a peer has what is declared. A peer may change its metadata, and may have more attributes. */
export function isAsDeclared(peer: NodePeer, { permissions, attributes = {}, admitted }: PeerRequest): boolean {
  if (!samePermissions(peer.permissions, permissions) || (admitted && !peer.admitted)) return false;
  return Object.entries(attributes).every(([name, text]) => peer.attributes[name] === text);
}

function samePermissions(one: NodePeer['permissions'], other: NodePeer['permissions']): boolean {
  const sorted = (names: readonly string[] | undefined) => names && [...new Set(names)].sort().join();
  const flags = ({ subscribe, data, roomMetadata = false }: NodePeer['permissions']) => [subscribe, data, roomMetadata].join();
  const areSame = (two: readonly string[] | undefined, names: readonly string[] | undefined) => sorted(two) === sorted(names);
  return areSame(one.publish, other.publish) && areSame(one.publishSources, other.publishSources) && flags(one) === flags(other);
}

/** externalId of a peer, or of a component with its revision, so that a changed component is recreated. */
export function externalIdOf(uid: string, name: string, revision?: string): string {
  return revision === undefined ? `${uid}/${name}` : `${uid}/${name}/${revision}`;
}

/** Declared name of an object of the Room with that uid; undefined for foreign objects. */
export function declaredName(externalId: string | null, uid: string): string | undefined {
  return externalId?.startsWith(`${uid}/`) ? externalId.split('/')[1] : undefined;
}

function fieldOf(name: RoomFieldName, spec: RoomSpec, defaults: Partial<RoomDefaults>): RoomConfigView[RoomFieldName] {
  return restValueOf(name, spec[name], (defaults as Partial<RoomConfigView>)[name] ?? null);
}

/** As REST reads it: for a timeout, 0 in a spec is null. */
function restValueOf<Name extends RoomFieldName>(name: Name, given: unknown, byDefault: RoomConfigView[Name]): RoomConfigView[Name] {
  if (given === undefined) return byDefault;
  const { data = given } = roomFields[name].schema.safeParse(given);
  return data as RoomConfigView[Name];
}
