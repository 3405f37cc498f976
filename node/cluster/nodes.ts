// Nodes: the other nodes of the cluster, as this node sees them. Created before the features, which register their operations with its dispatcher.
import type { NodeState } from '../../api/node.ts';
import type { Log } from '../common/log.ts';
import type { ClusterTransport, NodeName } from './cluster-transport.ts';
import { Directory } from './directory.ts';
import { Dispatcher } from './rpc/dispatcher.ts';

/** A connected node with the data of its snapshot. */
export type Member = {
  name: NodeName;
  internalAddress: string;
  address: string;
  version: string;
  tls: boolean;
  state: NodeState;
  /** Version of its RPCs. */
  rpc: number;
};

/** The other nodes that sent their snapshot. */
export class Members {
  readonly #links: Pick<ClusterTransport, 'nodes'>;
  readonly #byName = new Map<NodeName, Member>();

  constructor(links: Pick<ClusterTransport, 'nodes'>) {
    this.#links = links;
  }

  get(node: NodeName): Member | undefined {
    return this.#byName.get(node);
  }

  all(): Member[] {
    return [...this.#byName.values()];
  }

  /** True if another node accepts rooms. */
  get accepting(): boolean {
    return this.all().some(({ state }) => state === 'accepting');
  }

  /** True if a connected node has not sent its snapshot yet. Its rooms cannot be reached before. */
  get incomplete(): boolean {
    return this.#links.nodes().length > this.#byName.size;
  }

  set(member: Member): void {
    this.#byName.set(member.name, member);
  }

  delete(node: NodeName): void {
    this.#byName.delete(node);
  }
}

export type Nodes = { links: ClusterTransport; members: Members; directory: Directory; dispatcher: Dispatcher };

export function createNodes(links: ClusterTransport, log: Log): Nodes {
  const members = new Members(links);
  return { links, members, directory: new Directory(), dispatcher: new Dispatcher({ links, log, members }) };
}
