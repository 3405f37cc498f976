// What the pure functions of a MediaCluster are told of the world, and the problems that they tell back.

/** Data of a Secret as text, by key. */
export type SecretData = Readonly<Record<string, string>>;

export type IpFamily = 'IPv4' | 'IPv6';
export type PortRange = { from: number; to: number };

/** What is the same for all nodes of a cluster. */
export type ClusterContext = {
  /** Image of the media node of the operator's version, for clusters that name none. */
  image: string;
  /** Domain of the Kubernetes cluster, mostly `cluster.local`. */
  clusterDomain: string;
  /** Family of the addresses of Services and pods: that of the headless Service's `spec.ipFamilies[0]`; IPv4 where left out. */
  ipFamily?: IpFamily;
  /** Range of node ports of the API server, where a refusal told it (`portRangeOf`); else 30000-32767. */
  nodePortRange?: PortRange;
  /** Media ports of the pods that exist (`mediaPortsOf`), which may be of an older spec: what reaches them stays open. */
  livePorts?: readonly PortRange[];
  /** Whether the API server knows ServiceMonitors, and routes of the Gateway API. */
  serviceMonitors: boolean;
  httpRoutes?: boolean;
  /** The Secrets of `secretNames(cluster)` that exist, by name. */
  secrets: ReadonlyMap<string, SecretData>;
};

/** What one index needs to become a pod. */
export type PodSlot = {
  index: number;
  /** First port of its block. */
  basePort: number;
};

/** Something that a person should know: a reason in one word and a sentence. Never holds a secret. */
export type ConditionProblem = { reason: string; message: string };
