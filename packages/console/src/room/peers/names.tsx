// Names and texts of others, shown as text: cut to what a line can hold, in their own direction, never as markup.
import type { Component, Room } from '../../../../server-sdk/src/generated/schemas.ts';
import { componentName, nameOf } from '../../api/types.ts';
import { stripBidiControls } from '../../user-text.ts';

const maxNameLength = 120;

/** At most that many characters; a line has no breaks. */
export function oneLine(text: string, most = maxNameLength): string {
  const line = stripBidiControls(text.slice(0, most * 4))
    .replace(/\s+/g, ' ')
    .trim();
  const characters = [...line];
  return characters.length <= most ? line : `${characters.slice(0, most - 1).join('')}…`;
}

export function peerName(peer: { id: string; metadata: unknown }): string {
  const name = nameOf(peer.metadata);
  return name === undefined ? `Peer ${peer.id.slice(0, 8)}` : oneLine(name);
}

export function componentTitle(component: Pick<Component, 'type' | 'properties'>): string {
  return oneLine(componentName(component));
}

/** What an id of an event or of a subscription stands for, where it is still there. */
export function titleOf(room: Room | null | undefined, id: string): string | undefined {
  const peer = room?.peers.find((each) => each.id === id);
  if (peer) return peerName(peer);
  const component = room?.components.find((each) => each.id === id);
  return component && componentTitle(component);
}

export function UserText({ children, className = '' }: { children: string; className?: string }) {
  return <bdi className={`foreign ${className}`.trim()}>{children}</bdi>;
}
