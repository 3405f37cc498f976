// The connection to the nodes of one MediaCluster: whom to ask, their events, what ended lately, and a look at all rooms now and then.
import { createHash } from 'node:crypto';
import { sleep } from '../kube/http/deadline.ts';
import type { Log } from '../log.ts';
import { NodeClient } from '../nodes/node-client.ts';
import { NodeEvents } from '../nodes/node-events.ts';
import type { NodeEvent, NodeRoom } from '../nodes/schemas.ts';
import { BoundedMap } from './bounded-map.ts';
import type { ClusterNode } from './cluster-access.ts';
import type { ComponentEnd } from './observed.ts';

const eventTypes = [
  ...['RoomDeleted', 'RoomCrashed', 'PeerAdded', 'PeerConnected', 'PeerDisconnected', 'PeerDeleted', 'PeerCrashed'],
  ...['ComponentRemoved', 'ComponentCrashed'],
];
const maxEnds = 50_000;
/** The safety net below the events. */
const defaultPollMs = 30_000;
const tickMs = 1_000;
/** The nodes are asked for their names and addresses this often at most. */
const viewsIntervalMs = 1_000;

export type ClusterClientOptions = {
  namespace: string;
  name: string;
  nodes: () => ClusterNode[];
  token: () => string | undefined;
  /** Whether the MediaCluster is still there. */
  exists: () => boolean;
  onEvent: (event: NodeEvent) => void;
  /** All rooms of the cluster, where every node told its own. */
  onListing: (rooms: readonly NodeRoom[]) => void;
  log: Log;
  random: () => number;
  pollMs?: number;
  /** Nodes are never told to change anything. */
  readOnly?: boolean;
};

export type Candidate = { node: ClusterNode; client: NodeClient };

export class ClusterClient {
  readonly #options: ClusterClientOptions;
  readonly #clients = new Map<string, NodeClient>();
  readonly #stop = new AbortController();
  readonly #roomEnds = new BoundedMap<string, string>(maxEnds);
  /** Incarnations that a node told to be lost with another one. */
  readonly #reportedLost = new BoundedMap<string, true>(maxEnds);
  readonly #componentEnds = new BoundedMap<string, ComponentEnd>(maxEnds);
  readonly #events: NodeEvents;
  readonly #running: Promise<unknown>;
  /** By SVC_HOST: name of the media node. */
  #views = new Map<string, string>();
  #viewsAt = Number.NEGATIVE_INFINITY;
  #turn = 0;
  /** Events may have been missed: the rooms themselves are looked at. */
  #missed = false;

