// Cluster scaler: keeps the samples of each MediaCluster with autoscaling, from the reports of its nodes.
import type { StoredCluster } from '../owned.ts';
import type { PodSnapshot } from '../pods/pod-snapshot.ts';
import { appendSample, desiredNodes, type LoadSample, nodesFor, type ScaleSample } from './autoscaling.ts';

type Remembered = {
  samples: ScaleSample[];
  /** Counters of rejected rooms, by uid of the pod. */
  rejected: ReadonlyMap<string, number>;
};

export class ClusterScaler {
  readonly #clusters = new Map<string, Remembered>();
  readonly #now: () => number;

  /** `now`: monotonic milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Desired number of nodes, with or without autoscaling. */
  desired(key: string, { spec, status }: StoredCluster, pods: readonly PodSnapshot[]): number {
    const { autoscaling } = spec;
    if (!autoscaling) {
      this.forget(key);
      return spec.replicas ?? 1;
    }
    const at = this.#now();
    const current = status?.desiredReplicas ?? pods.length;
    const running = pods.filter(({ idle, failed, ending, lost, drain }) => !idle && !failed && !ending && !lost && !drain);
    const before = this.#clusters.get(key)?.rejected ?? new Map<string, number>();
    const nodes = nodesFor(autoscaling, current, { ...loadsOf(running), rejectedRooms: newRejections(before, running) });
    if (nodes !== undefined) {
      const counters = running.map(({ uid, report }) => [uid, report?.rejectedRooms ?? before.get(uid)] as const);
      const rejected = new Map(counters.flatMap(([uid, count]) => (count === undefined ? [] : [[uid, count] as const])));
      this.#clusters.set(key, { samples: appendSample(autoscaling, this.#samples(key), { at, nodes }), rejected });
    }
    return desiredNodes(autoscaling, current, this.#samples(key), at);
  }

  forget(key: string): void {
    this.#clusters.delete(key);
  }

  #samples(key: string): ScaleSample[] {
    return this.#clusters.get(key)?.samples ?? [];
  }
}

function loadsOf(running: readonly PodSnapshot[]): Omit<LoadSample, 'rejectedRooms'> {
  const unknown = running.filter(({ report }) => report === undefined);
  // A pod that was just added is polled in a moment.
  const silent = unknown.filter(({ ready, unpolled }) => ready && !unpolled).length;
  return { loads: running.flatMap(({ report }) => report ?? []), silent, unready: unknown.length - silent };
}

/** Counters begin at 0 when a node restarts; rejections before the first report are not new. */
function newRejections(before: ReadonlyMap<string, number>, running: readonly PodSnapshot[]): number {
  return running.reduce((sum, { uid, report }) => {
    const now = report?.rejectedRooms ?? 0;
    return sum + Math.max(0, now - (before.get(uid) ?? now));
  }, 0);
}
