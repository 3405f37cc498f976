// Distribution of a node: its name, EPMD, connections to other nodes and discovery, composed from the configuration.

import { type Discovery, startDiscovery } from './cluster/discovery/discovery.ts';
import { nodeNameFromDns } from './cluster/discovery/node-name-from-dns.ts';
import { systemResolver } from './cluster/discovery/resolver.ts';
import { EpmdService } from './cluster/erlang/epmd/epmd.ts';
import { ErlangNode } from './cluster/erlang/erlang-node.ts';
import type { ErlangTransport } from './cluster/erlang-transport.ts';
import type { Log } from './common/log.ts';
import type { DistConfig } from './config/dist.ts';

/** Timeout of the lookup of the local node name at start, in milliseconds. */
const ownNameTimeoutMs = 10_000;
/** Maximum time that a starting node waits for other nodes before it is ready, in milliseconds: they may be down, or DNS unavailable. */
const discoveryTimeoutMs = 5_000;
/** Interval at which nodes advertise known nodes, in milliseconds: it repairs connections that broke between two other nodes. */
const retellInterval = 60_000;

/** The name of this node in the cluster; with DNS discovery, the name under which others can find it. */
export async function distributionName({ enabled, nodeName, strategy }: DistConfig): Promise<string> {
  if (!enabled || strategy.name !== 'DNS') return nodeName;
  return nodeNameFromDns(nodeName, strategy.query, systemResolver(), AbortSignal.timeout(ownNameTimeoutMs));
}

export type DistributionOptions = {
  config: DistConfig;
  name: string;
  links: ErlangTransport;
  log: Log;
  /** True if a connected node has not finished its handshake. */
  handshakesPending: () => boolean;
  epmdPort?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

export class Distribution {
  readonly #log: Log;
  readonly #links: ErlangTransport;
  readonly #handshakesPending: () => boolean;
  readonly #now: () => number;
  readonly #startedAt: number;
  readonly #end: (() => Promise<void> | void)[] = [];
  #node: ErlangNode | undefined;
  #discovery: Discovery | undefined;
  #synced = false;

  private constructor({ links, log, handshakesPending, now = () => performance.now() }: DistributionOptions) {
    this.#links = links;
    this.#log = log;
    this.#handshakesPending = handshakesPending;
    this.#now = now;
    this.#startedAt = now();
  }

  /**
   * Joins the cluster through `links`. If distribution is disabled, only an EPMD on loopback is started.
   * @throws Error with one sentence if the name or the ports are not available
   */
  static async start(options: DistributionOptions): Promise<Distribution> {
    const { config, name, log, epmdPort } = options;
    const distribution = new Distribution(options);
    const port = epmdPort === undefined ? {} : { port: epmdPort };
    if (!config.enabled) {
      const epmd = await EpmdService.start({ ip: '127.0.0.1', node: null, log, ...port });
      distribution.#end.push(() => epmd.close());
      return distribution;
    }
    const { mode, cookie, dialsErlang, tls, ip, ports, tick } = config;
    const node = await ErlangNode.start({
      name,
      mode,
      cookie,
      dialsErlang,
      tls,
      ip,
      ports,
      tick,
      log,
      ...(epmdPort !== undefined && { epmdPort }),
    });
    distribution.#join(node, config);
    return distribution;
  }

  get status(): { enabled: boolean; nodeStatus: 'UP' | 'DOWN'; nodesInCluster: number } {
    const enabled = this.#node !== undefined;
    return { enabled, nodeStatus: this.#node?.registered ? 'UP' : 'DOWN', nodesInCluster: enabled ? this.#links.nodes().length + 1 : 0 };
  }

  /** True while discovery or handshakes are incomplete, so that other nodes may own unknown rooms. */
  get discovering(): boolean {
    return this.#discovery?.discovering() || this.#handshakePending;
  }

  /**
   * True once all nodes found at startup completed the handshake, or the timeout passed. Before that, a 404 for their rooms would be wrong.
   */
  get synced(): boolean {
    this.#synced ||= this.#now() - this.#startedAt > discoveryTimeoutMs || ((this.#discovery?.dialed() ?? true) && !this.#handshakePending);
    return this.#synced;
  }

  /** Leaves the cluster. Idempotent. */
  async close(): Promise<void> {
    for (const end of this.#end.splice(0).reverse()) await end();
  }

  /** Another node advertised the nodes that it knows. */
  addKnownNodes(from: string, names: readonly string[]): void {
    this.#discovery?.addKnownNodes(from, names);
  }

  get #handshakePending(): boolean {
    return this.#links.handshakePending || this.#handshakesPending();
  }

  #tellNodes(): void {
    const names = this.#links.nodes();
    for (const node of names) this.#links.cast(node, 'nodes', names);
  }

  #join(node: ErlangNode, config: DistConfig): void {
    this.#node = node;
    this.#end.push(() => node.close());
    const connector = { self: node.name, nodes: () => node.connections, connect: (other: string) => node.connect(other) };
    const discovery = startDiscovery(config, connector, this.#log);
    this.#discovery = discovery;
    this.#end.push(() => discovery.close());
    node.on('nodeDown', (other) => discovery.down(other));
    const retell = setInterval(() => this.#tellNodes(), retellInterval);
    this.#end.push(() => clearInterval(retell));
    this.#links.attach(node);
  }
}
