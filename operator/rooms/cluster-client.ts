// Client of the nodes of one MediaCluster: selects nodes, receives events, caches recent ends and lists all rooms periodically.
import { createHash } from 'node:crypto';
import type { EventType } from '../../api/events.ts';
import { sleep } from '../kube/http/deadline.ts';
import type { Log } from '../log.ts';
import type { NodeClient, NodeClientOptions } from '../nodes/node-client.ts';
import { NodeEvents } from '../nodes/node-events.ts';
import type { NodeEvent, NodeRoom } from '../nodes/schemas.ts';
import { BoundedMap } from './bounded-map.ts';
import type { ClusterNode } from './cluster-access.ts';
import type { ComponentEnd } from './observed.ts';

const eventTypes: readonly EventType[] = [
  'RoomDeleted',
  'RoomCrashed',
  'PeerAdded',
  'PeerConnected',
  'PeerDisconnected',
  'PeerDeleted',
  'PeerCrashed',
  'ComponentRemoved',
  'ComponentCrashed',
];
const maxEnds = 50_000;
/** Interval of full lists, in case of missed events. */
const defaultPollMs = 30_000;
const tickMs = 1_000;
/** Minimum interval between requests for names and addresses of the nodes. */
const viewsIntervalMs = 1_000;

/** The MediaCluster of a node, for a client that does not send its requests. */
export type NodePlace = { namespace: string; cluster: string; pod: string; nodes: () => readonly ClusterNode[] };
export type ConnectNode = (options: NodeClientOptions, place?: NodePlace) => NodeClient;

export type ClusterClientOptions = {
  namespace: string;
  name: string;
  nodes: () => ClusterNode[];
  token: () => string | undefined;
  /** Whether the MediaCluster still exists. */
  exists: () => boolean;
  onEvent: (event: NodeEvent) => void;
  /** All rooms of the cluster, from a complete list. */
  onListing: (rooms: readonly NodeRoom[]) => void;
  log: Log;
  random: () => number;
  pollMs?: number;
  connect: ConnectNode;
};

export type Candidate = { node: ClusterNode; client: NodeClient };

export class ClusterClient {
  readonly #options: ClusterClientOptions;
  readonly #clients = new Map<string, NodeClient>();
  readonly #stop = new AbortController();
  readonly #roomEnds = new BoundedMap<string, string>(maxEnds);
  /** Incarnations that a node reported as lost with another node. */
  readonly #reportedLost = new BoundedMap<string, true>(maxEnds);
  readonly #componentEnds = new BoundedMap<string, ComponentEnd>(maxEnds);
  readonly #events: NodeEvents;
  readonly #running: Promise<unknown>;
  /** Names of media nodes by SVC_HOST. */
  #views = new Map<string, string>();
  #viewsAt = Number.NEGATIVE_INFINITY;
  #turn = 0;
  /** Events may have been missed, so the rooms are listed. */
  #missed = false;

