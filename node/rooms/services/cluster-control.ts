// Cluster control: operations on the nodes of a cluster.
import type { DrainOptions, DrainView, NodeConfig, NodeView } from '../../../api/node.ts';

export interface ClusterControl {
  /** This node and all connected nodes, sorted by name. */
  nodes(): Promise<NodeView[]>;
  /** @throws ServiceError `not_found`, `terminating`, `node_unreachable` */
  drain(node: string, options: DrainOptions): Promise<void>;
  cancelDrain(node: string): Promise<void>;
  /** The effect of a drain, or what a running drain waits for. @throws ServiceError `not_found`, `node_unreachable` */
  drainView(node: string): Promise<DrainView>;
  /** Of this node if `node` is omitted. @throws ServiceError `not_found`, `node_unreachable` */
  config(node?: string): Promise<NodeConfig>;
}
