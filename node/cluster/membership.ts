// Membership: nodes exchange their identity and rooms, a snapshot on connect and changes after it.
import { z } from 'zod';
import { type NodeState, nodeStateSchema } from '../../api/node.ts';
import type { Log } from '../common/log.ts';
import type { Revocations } from '../rooms/tokens/revocations.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import { ConnectedPeers, type LostEntry, type Presence } from './connected-peers.ts';
import type { Directory, DirectoryEntry } from './directory.ts';
import type { Member, Members } from './nodes.ts';
import type { Dispatcher } from './rpc/dispatcher.ts';
import { rpcVersion } from './rpc/legacy-rpcs.ts';

const entrySchema = z.object({
  id: z.string().max(128),
  incarnation: z.string().max(64),
  externalId: z.string().max(256).nullable(),
  webhookUrl: z.string().max(2048).nullable(),
});
type Announced = z.infer<typeof entrySchema>;

const helloSchema = z.object({
  /** `host[:port]` of HTTP between nodes. */
  internalAddress: z.string().max(512),
  /** SVC_HOST. */
  address: z.string().max(1024),
  version: z.string().max(64),
  tls: z.boolean(),
  state: nodeStateSchema,
  /** Nodes of 0.7 do not send it. */
  rpc: z.int().min(1).default(1),
  /** Deleted rooms: access tokens that were issued before are not valid any more. Nodes of 0.7 do not send it. */
  deleted: z
    .array(z.object({ name: z.string().max(128), at: z.number() }))
    .max(100_000)
    .default([]),
  /** `connected`: ids of connected peers. Nodes of 0.7.0 do not send it. */
  rooms: z.array(entrySchema.extend({ connected: z.array(z.string().max(128)).max(100_000).default([]) })).max(1_000_000),
});
const changeSchema = z.object({
  added: z.array(entrySchema).max(10_000),
  /** `reason`: why the room ended. Nodes of 0.7.0 do not send it. */
  removed: z.array(entrySchema.pick({ id: true, incarnation: true }).extend({ reason: z.string().max(256).optional() })).max(10_000),
});

const presenceSchema = z.object({ incarnation: z.string().max(64), peerId: z.string().max(128), connected: z.boolean() });

/** What a node tells the others about itself. */
export type NodeDescription = Omit<Member, 'name' | 'rpc'>;

export type MembershipOptions = {
  links: ClusterTransport;
  dispatcher: Dispatcher;
  log: Log;
  members: Members;
  directory: Directory;
  /** This node, except its state. */
  describe: () => Omit<NodeDescription, 'state'>;
  /** A local room must end because `older`, with the same id, exists on another node. */
  onDuplicate: (entry: DirectoryEntry, older: DirectoryEntry) => void;
  /** A remote room ended, or exists (again). */
  onEnded: (roomId: string, reason: string) => void;
  onMade: (roomId: string) => void;
  /** Deleted rooms, those of this node and of all others. */
  revoked: Pick<Revocations, 'add' | 'all'>;
  /** Rooms that were lost with their node. */
  onLost: (node: NodeName, entries: readonly LostEntry[]) => void;
};

export class Membership {
  readonly #peers = new ConnectedPeers();
  readonly #options: MembershipOptions;
  #state: NodeState = 'accepting';

  constructor(options: MembershipOptions) {
    this.#options = options;
    const { dispatcher } = options;
    dispatcher.receive('hello', helloSchema, (from, hello) => this.#meet(from, hello));
    dispatcher.receive('rooms', changeSchema, (from, change) => this.#change(from, change));
    dispatcher.receive('presence', presenceSchema, (from, presence) => this.#peers.set(from, presence));
    dispatcher.receive('state', nodeStateSchema, (from, state) => this.#setState(from, state));
  }

  /** This node. */
  get own(): NodeDescription {
    return { ...this.#options.describe(), state: this.#state };
  }

  nodeUp(node: NodeName): void {
    this.#options.links.cast(node, 'hello', this.#hello());
  }

  nodeDown(node: NodeName): void {
    const { members, directory, onLost } = this.#options;
    members.delete(node);
    const lost = directory.drop(node).map((entry) => ({ ...entry, connected: this.#peers.of(node, entry.incarnation) }));
    this.#peers.nodeDown(node);
    onLost(node, lost);
  }

  /** A local room was created or changed. */
  announce(entry: Announced): void {
    this.#take({ ...entry, owner: this.#options.links.self });
    this.#tell('rooms', { added: [entry], removed: [] });
  }

  /** A local room ended. */
  retract(id: string, incarnation: string, reason: string): void {
    this.#peers.roomEnded(this.#options.links.self, incarnation);
    if (!this.#options.directory.remove(id, incarnation, this.#options.links.self)) return;
    this.#tell('rooms', { added: [], removed: [{ id, incarnation, reason: reason.slice(0, 256) }] });
  }

  /** A local peer connected or disconnected. */
  presenceChanged(presence: Presence): void {
    this.#peers.set(this.#options.links.self, presence);
    this.#tell('presence', presence);
  }

  /** This node accepts rooms, or drains. */
  stateChanged(state: NodeState): void {
    this.#state = state;
    this.#tell('state', state);
  }

  #hello(): z.input<typeof helloSchema> {
    const { links, directory } = this.#options;
    const rooms = directory
      .ownedBy(links.self)
      .map(({ owner, ...entry }) => ({ ...entry, connected: this.#peers.of(owner, entry.incarnation) }));
    return { ...this.own, rpc: rpcVersion, deleted: this.#options.revoked.all(), rooms };
  }

  #meet(name: NodeName, { rooms, deleted, ...member }: z.infer<typeof helloSchema>): void {
    for (const each of deleted) this.#options.revoked.add(each.name, each.at);
    this.#options.members.set({ name, ...member });
    this.#peers.replace(name, rooms);
    for (const { id } of rooms) this.#options.onMade(id);
    const conflicts = this.#options.directory.replace(
      name,
      rooms.map(({ connected: _, ...entry }) => ({ ...entry, owner: name })),
    );
    for (const conflict of conflicts) this.#settle(conflict);
  }

  #change(from: NodeName, { added, removed }: z.infer<typeof changeSchema>): void {
    for (const { id, incarnation, reason } of removed) {
      this.#peers.roomEnded(from, incarnation);
      const known = this.#options.directory.remove(id, incarnation, from);
      if (known && reason !== undefined && !this.#options.directory.find(id)) this.#options.onEnded(id, reason);
    }
    for (const entry of added) this.#take({ ...entry, owner: from });
  }

  #setState(from: NodeName, state: NodeState): void {
    const { members } = this.#options;
    const member = members.get(from);
    if (member) members.set({ ...member, state });
  }

  #take(entry: DirectoryEntry): void {
    if (entry.owner !== this.#options.links.self) this.#options.onMade(entry.id);
    const conflict = this.#options.directory.add(entry);
    if (conflict) this.#settle(conflict);
  }

  /** Both owners see the same two incarnations and reach the same decision. Only the owner of the younger room acts. */
  #settle({ winner, loser }: { winner: DirectoryEntry; loser: DirectoryEntry }): void {
    const { log, links } = this.#options;
    log.warn({ room: loser.id, winner: winner.owner, loser: loser.owner }, 'duplicate room id, keeping the older room');
    if (loser.owner === links.self) this.#options.onDuplicate(loser, winner);
  }

  #tell(method: string, data: unknown): void {
    for (const node of this.#options.links.nodes()) this.#options.links.cast(node, method, data);
  }
}
