// Connected peers by node and room, reported if their node is lost.

import type { NodeName } from './cluster-transport.ts';
import type { DirectoryEntry } from './directory.ts';

/** A room that was lost with its node. `connected`: ids of the peers that were connected. */
export type LostEntry = DirectoryEntry & { connected: readonly string[] };

/** A peer connected or disconnected. */
export type Presence = { incarnation: string; peerId: string; connected: boolean };

export class ConnectedPeers {
  readonly #byNode = new Map<NodeName, Map<string, Set<string>>>();

  of(node: NodeName, incarnation: string): string[] {
    return [...(this.#byNode.get(node)?.get(incarnation) ?? [])];
  }

  set(node: NodeName, { incarnation, peerId, connected }: Presence): void {
    const rooms = this.#byNode.get(node) ?? new Map<string, Set<string>>();
    const peers = rooms.get(incarnation) ?? new Set<string>();
    if (connected) peers.add(peerId);
    else peers.delete(peerId);
    if (peers.size > 0) rooms.set(incarnation, peers);
    else rooms.delete(incarnation);
    this.#byNode.set(node, rooms);
  }

  /** Replaces all peers of a node by its snapshot. */
  replace(node: NodeName, rooms: readonly { incarnation: string; connected: readonly string[] }[]): void {
    this.#byNode.set(node, new Map(rooms.map(({ incarnation, connected }) => [incarnation, new Set(connected)])));
  }

  roomEnded(node: NodeName, incarnation: string): void {
    this.#byNode.get(node)?.delete(incarnation);
  }

  nodeDown(node: NodeName): void {
    this.#byNode.delete(node);
  }
}
