// Untrusted names and texts: shortened, isolated in their text direction, never rendered as markup.
import type { Component, Room } from '../../../../server-sdk/src/generated/schemas.ts';
import { componentName, nameOf } from '../../api/types.ts';
import { stripBidiControls } from '../../user-text.ts';

const maxNameLength = 120;

/** Shortens the text to one line with at most this number of characters. */
export function oneLine(text: string, maxLength = maxNameLength): string {
  const line = stripBidiControls(text.slice(0, maxLength * 4))
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length <= maxLength ? line : `${characters.slice(0, maxLength - 1).join('')}…`;
}

export function peerName(peer: { id: string; metadata: unknown }): string {
  const name = nameOf(peer.metadata);
  return name === undefined ? `Peer ${peer.id.slice(0, 8)}` : oneLine(name);
}

export function componentTitle(component: Pick<Component, 'type' | 'properties'>): string {
  return oneLine(componentName(component));
}

/** Name of the peer or component with this id, if it still exists. */
export function titleOf(room: Room | null | undefined, id: string): string | undefined {
  const peer = room?.peers.find((each) => each.id === id);
  if (peer) return peerName(peer);
  const component = room?.components.find((each) => each.id === id);
  return component && componentTitle(component);
}

export function UserText({ children, className = '' }: { children: string; className?: string }) {
  return <bdi className={`foreign ${className}`.trim()}>{children}</bdi>;
}
