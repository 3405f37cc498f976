// Distribution of a node: its name, EPMD, connections to other nodes and discovery, composed from the configuration.
import { z } from 'zod';
import { nodeMetrics } from '../api/metrics.ts';
import { type Discovery, startDiscovery } from './cluster/discovery/discovery.ts';
import { nodeNameFromDns } from './cluster/discovery/node-name-from-dns.ts';
import { systemResolver } from './cluster/discovery/resolver.ts';
import { EpmdService } from './cluster/erlang/epmd/epmd.ts';
import { ErlangNode } from './cluster/erlang/erlang-node.ts';
import type { ErlangTransport } from './cluster/erlang-transport.ts';
import type { Members } from './cluster/nodes.ts';
import type { Dispatcher } from './cluster/rpc/dispatcher.ts';
import type { FeatureContext } from './common/feature-context.ts';
import type { Log } from './common/log.ts';
import type { DistConfig } from './config/dist.ts';

/** Timeout of the lookup of the local node name at start, in milliseconds. */
const ownNameTimeoutMs = 10_000;
/** Maximum time that a starting node waits for other nodes before it is ready, in milliseconds: they may be down, or DNS unavailable. */
const discoveryTimeoutMs = 5_000;
/** Interval at which nodes advertise known nodes, in milliseconds: it repairs connections that broke between two other nodes. */
const retellInterval = 60_000;

/** Nodes that another node advertised. */
const namesSchema = z.array(z.string().max(512)).max(1_000);

/** The name of this node in the cluster; with DNS discovery, the name under which others can find it. */
export async function distributionName({ enabled, nodeName, strategy }: DistConfig): Promise<string> {
  if (!enabled || strategy.name !== 'DNS') return nodeName;
  return nodeNameFromDns(nodeName, strategy.query, systemResolver(), AbortSignal.timeout(ownNameTimeoutMs));
}

export type DistributionOptions = {
  config: DistConfig;
  name: string;
  links: ErlangTransport;
  members: Pick<Members, 'incomplete'>;
  dispatcher: Pick<Dispatcher, 'receive'>;
  log: Log;
  epmdPort?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

export type DistributionContext = Pick<FeatureContext, 'metrics' | 'closers'> &
  Omit<DistributionOptions, 'config'> & { config: { dist: DistConfig } };

/** Created before the features that ask it about other nodes, and started when the node is ready for requests of these. */
export class Distribution {
  readonly #options: DistributionOptions;
  readonly #now: () => number;
  readonly #end: (() => Promise<void> | void)[] = [];
  #startedAt: number | undefined;
  #node: ErlangNode | undefined;
  #discovery: Discovery | undefined;
  #synced = false;

  constructor(options: DistributionOptions) {
    this.#options = options;
    this.#now = options.now ?? (() => performance.now());
    options.dispatcher.receive('nodes', namesSchema, (from, names) => this.#discovery?.addKnownNodes(from, names));
  }

  /**
   * Joins the cluster. If distribution is disabled, only an EPMD on loopback is started.
   * @throws Error with a readable message if the name or the ports are not available
   */
  async start(): Promise<void> {
    const { config, name, log, epmdPort } = this.#options;
    if (config.enabled) {
      const { mode, cookie, dialsErlang, tls, ip, ports, tick } = config;
      const place = { ip, ports, tick, ...(epmdPort !== undefined && { epmdPort }) };
      this.#join(await ErlangNode.start({ name, mode, cookie, dialsErlang, tls, log, ...place }));
    } else {
      const epmd = await EpmdService.start({ ip: '127.0.0.1', node: null, log, ...(epmdPort !== undefined && { port: epmdPort }) });
      this.#end.push(() => epmd.close());
    }
    this.#startedAt = this.#now();
  }

  get status(): { enabled: boolean; nodeStatus: 'UP' | 'DOWN'; nodesInCluster: number } {
    const { config, links } = this.#options;
    const nodesInCluster = this.#node === undefined ? 0 : links.nodes().length + 1;
    return { enabled: config.enabled, nodeStatus: this.#node?.registered ? 'UP' : 'DOWN', nodesInCluster };
  }

  /** True before the start in a cluster, and while discovery or handshakes are incomplete, so that other nodes may own unknown rooms. */
  get discovering(): boolean {
    if (this.#startedAt === undefined) return this.#options.config.enabled;
    return this.#discovery?.discovering() || this.#handshakePending;
  }

  /**
   * True once all nodes found at startup completed the handshake, or the timeout passed. Before that, a 404 for their rooms would be wrong.
   */
  get synced(): boolean {
    if (this.#startedAt === undefined) return false;
    this.#synced ||= this.#now() - this.#startedAt > discoveryTimeoutMs || ((this.#discovery?.dialed() ?? true) && !this.#handshakePending);
    return this.#synced;
  }

  /** Leaves the cluster. Idempotent. */
  async close(): Promise<void> {
    for (const end of this.#end.splice(0).reverse()) await end();
  }

  get #handshakePending(): boolean {
    const { links, members } = this.#options;
    return links.handshakePending || members.incomplete;
  }

  #tellNodes(): void {
    const { links } = this.#options;
    const names = links.nodes();
    for (const node of names) links.cast(node, 'nodes', names);
  }

  #join(node: ErlangNode): void {
    const { config, links, log } = this.#options;
    this.#node = node;
    this.#end.push(() => node.close());
    const connector = { self: node.name, nodes: () => node.connections, connect: (other: string) => node.connect(other) };
    const discovery = startDiscovery(config, connector, log);
    this.#discovery = discovery;
    this.#end.push(() => discovery.close());
    node.on('nodeDown', (other) => discovery.down(other));
    const retell = setInterval(() => this.#tellNodes(), retellInterval);
    this.#end.push(() => clearInterval(retell));
    links.attach(node);
  }
}

/** Call `start()` when the node listens. */
export function createDistribution({ config, closers, metrics, ...options }: DistributionContext): Distribution {
  const distribution = new Distribution({ ...options, config: config.dist });
  closers.add('cluster', () => distribution.close());
  metrics.collect(nodeMetrics.cluster, () => ({ nodes: distribution.status.nodesInCluster || 1 }));
  return distribution;
}
