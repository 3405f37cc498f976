// Cluster transport: interface for RPC with a timeout, one-way messages and connection events between nodes.

export type NodeName = string;

/** Handler of requests from other nodes. It may throw ServiceErrors, which are passed to the caller. */
export type NodeRequestHandler = (from: NodeName, method: string, data: unknown) => Promise<unknown>;
/** Handler of one-way messages. */
export type NodeMessageHandler = (from: NodeName, method: string, data: unknown) => void;

export type TransportListener = {
  /** A node connected. Messages to it arrive in order from now on. */
  up: (node: NodeName) => void;
  /** A node disconnected. Pending requests to it fail. */
  down: (node: NodeName) => void;
};

/** Messages are JSON values. Between two nodes they arrive in the order they were sent, or not at all. */
export interface ClusterTransport {
  readonly self: NodeName;
  /** Connected nodes except this one, sorted by name. */
  nodes(): readonly NodeName[];
  /**
   * Sends a request to another node.
   * @param deadline timeout in milliseconds
   * @throws ServiceError that the handler of the other node threw; `node_unreachable` if the node is not connected, disconnects or does not
   * respond in time.
   */
  call(node: NodeName, method: string, data: unknown, deadline: number): Promise<unknown>;
  /** Sends a one-way message. It is lost if the node is not connected. */
  cast(node: NodeName, method: string, data: unknown): void;
  /**
   * Traffic for this node is about to use another connection: probes the node if it has been idle, and disconnects it if it does not
   * respond.
   */
  suspect(node: NodeName): void;
  /** Sets the handlers, once for the lifetime of the transport. */
  handle(handlers: { call: NodeRequestHandler; cast: NodeMessageHandler }): void;
  listen(listener: TransportListener): void;
}
