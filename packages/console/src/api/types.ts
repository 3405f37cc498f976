// REST types of the console: lists, access of a peer, and names for display.
import type { Component, ComponentType, Room } from '../../../server-sdk/src/generated/schemas.ts';
import { stripBidiControls } from '../user-text.ts';
export type RoomList = { rooms: Room[]; incomplete: string[] };
export type PeerAccess = { peerId: string; token: string; url: string };

/** Names that differ from the component type. */
const componentNames: Partial<Record<ComponentType, string>> = { hls: 'HLS', sip: 'Phone' };

/** Name of a component type for participants. */
export function typeName(type: ComponentType): string {
  return componentNames[type] ?? `${type.charAt(0).toUpperCase()}${type.slice(1)}`;
}

/** Name of the component type, for files with the path. */
export function componentName({ type, properties }: Pick<Component, 'type' | 'properties'>): string {
  const name = typeName(type);
  return typeof properties.filePath === 'string' ? `${name}: ${properties.filePath}` : name;
}

/** Name in the metadata of a peer, a convention of the console; without marks that change the direction of the following text. */
export function nameOf(metadata: unknown): string | undefined {
  if (typeof metadata !== 'object' || metadata === null || !('name' in metadata) || typeof metadata.name !== 'string') return undefined;
  return stripBidiControls(metadata.name).trim() || undefined;
}
