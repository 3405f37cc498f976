// What discovery needs of the connections between nodes: who is connected, and a way to dial.

export type Connector = {
  readonly self: string;
  /** Connected nodes, without this one. */
  nodes(): readonly string[];
  /** Dials a node; false where it cannot be reached, refuses, or calls itself otherwise. Without effect where it is connected. */
  connect(name: string): Promise<boolean>;
};