  constructor(options: ClusterClientOptions) {
    this.#options = options;
    const { log, token, random } = options;
    this.#events = new NodeEvents({
      nodes: () => this.candidates().map(({ node }) => node),
      token,
      types: eventTypes,
      onEvent: (event) => this.#onEvent(event),
      onGap: () => {
        this.#missed = true;
      },
      log,
      random,
    });
    this.#running = Promise.all([this.#events.run(this.#stop.signal), this.#poll()]);
  }

  get componentEnds(): ReadonlyMap<string, ComponentEnd> {
    return this.#componentEnds.map;
  }

  /** Why that incarnation ended, if an event reported it. */
  roomEnd(incarnation: string | undefined): string | undefined {
    return incarnation === undefined ? undefined : this.#roomEnds.map.get(incarnation);
  }

  /** Whether a node reported that incarnation as lost with its node. The owner may still be alive behind a partition. */
  isReportedLost(incarnation: string | undefined): boolean {
    return incarnation !== undefined && this.#reportedLost.map.has(incarnation);
  }

  /** Whether its MediaCluster still exists. */
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

  /** Candidate nodes, rotated, the most available first; `ready` excludes unready and terminating nodes. */
  candidates({ ready = false }: { ready?: boolean } = {}): Candidate[] {
    const nodes = this.nodes();
    this.#turn += 1;
    const turned = nodes.map((_, index) => nodes[(index + this.#turn) % nodes.length]).filter((node) => node !== undefined);
    const eligible = turned.filter((node) => !node.lost && (!ready || (node.ready && !node.terminating)));
    const rank = ({ node, client }: Candidate) => (client.backOffMs > 0 ? 4 : 0) + (node.ready ? 0 : 2) + (node.terminating ? 1 : 0);
    return eligible.map((node) => ({ node, client: this.clientOf(node) })).sort((one, other) => rank(one) - rank(other));
  }

  clientOf({ url, signed, pod }: ClusterNode): NodeClient {
    const known = this.#clients.get(url);
    // A pod may get the address of an older pod.
    if (known?.signed === signed) return known;
    for (const each of this.#clients.keys()) if (!this.nodes().some((node) => node.url === each)) this.#clients.delete(each);
    const { token, random, connect, namespace, name, nodes } = this.#options;
    const client = connect({ url, token, signed, random }, { namespace, cluster: name, pod, nodes });
    this.#clients.set(url, client);
    return client;
  }

  /** The pod with an SVC_HOST, otherwise the name of the media node. */
  async nodeAt(address: string, signal: AbortSignal): Promise<string | undefined> {
    const nodes = this.nodes();
    const [only] = nodes;
    if (nodes.length === 1 && only) return only.pod;
    const direct = nodes.find(({ url }) => new URL(url).host === address);
    if (direct) return direct.pod;
    // With an Ingress, a new pod takes over the address of the old pod with its index.
    if (this.#podAt(address) === undefined) await this.#listNodes(signal);
    return this.#podAt(address) ?? this.#views.get(address);
  }

  #podAt(address: string): string | undefined {
    const name = this.#views.get(address);
    return name === undefined ? undefined : this.podOf(name)?.pod;
  }

  /** The pod of a media node, whose name ends with the address of the pod. */
  podOf(mediaNode: string): ClusterNode | undefined {
    const host = mediaNode.slice(mediaNode.indexOf('@') + 1);
    const found = this.nodes().filter(({ url }) => new URL(url).hostname.replace(/^\[|\]$/g, '') === host);
    return found.length === 1 ? found[0] : undefined;
  }

  async #listNodes(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now - this.#viewsAt < viewsIntervalMs) return;
    this.#viewsAt = now;
    for (const { client } of this.candidates().slice(0, 2)) {
      try {
        this.#views = new Map((await client.clusterNodes(signal)).map(({ address, name }) => [address, name]));
        return;
      } catch (error) {
        this.#options.log.debug({ err: error }, 'could not list nodes of cluster');
      }
    }
  }

  #onEvent(event: NodeEvent): void {
    const { type, incarnation, componentId, reason } = event;
    // If a room is reported as lost with its node, that node must be asked, because the reporting node may only be disconnected from it.
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
        if (!signal.aborted) log.info({ err: error }, 'could not list rooms');
      }
    }
  }

  /** @returns whether the list is complete */
  async #list(signal: AbortSignal): Promise<boolean> {
    const [first] = this.candidates({ ready: true });
    if (!first) return false;
    const { rooms, incomplete } = await first.client.rooms(signal);
    if (incomplete.length > 0) return false;
    this.#options.onListing(rooms);
    return true;
  }
}

/** Hash of the relevant fields of a room: a change triggers a reconcile. */
export function contentDigest({ incarnation, config, components, peers }: NodeRoom): string {
  const about = [
    incarnation,
    Object.entries(config).sort(),
    components.map(({ id, properties }) => [id, properties?.uploadProblem ?? ''].join()).sort(),
    peers
      .map(({ id, status, permissions: { publish, publishSources, subscribe, data, roomMetadata }, attributes, admitted }) => {
        const names = [[...publish].sort(), publishSources && [...publishSources].sort()];
        return JSON.stringify([id, status, ...names, subscribe, data, roomMetadata, admitted, Object.entries(attributes).sort()]);
      })
      .sort(),
  ];
  return createHash('sha256').update(JSON.stringify(about)).digest('base64url');
}
