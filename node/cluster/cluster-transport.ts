// What the cluster needs of the connections between nodes: names, calls with a deadline, messages without an answer, ups and downs.

export type NodeName = string;

/** Another node's view of a request. It may throw ServiceErrors, which the caller gets as such. */
export type NodeRequestHandler = (from: NodeName, method: string, data: unknown) => Promise<unknown>;
/** A message that nobody answers. */
export type NodeMessageHandler = (from: NodeName, method: string, data: unknown) => void;

export type TransportListener = {
  /** A node is connected; casts to it arrive in order from here. */
  up: (node: NodeName) => void;
  /** It is not connected any more; what was asked of it fails. */
  down: (node: NodeName) => void;
};

/** Messages are JSON values; per pair of nodes they arrive in the order they were sent, or not at all. */
export interface ClusterTransport {
  readonly self: NodeName;
  /** Connected nodes, without this one, sorted. */
  nodes(): readonly NodeName[];
  /**
   * Asks another node.
   * @param deadline milliseconds
   * @throws ServiceError as the other node's handler threw it; `node_unreachable` where it is not connected, goes away or does not answer in time.
   */
  call(node: NodeName, method: string, data: unknown, deadline: number): Promise<unknown>;
  /** Tells another node; lost where it is not connected. */
  cast(node: NodeName, method: string, data: unknown): void;
  /** Something is to go to that node by another way: one that has been silent is asked for a sign of life, and is down where it gives none. */
  doubt(node: NodeName): void;
  /** One handler of each for the life of the links. */
  handle(handlers: { call: NodeRequestHandler; cast: NodeMessageHandler }): void;
  listen(listener: TransportListener): void;
}
