// Kubernetes nodes of the pods: which are lost, and which are cordoned or about to be removed.
import type { KubeObject, Stored } from '../../kube/objects.ts';

export type Host = KubeObject & {
  spec?: { unschedulable?: boolean; taints?: { key: string; effect: string }[] };
  status?: { conditions?: { type: string; status: string }[]; addresses?: { type: string; address: string }[] };
};

/** Milliseconds without a sign from a Kubernetes node and from media nodes on it, before its pods are replaced. */
export const lostTimeoutMs = 10_000;
/** How long pods of a cordoned Kubernetes node wait for their replacement before they are drained, in milliseconds. */
export const replacementTimeoutMs = 60_000;

/** Maximum number of tracked Kubernetes nodes. */
const maxHosts = 10_000;

/** Taints with which an autoscaler announces the removal of a Kubernetes node. */
const removalTaints = new Set(['ToBeDeletedByClusterAutoscaler', 'karpenter.sh/disrupted']);
const cordonTaint = 'node.kubernetes.io/unschedulable';

/** What the cordon of a Kubernetes node means for its pods: `drain.node.onCordon` of the MediaCluster. */
export type OnCordon = 'drain' | 'keep';

/** True if an autoscaler removes the Kubernetes node, or if it is cordoned and cordons count. */
export function isLeaving({ spec: { unschedulable = false, taints = [] } = {} }: Host, onCordon: OnCordon): boolean {
  const cordoned = unschedulable || taints.some(({ key }) => key === cordonTaint);
  return taints.some(({ key }) => removalTaints.has(key)) || (cordoned && onCordon === 'drain');
}

/** The fields that the operator uses: a Node with its images and volumes is much larger. */
export function slimHost({ apiVersion, kind, metadata, spec, status }: Stored<Host>): Stored<Host> {
  const { name, uid, resourceVersion } = metadata;
  const { unschedulable, taints } = spec ?? {};
  const { addresses = [], conditions = [] } = status ?? {};
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion },
    spec: {
      ...(unschedulable === undefined ? {} : { unschedulable }),
      ...(taints === undefined ? {} : { taints: taints.map(({ key, effect }) => ({ key, effect })) }),
    },
    status: {
      addresses: addresses.map(({ type, address }) => ({ type, address })),
      conditions: conditions.filter(({ type }) => type === 'Ready').map(({ type, status }) => ({ type, status })),
    },
  };
}

export function isHostReady(host: Host): boolean {
  return host.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

const onCordons = ['drain', 'keep'] as const satisfies readonly OnCordon[];

/** Whether a change of a Kubernetes node affects its pods; most changes are heartbeats. */
export function hostChanged(host: Host, before: Host | undefined): boolean {
  return (
    before === undefined ||
    onCordons.some((onCordon) => isLeaving(host, onCordon) !== isLeaving(before, onCordon)) ||
    isHostReady(host) !== isHostReady(before) ||
    JSON.stringify(host.status?.addresses) !== JSON.stringify(before.status?.addresses)
  );
}

type Store = { get: (name: string) => Stored<Host> | undefined; list: () => Stored<Host>[]; readonly synced: boolean };

/** Tracks since when Kubernetes nodes are unhealthy, by the local clock, because remote clocks may be wrong. */
export class HostMonitor {
  readonly #store: Store | undefined;
  readonly #now: () => number;
  readonly #lastResponseAt: (host: string) => number | undefined;
  readonly #unready = new Map<string, number>();
  readonly #leaving: Record<OnCordon, Map<string, number>> = { drain: new Map(), keep: new Map() };

  /**
   * Without a store (no permission to read Nodes) no Kubernetes node is ever lost or leaving. `now`: monotonic milliseconds;
   * `lastResponseAt`: time of the last response of a media node on it.
   */
  constructor(store: Store | undefined, now: () => number, lastResponseAt: (host: string) => number | undefined = () => undefined) {
    this.#store = store;
    this.#now = now;
    this.#lastResponseAt = lastResponseAt;
  }

  get known(): boolean {
    return this.#store !== undefined;
  }

  addresses(name: string): readonly { type: string; address: string }[] | undefined {
    return this.#store?.get(name)?.status?.addresses;
  }

  /** Milliseconds until the Kubernetes node counts as lost: 0 if it is lost; undefined while it is healthy. */
  timeUntilLost(name: string): number | undefined {
    const host = this.#store?.get(name);
    const unwell = this.#store?.synced === true && (host === undefined || !isHostReady(host));
    // If no Kubernetes node is ready, the API server is isolated: none is lost then, and no other could run the pods.
    const since = this.#since(this.#unready, name, unwell && this.#store?.list().some(isHostReady) === true);
    if (since === undefined) return undefined;
    // The kubelet may be down while rooms live: as long as a media node responds, its pods are not lost.
    const lastSign = Math.max(since, this.#lastResponseAt(name) ?? since);
    return Math.max(0, lastSign + lostTimeoutMs - this.#now());
  }

  /** Milliseconds since pods must leave the Kubernetes node; undefined if they may stay. */
  leavingSince(name: string, onCordon: OnCordon): number | undefined {
    const host = this.#store?.get(name);
    const since = this.#since(this.#leaving[onCordon], name, host !== undefined && isLeaving(host, onCordon));
    return since === undefined ? undefined : this.#now() - since;
  }

  #since(known: Map<string, number>, name: string, holds: boolean): number | undefined {
    if (!holds) {
      known.delete(name);
      return undefined;
    }
    const since = known.get(name) ?? this.#now();
    known.set(name, since);
    const [oldest] = known.keys();
    if (known.size > maxHosts && oldest !== undefined) known.delete(oldest);
    return since;
  }
}