  constructor(options: ClusterClientOptions) {
    this.#options = options;
    const { log, token, random } = options;
    this.#events = new NodeEvents({
      nodes: () => this.candidates().map(({ node }) => node),
      token,
      types: eventTypes,
      onEvent: (event) => this.#heard(event),
      onGap: () => {
        this.#missed = true;
      },
      log,
      random,
    });
    this.#running = Promise.all([this.#events.run(this.#stop.signal), this.#poll()]);
  }

  /** The node that tells the events now. */
  get listeningTo(): string | undefined {
    return this.#events.connected;
  }

  get componentEnds(): ReadonlyMap<string, ComponentEnd> {
    return this.#componentEnds.map;
  }

  /** Why that very room ended, where it was heard. */
  roomEnd(incarnation: string | undefined): string | undefined {
    return incarnation === undefined ? undefined : this.#roomEnds.map.get(incarnation);
  }

  /** Whether some node told that very room to be lost with its node, which it may only not see. */
  isReportedLost(incarnation: string | undefined): boolean {
    return incarnation !== undefined && this.#reportedLost.map.has(incarnation);
  }

  /** Whether its MediaCluster is still there. */
  get exists(): boolean {
    return this.#options.exists();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  nodes(): ClusterNode[] {
    return this.#options.nodes();
  }

  /** Nodes to ask, those that are likely to answer first, in turn; `ready` leaves out those that are not or will not be. */
  candidates({ ready = false }: { ready?: boolean } = {}): Candidate[] {
    const nodes = this.nodes();
    this.#turn += 1;
    const turned = nodes.map((_, index) => nodes[(index + this.#turn) % nodes.length]).filter((node) => node !== undefined);
    const asked = turned.filter((node) => !node.lost && (!ready || (node.ready && !node.terminating)));
    const rank = ({ node, client }: Candidate) => (client.backOffMs > 0 ? 4 : 0) + (node.ready ? 0 : 2) + (node.terminating ? 1 : 0);
    return asked.map((node) => ({ node, client: this.clientOf(node) })).sort((one, other) => rank(one) - rank(other));
  }

  clientOf({ url, signed }: ClusterNode): NodeClient {
    const known = this.#clients.get(url);
    // A pod may get the address of an older one.
    if (known?.signed === signed) return known;
    for (const each of this.#clients.keys()) if (!this.nodes().some((node) => node.url === each)) this.#clients.delete(each);
    const { token, random, readOnly = false } = this.#options;
    const client = new NodeClient({ url, token, signed, random, readOnly });
    this.#clients.set(url, client);
    return client;
  }

  /** The pod behind an SVC_HOST, or at least the media node's name. */
  async nodeAt(address: string, signal: AbortSignal): Promise<string | undefined> {
    const nodes = this.nodes();
    const [only] = nodes;
    if (nodes.length === 1 && only) return only.pod;
    const direct = nodes.find(({ url }) => new URL(url).host === address);
    if (direct) return direct.pod;
    // Behind an Ingress a new pod takes over the address of an old one, with its index.
    if (this.#podAt(address) === undefined) await this.#lookAtNodes(signal);
    return this.#podAt(address) ?? this.#views.get(address);
  }

  #podAt(address: string): string | undefined {
    const name = this.#views.get(address);
    return name === undefined ? undefined : this.podOf(name)?.pod;
  }

  /** The pod of a media node: its name ends with the pod's address. */
  podOf(mediaNode: string): ClusterNode | undefined {
    const host = mediaNode.slice(mediaNode.indexOf('@') + 1);
    const found = this.nodes().filter(({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, '') === host);
    return found.length === 1 ? found[0] : undefined;
  }

  async #lookAtNodes(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#viewsAt < viewsIntervalMs) return;
    this.#viewsAt = now;
    for (const { client } of this.candidates().slice(0, 2)) {
      try {
        this.#views = new Map((await client.clusterNodes(signal)).map(({ address, name }) => [address, name]));
        return;
      } catch (error) {
        this.#options.log.debug({ err: error }, 'a node did not tell the nodes of its cluster');
      }
    }
  }

  #heard(event: NodeEvent): void {
    const { type, incarnation, componentId, reason } = event;
    // Of a room that is told to be lost with its node, the node itself is asked, which others may only not see.
    if (type === 'RoomDeleted') this.#roomEnds.set(incarnation, reason ?? 'deleted');
    if (type === 'RoomCrashed' && reason === 'node_lost') this.#reportedLost.set(incarnation, true);
    else if (type === 'RoomCrashed') this.#roomEnds.set(incarnation, 'crashed');
    if (componentId !== undefined) {
      if (type === 'ComponentCrashed') this.#componentEnds.set(componentId, 'crashed');
      if (type === 'ComponentRemoved') this.#componentEnds.set(componentId, reason === 'finished' ? 'finished' : 'removed');
    }
    this.#options.onEvent(event);
  }

  async #poll(): Promise<void> {
    const { pollMs = defaultPollMs, random, log } = this.#options;
    const { signal } = this.#stop;
    let nextAt = performance.now() + pollMs * random();
    while (await sleep(tickMs, signal)) {
      if (!this.exists || (!this.#missed && performance.now() < nextAt)) continue;
      try {
        this.#missed = !(await this.#list(signal));
        nextAt = performance.now() + pollMs * (0.9 + 0.2 * random());
      } catch (error) {
        if (!signal.aborted) log.info({ err: error }, 'the rooms of a MediaCluster could not be listed');
      }
    }
  }

  /** @returns whether every node told its rooms */
  async #list(signal: AbortSignal): Promise<boolean> {
    const [first] = this.candidates({ ready: true });
    if (!first) return false;
    const { rooms, incomplete } = await first.client.rooms(signal);
    if (incomplete.length > 0) return false;
    this.#options.onListing(rooms);
    return true;
  }
}

/** What of a room a Room is about, in short: another digest says that it is to be looked at. */
export function contentDigest({ incarnation, config, components, peers }: NodeRoom): string {
  const about = [
    incarnation,
    Object.entries(config).sort(),
    components.map(({ id, properties }) => [id, properties?.uploadProblem ?? ''].join()).sort(),
    peers
      .map(({ id, status, permissions: { publish, subscribe, data } }) => [id, status, [...publish].sort(), subscribe, data].join())
      .sort(),
  ];
  return createHash('sha256').update(JSON.stringify(about)).digest('base64url');
}
