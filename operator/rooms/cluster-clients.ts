// Clients of the nodes of every MediaCluster that has Rooms.
import type { Log } from '../log.ts';
import type { NodeEvent, NodeRoom } from '../nodes/schemas.ts';
import type { MediaCluster } from '../objects.ts';
import type { ClusterAccess } from './cluster-access.ts';
import { ClusterClient, type ConnectNode } from './cluster-client.ts';

export type ClusterClientsOptions = {
  access: ClusterAccess;
  log: Log;
  random: () => number;
  pollMs: number | undefined;
  connect: ConnectNode;
  onEvent: (namespace: string, event: NodeEvent) => void;
  onListing: (namespace: string, cluster: string, rooms: readonly NodeRoom[]) => void;
};

export class ClusterClients {
  readonly #options: ClusterClientsOptions;
  readonly #links = new Map<string, ClusterClient>();
  #closed = false;

  constructor(options: ClusterClientsOptions) {
    this.#options = options;
  }

  get(namespace: string, name: string): ClusterClient | undefined {
    return this.#links.get(`${namespace}/${name}`);
  }

  /** Creates the client if it does not exist. @throws Error once closed */
  open(namespace: string, name: string): ClusterClient {
    const known = this.get(namespace, name);
    if (known) return known;
    if (this.#closed) throw new Error('The Room controller has ended');
    this.#endUnused();
    const { access, log, random, pollMs, connect, onEvent, onListing } = this.#options;
    const link = new ClusterClient({
      namespace,
      name,
      nodes: () => access.nodes(namespace, name),
      token: () => access.token(namespace, name),
      exists: () => 'cluster' in access.find(namespace, name),
      onEvent: (event) => onEvent(namespace, event),
      onListing: (rooms) => onListing(namespace, name, rooms),
      log: log.child({ cluster: `${namespace}/${name}` }),
      random,
      connect,
      ...(pollMs !== undefined && { pollMs }),
    });
    this.#links.set(`${namespace}/${name}`, link);
    return link;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#links.values()].map((link) => link.close()));
    this.#links.clear();
  }

  /** Closes clients of deleted MediaClusters; called when a new client is created. */
  #endUnused(): void {
    for (const [key, link] of this.#links) {
      if (link.exists) continue;
      this.#links.delete(key);
      void link.close();
    }
  }
}

/** Cache key of rejections of a cluster: its configuration and whether that is effective. */
export function clusterCacheKey({ metadata, status }: MediaCluster): string {
  const synced = status?.conditions?.find(({ type }) => type === 'ConfigSynced');
  return [metadata.generation, status?.keyGeneration ?? 0, synced?.status, synced?.lastTransitionTime].join('|');
}
