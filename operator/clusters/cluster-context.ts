// Inputs of the pure functions of a MediaCluster.

/** Data of a Secret as text, by key. */
export type SecretData = Readonly<Record<string, string>>;

export type IpFamily = 'IPv4' | 'IPv6';
export type PortRange = { from: number; to: number };

/** Inputs that are the same for all nodes of a cluster. */
export type ClusterContext = {
  /** Default image of media nodes, for clusters without spec.image. */
  image: string;
  /** Domain of the Kubernetes cluster, mostly `cluster.local`. */
  clusterDomain: string;
  /** Address family of Services and pods: the first of `spec.ipFamilies` of the headless Service; IPv4 if omitted. */
  ipFamily?: IpFamily;
  /** Whether Services have addresses of both families, and so pods too. */
  dualStack?: boolean;
  /** Node port range of the API server, learned from a rejected Service (`portRangeOf`); 30000-32767 if unknown. */
  nodePortRange?: PortRange;
  /** Media ports of existing pods (`mediaPortsOf`). They may be of an older spec and must stay reachable. */
  livePorts?: readonly PortRange[];
  /** Indexes of existing pods beyond `indexCount`: they replace pods of lost Kubernetes nodes. */
  spareIndexes?: readonly number[];
  /** Whether the API server supports these kinds of other projects. */
  serviceMonitors: boolean;
  httpRoutes?: boolean;
  tlsRoutes?: boolean;
  ingressRouteTcps?: boolean;
  /** The existing Secrets of `secretNames(cluster)`, by name. */
  secrets: ReadonlyMap<string, SecretData>;
};

/** Inputs for the pod of one index. */
export type PodSlot = {
  index: number;
  /** First port of its block. */
  basePort: number;
};
