// Connector: the interface that discovery needs to list and dial nodes.

export type Connector = {
  readonly self: string;
  /** Connected nodes except this one. */
  nodes(): readonly string[];
  /** Dials a node. False if it is unreachable, rejects the connection or has another name. No effect if it is already connected. */
  connect(name: string): Promise<boolean>;
};
