// Node discovery: runs the configured strategy together with gossip.

import type { Log } from '../../common/log.ts';
import type { DistConfig } from '../../config/dist.ts';
import type { Connector } from './connector.ts';
import { DialPool } from './dial-pool.ts';
import { DnsDiscovery } from './dns.ts';
import { GossipDiscovery } from './gossip-discovery.ts';
import { type DnsResolver, systemResolver } from './resolver.ts';
import { StaticDiscovery } from './static-discovery.ts';

export type Discovery = {
  /** True if there may be nodes that were not found yet. */
  discovering(): boolean;
  /** True if all initially known nodes were dialed. */
  dialed(): boolean;
  /** The connection to a node was lost. */
  down(name: string): void;
  /** Another node sent the nodes it is connected to. Call it for each such message. */
  addKnownNodes(from: string, names: readonly string[]): void;
  /** Stops dialing. Connections stay open. */
  close(): void;
};

export type DiscoveryDeps = {
  resolve?: DnsResolver;
  localAddresses?: () => readonly string[];
  /** Random number from 0 to below 1. */
  random?: () => number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

/** Starts discovery immediately. Only for nodes with distribution. With DNS, `connector.self` should be the result of nodeNameFromDns(). */
export function startDiscovery(
  { mode, strategy }: Pick<DistConfig, 'mode' | 'strategy'>,
  connector: Connector,
  log: Log,
  deps: DiscoveryDeps = {},
): Discovery {
  const pool = new DialPool(connector);
  const { resolve = systemResolver(), random = Math.random, now = () => performance.now(), localAddresses } = deps;
  const shared = { connector, pool, log, random, now };
  const found =
    strategy.name === 'DNS'
      ? new DnsDiscovery({ ...shared, ...strategy, resolve, localAddresses })
      : new StaticDiscovery({ ...shared, ...strategy });
  const gossipDiscovery = new GossipDiscovery({ ...shared, mode });
  return {
    // With a static list all nodes are dialed at once.
    discovering: () => found instanceof DnsDiscovery && found.discovering,
    dialed: () => found.dialed,
    down(name) {
      found.down(name);
      gossipDiscovery.down(name);
    },
    addKnownNodes: (from, names) => gossipDiscovery.learn(from, names),
    close() {
      found.close();
      gossipDiscovery.close();
      pool.close();
    },
  };
}
