// The machines that pods run on (Nodes, in Kubernetes' word): which are lost, which are about to go.
import type { KubeObject, Stored } from '../../kube/objects.ts';

export type Host = KubeObject & {
  spec?: { unschedulable?: boolean; taints?: { key: string; effect: string }[] };
  status?: { conditions?: { type: string; status: string }[]; addresses?: { type: string; address: string }[] };
};

/** How long a host, and the media nodes on it, may say nothing before its pods are replaced, in milliseconds. */
export const lostTimeoutMs = 10_000;
/** How long pods of a host that goes away wait for their replacement before their rooms are told to end. */
export const replacementTimeoutMs = 60_000;

/** So many hosts are remembered at most. */
const maxHosts = 10_000;

/** Whoever puts one of these on a host is about to take it away. */
const leavingTaints = new Set(['node.kubernetes.io/unschedulable', 'ToBeDeletedByClusterAutoscaler', 'karpenter.sh/disrupted']);

export function isUnschedulable(host: Host): boolean {
  return host.spec?.unschedulable === true || (host.spec?.taints ?? []).some(({ key }) => leavingTaints.has(key));
}

export function isHostReady(host: Host): boolean {
  return host.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
}

/** Whether a change of a host can mean anything to the pods on it; most changes are heartbeats. */
export function hostChanged(host: Host, before: Host | undefined): boolean {
  return (
    before === undefined ||
    isUnschedulable(host) !== isUnschedulable(before) ||
    isHostReady(host) !== isHostReady(before) ||
    JSON.stringify(host.status?.addresses) !== JSON.stringify(before.status?.addresses)
  );
}

type Store = { get: (name: string) => Stored<Host> | undefined; list: () => Stored<Host>[]; readonly synced: boolean };

/** Remembers since when hosts are unwell, by the operator's own clock: that of a host may be wrong. */
export class HostMonitor {
  readonly #store: Store | undefined;
  readonly #now: () => number;
  readonly #heardAt: (host: string) => number | undefined;
  readonly #unready = new Map<string, number>();
  readonly #leaving = new Map<string, number>();

  /**
   * Without a store (no permission to read Nodes) nothing is known, and no host is ever lost or leaving. `now`: monotonic milliseconds;
   * `heardAt`: when a media node of that host answered last.
   */
  constructor(store: Store | undefined, now: () => number, heardAt: (host: string) => number | undefined = () => undefined) {
    this.#store = store;
    this.#now = now;
    this.#heardAt = heardAt;
  }

  get known(): boolean {
    return this.#store !== undefined;
  }

  addresses(name: string): readonly { type: string; address: string }[] | undefined {
    return this.#store?.get(name)?.status?.addresses;
  }

  /** Milliseconds until the host counts as lost: 0 when it is; undefined while it is well. */
  timeUntilLost(name: string): number | undefined {
    const host = this.#store?.get(name);
    const unwell = this.#store?.synced === true && (host === undefined || !isHostReady(host));
    // Where none is well it is the API server that hears nothing: no host is lost then, and no other could take its pods.
    const since = this.#since(this.#unready, name, unwell && this.#store?.list().some(isHostReady) === true);
    if (since === undefined) return undefined;
    // A kubelet may be silent where rooms live on: as long as a media node answers, nothing of it is lost.
    const heard = Math.max(since, this.#heardAt(name) ?? since);
    return Math.max(0, heard + lostTimeoutMs - this.#now());
  }

  /** How long the host has been leaving, in milliseconds; undefined where it is not. */
  unschedulableSince(name: string): number | undefined {
    const host = this.#store?.get(name);
    const since = this.#since(this.#leaving, name, host !== undefined && isUnschedulable(host));
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
