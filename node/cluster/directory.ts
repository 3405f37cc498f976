// Room directory: maps rooms to their owning nodes and resolves duplicate room ids.
import type { NodeName } from './cluster-transport.ts';

/** A room as announced by its owner. */
export type DirectoryEntry = { id: string; incarnation: string; owner: NodeName; externalId: string | null; webhookUrl: string | null };

/** Two rooms with the same id. The older incarnation wins, because incarnations sort by creation time. */
export type Conflict = { winner: DirectoryEntry; loser: DirectoryEntry };

export class Directory {
  readonly #byId = new Map<string, DirectoryEntry>();
  readonly #byExternalId = new Map<string, DirectoryEntry>();
  readonly #byOwner = new Map<NodeName, Map<string, DirectoryEntry>>();
  /** By id: losers of conflicts that have not ended yet. If the winner ends first, the loser takes its place. */
  readonly #behind = new Map<string, DirectoryEntry>();

  get size(): number {
    return this.#byId.size;
  }

  find(id: string): DirectoryEntry | undefined {
    return this.#byId.get(id);
  }

  findByExternalId(externalId: string): DirectoryEntry | undefined {
    return this.#byExternalId.get(externalId);
  }

  ownedBy(owner: NodeName): DirectoryEntry[] {
    return [...(this.#byOwner.get(owner)?.values() ?? [])];
  }

  /** Adds an entry. If another node owns a room with the same id, returns the conflict and keeps the winner. */
  add(entry: DirectoryEntry): Conflict | undefined {
    const known = this.#byId.get(entry.id);
    if (!known || known.owner === entry.owner) {
      // The owner replaced its room by a newer incarnation. The removal of the old one is in transit or was lost with a connection.
      if (!known || known.incarnation <= entry.incarnation) this.#set(entry);
      return undefined;
    }
    const conflict = known.incarnation <= entry.incarnation ? { winner: known, loser: entry } : { winner: entry, loser: known };
    this.#set(conflict.winner);
    this.#behind.set(entry.id, conflict.loser);
    return conflict;
  }

  /** Removes one incarnation of a room. Another incarnation with the same id stays. */
  remove(id: string, incarnation: string, owner: NodeName): DirectoryEntry | undefined {
    const ended = [this.#behind.get(id), this.#byId.get(id)].find((each) => each?.incarnation === incarnation && each.owner === owner);
    if (ended) this.#over(ended);
    return ended;
  }

  /** Replaces all rooms of a node by its snapshot. */
  replace(owner: NodeName, entries: readonly DirectoryEntry[]): Conflict[] {
    const announced = new Set(entries.map(({ incarnation }) => incarnation));
    for (const known of [...this.#behindOf(owner), ...this.ownedBy(owner)]) if (!announced.has(known.incarnation)) this.#over(known);
    return entries.flatMap((entry) => this.add(entry) ?? []);
  }

  /** Removes a lost node and its rooms. */
  drop(owner: NodeName): DirectoryEntry[] {
    for (const entry of this.#behindOf(owner)) this.#over(entry);
    const lost = this.ownedBy(owner);
    for (const entry of lost) this.#over(entry);
    return lost;
  }

  #behindOf(owner: NodeName): DirectoryEntry[] {
    return [...this.#behind.values()].filter((entry) => entry.owner === owner);
  }

  #over(entry: DirectoryEntry): void {
    const behind = this.#behind.get(entry.id);
    this.#behind.delete(entry.id);
    if (behind === entry) return;
    this.#delete(entry);
    if (behind) this.#set(behind);
  }

  #set(entry: DirectoryEntry): void {
    const known = this.#byId.get(entry.id);
    if (known) this.#delete(known);
    this.#byId.set(entry.id, entry);
    if (entry.externalId !== null) this.#byExternalId.set(entry.externalId, entry);
    const owned = this.#byOwner.get(entry.owner) ?? new Map<string, DirectoryEntry>();
    this.#byOwner.set(entry.owner, owned.set(entry.id, entry));
  }

  #delete(entry: DirectoryEntry): void {
    this.#byId.delete(entry.id);
    if (entry.externalId !== null && this.#byExternalId.get(entry.externalId) === entry) this.#byExternalId.delete(entry.externalId);
    const owned = this.#byOwner.get(entry.owner);
    owned?.delete(entry.id);
    if (owned?.size === 0) this.#byOwner.delete(entry.owner);
  }
}
