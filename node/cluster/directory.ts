// Who owns which room: what this node knows of all connected nodes, and the rule for an id that is alive twice.
import type { NodeName } from './cluster-transport.ts';

/** A room as other nodes know it. */
export type DirectoryEntry = { id: string; incarnation: string; owner: NodeName; externalId: string | null; webhookUrl: string | null };

/** Two rooms with one id. The older incarnation stays, since incarnations sort by time of creation. */
export type Conflict = { winner: DirectoryEntry; loser: DirectoryEntry };

export class Directory {
  readonly #byId = new Map<string, DirectoryEntry>();
  readonly #byExternalId = new Map<string, DirectoryEntry>();
  readonly #byOwner = new Map<NodeName, Map<string, DirectoryEntry>>();
  /** By id: what goes in a conflict, until it is over. Where the one that stays is over first, that was so already and only not known. */
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

  /** Takes an entry in. Where another owner has the same id, the conflict is told and the one that stays is kept. */
  add(entry: DirectoryEntry): Conflict | undefined {
    const known = this.#byId.get(entry.id);
    if (!known || known.owner === entry.owner) {
      // The same owner's newer incarnation replaces what it had: its removal is on the way or was lost with a connection.
      if (!known || known.incarnation <= entry.incarnation) this.#set(entry);
      return undefined;
    }
    const conflict = known.incarnation <= entry.incarnation ? { winner: known, loser: entry } : { winner: entry, loser: known };
    this.#set(conflict.winner);
    this.#behind.set(entry.id, conflict.loser);
    return conflict;
  }

  /** Forgets one incarnation of a room; another one with the same id stays. */
  remove(id: string, incarnation: string, owner: NodeName): DirectoryEntry | undefined {
    const gone = [this.#behind.get(id), this.#byId.get(id)].find((each) => each?.incarnation === incarnation && each.owner === owner);
    if (gone) this.#over(gone);
    return gone;
  }

  /** All rooms of a node as it tells them: what it does not name is gone. */
  replace(owner: NodeName, entries: readonly DirectoryEntry[]): Conflict[] {
    const told = new Set(entries.map(({ incarnation }) => incarnation));
    for (const known of [...this.#behindOf(owner), ...this.ownedBy(owner)]) if (!told.has(known.incarnation)) this.#over(known);
    return entries.flatMap((entry) => this.add(entry) ?? []);
  }

  /** A node is lost, and its rooms with it. */
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
