// Rollout plan: decides which pods are created, drained and removed next, new before old. Pure.
import { compareByLoad, type DrainReason, type PodSnapshot } from '../pods/pod-snapshot.ts';
import type { RolloutPolicy } from './rollout-policy.ts';

export type RolloutInput = {
  desired: number;
  /** Indexes of pods are below this, except spare ones (names.ts). */
  indexes: number;
  pods: readonly PodSnapshot[];
  /** Indexes whose names foreign pods use. */
  foreignIndexes: ReadonlySet<number>;
  policy: Pick<RolloutPolicy, 'partition' | 'surge'>;
  /** Whether a pod on a cordoned Kubernetes node has waited long enough for its replacement. */
  replacementTimedOut: (pod: PodSnapshot) => boolean;
};

export type RolloutPlan = {
  /** Indexes of pods to create, the lowest free ones. */
  create: number[];
  drain: { pod: PodSnapshot; reason: DrainReason }[];
  /** Pods to delete immediately, because no process runs in them. */
  remove: PodSnapshot[];
  /** Pods that stay; drains of these are cancelled. */
  keep: PodSnapshot[];
  /** Why a desired pod cannot be created. */
  blocked: string | undefined;
};

/**
 * Next step towards `desired` pods of the desired template. Terminating, failed and lost pods keep their index until they are deleted,
 * and are replaced under another index. A rollout has one extra pod unless its policy forbids that, and a working old pod is removed only
 * if enough other pods are ready.
 */
export function planRollout({ desired, indexes, pods, foreignIndexes, policy, replacementTimedOut }: RolloutInput): RolloutPlan {
  const living = pods.filter((pod) => !pod.ending && !pod.failed && !pod.lost);
  const remove = pods.filter((pod) => pod.failed && !pod.ending);
  const leaving = living.filter((pod) => pod.leaving);
  const staying = living.filter((pod) => !pod.leaving);
  // A drain because of a Kubernetes node that is schedulable again is void; others continue unless the pod is needed.
  const going = staying.filter((pod) => pod.drain !== undefined && pod.drain.reason !== 'HostDrained');
  const serving = staying.filter((pod) => !going.includes(pod));

  const calledBack = going
    .filter((pod) => pod.current && pod.report?.state !== 'terminating')
    .sort((one, other) => compareByLoad(other, one))
    .slice(0, Math.max(0, desired - serving.filter((pod) => pod.current).length));
  serving.push(...calledBack);

  const missing = Math.max(0, desired - serving.length);
  const surplus = Math.max(0, serving.length - desired);
  const rolling = going.some((pod) => !pod.current && !calledBack.includes(pod));
  const replaceable = Math.max(0, serving.filter((pod) => !pod.current).length - policy.partition);
  const due = replaceable > 0 && missing === 0 && surplus === 0 && !rolling && desired > 0;
  const surge = due && policy.surge ? 1 : 0;

  const free = freeIndexes(pods, foreignIndexes, indexes);
  const create = free.slice(0, missing + surge);
  const blocked =
    create.length < missing + surge
      ? `All ${indexes} indexes that maxReplicas allows are in use, also by terminating pods, so no further pod can be created.`
      : undefined;

  // Without an extra pod an old pod is removed before its successor is ready.
  const first = due && create.length === 0;
  const chosen = podsToRemove(serving, {
    surplus: first ? 1 : surplus,
    minReady: first || !policy.surge ? desired - 1 : desired,
    replaceable,
  });
  const drain = [
    ...going.filter((pod) => !calledBack.includes(pod)).map((pod) => ({ pod, reason: pod.drain?.reason ?? 'ScaleDown' })),
    ...chosen.map((pod) => ({ pod, reason: pod.current || replaceable === 0 ? ('ScaleDown' as const) : ('Rollout' as const) })),
  ];
  const readyElsewhere = serving.filter((pod) => pod.ready && !chosen.includes(pod)).length;
  const left = leaving.filter(
    (pod) => pod.drain !== undefined || !pod.ready || readyElsewhere >= desired || replacementTimedOut(pod) || pod.idle,
  );
  drain.push(...left.map((pod) => ({ pod, reason: 'HostDrained' as const })));

  const draining = new Set(drain.map(({ pod }) => pod));
  return { create, drain, remove, keep: living.filter((pod) => !draining.has(pod)), blocked };
}

type Surplus = {
  surplus: number;
  minReady: number;
  /** Number of old pods that may be replaced. */
  replaceable: number;
};

/** Serving pods to remove now: replaceable old ones first, not ready before ready, then by load. */
function podsToRemove(serving: readonly PodSnapshot[], { surplus, minReady, replaceable }: Surplus): PodSnapshot[] {
  const byLoad = [...serving].sort((one, other) => Number(one.ready) - Number(other.ready) || compareByLoad(one, other));
  const old = byLoad.filter((pod) => !pod.current).slice(0, replaceable);
  const order = [...old, ...byLoad.filter((pod) => !old.includes(pod))];
  const chosen: PodSnapshot[] = [];
  let ready = serving.filter((pod) => pod.ready).length;
  // Without reports, an operator that just started would pick the fullest pod.
  const unknown = serving.some((pod) => pod.unpolled);
  for (const pod of order.slice(0, surplus)) {
    // A working old pod waits for the new pod. Fewer pods than desired are ready only if none of them is replaced.
    if (old.includes(pod) && pod.ready && ready - 1 < minReady) continue;
    if (pod.ready && unknown) continue;
    if (pod.ready) ready -= 1;
    chosen.push(pod);
  }
  return chosen;
}

/** The lowest free indexes, then the spare ones of lost pods, so that a lost Kubernetes node is replaced whole at the maximum of pods. */
function freeIndexes(pods: readonly PodSnapshot[], others: ReadonlySet<number>, indexes: number): number[] {
  const taken = new Set([...pods.map(({ index }) => index), ...others]);
  const spare = pods.filter(({ lost, index }) => lost && index < indexes).map(({ index }) => index + indexes);
  return [...Array(indexes).keys(), ...spare.sort((one, other) => one - other)].filter((index) => !taken.has(index));
}
