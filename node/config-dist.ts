// Distribution: the rules of node names, strategies and ports (Erlang's, where it has one).

export type DistConfig = {
  enabled: boolean;
  mode: 'sname' | 'name';
  /** `<nodename>@<host>`. */
  nodeName: string;
  strategy: { name: 'NODES_LIST'; nodes: readonly string[] } | { name: 'DNS'; query: string; pollingInterval: number };
  /** null: any free port. */
  ports: { min: number; max: number } | null;
  cookie: string;
  /** Where distribution and EPMD listen; null: on all addresses. */
  ip: string | null;
  tick: number;
};
