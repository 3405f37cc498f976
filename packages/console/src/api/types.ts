// What the console reads of the answers of REST beside their own shapes: lists, names, and what a peer enters with.
import type { Component, ComponentType, Room } from '../../../server-sdk/src/generated/schemas.ts';
import { stripBidiControls } from '../user-text.ts';
export type RoomList = { rooms: Room[]; incomplete: string[] };
export type PeerAccess = { peerId: string; token: string; url: string };

const componentNames: Record<ComponentType, string> = { file: 'File', hls: 'HLS', recording: 'Recording', sip: 'Phone' };

/** As peers see it. */
export function kindName(type: ComponentType): string {
  return componentNames[type] ?? type;
}

/** Its kind, and of a file which. */
export function componentName({ type, properties }: Pick<Component, 'type' | 'properties'>): string {
  const kind = kindName(type);
  return typeof properties.filePath === 'string' ? `${kind}: ${properties.filePath}` : kind;
}

/** The name that a peer's metadata carries, by the console's own convention; nothing in it turns what stands behind it. */
export function nameOf(metadata: unknown): string | undefined {
  if (typeof metadata !== 'object' || metadata === null || !('name' in metadata) || typeof metadata.name !== 'string') return undefined;
  return stripBidiControls(metadata.name).trim() || undefined;
}
