// The distribution of a node: its name, EPMD, connections to other nodes and how they are found; composed from a configuration.

import { type Discovery, startDiscovery } from './cluster/discovery/discovery.ts';
import { nodeNameFromDns } from './cluster/discovery/node-name-from-dns.ts';
import { systemResolver } from './cluster/discovery/resolver.ts';
import { EpmdService } from './cluster/erlang/epmd/epmd.ts';
import { ErlangNode } from './cluster/erlang/erlang-node.ts';
import type { ErlangTransport } from './cluster/erlang-transport.ts';
import type { Log } from './common/log.ts';
import type { DistConfig } from './config/dist.ts';

/** Longest that the node's own address is looked up at start, in milliseconds. */
const ownNameTimeoutMs = 10_000;
/** Longest that a node that starts is not ready because it does not know the others, in milliseconds: they may be gone, or DNS be away. */
const discoveryTimeoutMs = 5_000;
/** How often nodes tell each other again whom they know, in milliseconds: a link that broke between two others is mended so. */
const retellInterval = 60_000;

/** The name that this node has for others: with DNS, the one that they can find it under. */
export async function distributionName({ enabled, nodeName, strategy }: DistConfig): Promise<string> {
  if (!enabled || strategy.name !== 'DNS') return nodeName;
  return nodeNameFromDns(nodeName, strategy.query, systemResolver(), AbortSignal.timeout(ownNameTimeoutMs));
}

export type DistributionOptions = {
  config: DistConfig;
  name: string;
  links: ErlangTransport;
  log: Log;
  /** Whether a node is connected that has not said yet what it has. */
  handshakesPending: () => boolean;
  epmdPort?: number;
  /** Milliseconds on a clock that never goes back. */
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
   * Takes the node into the cluster, through `links`. While distribution is off there is only an EPMD, on loopback.
   * @throws Error with one sentence where the name or the ports cannot be had
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

  /** Whether nodes may be there that this one could not find yet, or that have not said yet what they have. */
  get discovering(): boolean {
    return this.#discovery?.discovering() || this.#handshakePending;
  }

  /** Whether it has met those that were there at its start, or has waited for them long enough: before, it would say of their rooms that there are none. */
  get synced(): boolean {
    this.#synced ||= this.#now() - this.#startedAt > discoveryTimeoutMs || ((this.#discovery?.dialed() ?? true) && !this.#handshakePending);
    return this.#synced;
  }

  /** Leaves the cluster. Idempotent. */
  async close(): Promise<void> {
    for (const end of this.#end.splice(0).reverse()) await end();
  }

  /** Another node says whom it knows. */
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
