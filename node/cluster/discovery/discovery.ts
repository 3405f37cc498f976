// How nodes find each other: the strategy of the configuration, and transitivity beside it.

import type { Log } from '../../common/log.ts';
import type { DistConfig } from '../../config/dist.ts';
import type { Connector } from './connector.ts';
import { DialPool } from './dial-pool.ts';
import { DnsDiscovery } from './dns.ts';
import { GossipDiscovery } from './gossip-discovery.ts';
import { type DnsResolver, systemResolver } from './resolver.ts';
import { StaticDiscovery } from './static-discovery.ts';

export type Discovery = {
  /** Whether nodes may be there that this one could not find yet. */
  discovering(): boolean;
  /** Whether whoever it knew of at first was dialled. */
  dialed(): boolean;
  /** The connection to a node is gone. */
  down(name: string): void;
  /** Another node says whom it knows; to be called on every word of it. */
  addKnownNodes(from: string, names: readonly string[]): void;
  /** Nobody is dialled any more; connections stay. */
  close(): void;
};

export type DiscoveryDeps = {
  resolve?: DnsResolver;
  localAddresses?: () => readonly string[];
  /** From 0 to below 1. */
  random?: () => number;
  /** Milliseconds on a clock that never goes back. */
  now?: () => number;
};

/** Starts to look for other nodes at once; for nodes with distribution. With DNS, `connector.self` should be what nodeNameFromDns gives. */
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
    // Whoever has a list dials all of it at once.
    discovering: () => found instanceof DnsDiscovery && found.looking,
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
