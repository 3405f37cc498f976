// Which pods are made, emptied and removed next: a pure decision, new before old.
import { compareByLoad, type DrainReason, type PodSnapshot } from '../pods/pod-snapshot.ts';

export type RolloutInput = {
  desired: number;
  /** Indexes of pods are below this. */
  indexes: number;
  pods: readonly PodSnapshot[];
  /** Indexes whose names pods have that are not the cluster's. */
  foreignIndexes: ReadonlySet<number>;
  /** Whether a pod on a host that goes away has waited long enough for its replacement. */
  replacementTimedOut: (pod: PodSnapshot) => boolean;
};

export type RolloutPlan = {
  /** Indexes of pods to make, the lowest free ones. */
  create: number[];
  drain: { pod: PodSnapshot; reason: DrainReason }[];
  /** To be deleted at once: nothing runs there. */
  remove: PodSnapshot[];
  /** Those that stay; what drains of them is called back. */
  keep: PodSnapshot[];
  /** Why something that should be made cannot be. */
  blocked: string | undefined;
};

/**
 * The next step towards `desired` pods of the wanted template. Pods that end, failed or were lost keep their index until they are gone
 * and are replaced under another; one more than desired is made while old ones are replaced, and an old one that works goes only when
 * enough others are ready.
 */
export function planRollout({ desired, indexes, pods, foreignIndexes, replacementTimedOut }: RolloutInput): RolloutPlan {
  const living = pods.filter((pod) => !pod.ending && !pod.failed && !pod.lost);
  const remove = pods.filter((pod) => pod.failed && !pod.ending);
  const leaving = living.filter((pod) => pod.leaving);
  const staying = living.filter((pod) => !pod.leaving);
  // A drain for the sake of a host that came back is void; others go on unless their pod is wanted after all.
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
  const stale = serving.filter((pod) => !pod.current);
  const surge = stale.length > 0 && missing === 0 && surplus === 0 && !rolling && desired > 0 ? 1 : 0;

  const free = freeIndexes(pods, foreignIndexes, indexes);
  const create = free.slice(0, missing + surge);
  const blocked =
    create.length < missing + surge
      ? `All ${indexes} indexes that maxReplicas allows are taken, also by pods that are ending or lost, so no further pod can be made now.`
      : undefined;

  const minReady = surge === 1 && create.length === 0 ? desired - 1 : desired;
  const chosen = toGo(serving, surge === 1 && create.length === 0 ? 1 : surplus, minReady);
  const drain = [
    ...going.filter((pod) => !calledBack.includes(pod)).map((pod) => ({ pod, reason: pod.drain?.reason ?? 'ScaleDown' })),
    ...chosen.map((pod) => ({ pod, reason: pod.current ? ('ScaleDown' as const) : ('Rollout' as const) })),
  ];
  const readyElsewhere = serving.filter((pod) => pod.ready && !chosen.includes(pod)).length;
  const left = leaving.filter(
    (pod) => pod.drain !== undefined || !pod.ready || readyElsewhere >= desired || replacementTimedOut(pod) || pod.idle,
  );
  drain.push(...left.map((pod) => ({ pod, reason: 'HostDrained' as const })));

  const draining = new Set(drain.map(({ pod }) => pod));
  return { create, drain, remove, keep: living.filter((pod) => !draining.has(pod)), blocked };
}

/** Of those that serve, so many that may go now: old before new, not ready before ready, the emptiest first. */
function toGo(serving: readonly PodSnapshot[], surplus: number, minReady: number): PodSnapshot[] {
  const order = [...serving].sort(
    (one, other) => Number(one.current) - Number(other.current) || Number(one.ready) - Number(other.ready) || compareByLoad(one, other),
  );
  const chosen: PodSnapshot[] = [];
  let ready = serving.filter((pod) => pod.ready).length;
  // An operator that just started would take the fullest for the emptiest.
  const unknown = serving.some((pod) => pod.unasked);
  for (const pod of order.slice(0, surplus)) {
    // An old pod that works waits for the new one; fewer are ready than wanted only where none of them is to be replaced.
    if (!pod.current && pod.ready && ready - 1 < minReady) continue;
    if (pod.ready && unknown) continue;
    if (pod.ready) ready -= 1;
    chosen.push(pod);
  }
  return chosen;
}

function freeIndexes(pods: readonly PodSnapshot[], others: ReadonlySet<number>, indexes: number): number[] {
  const taken = new Set([...pods.map(({ index }) => index), ...others]);
  return Array.from({ length: indexes }, (_, index) => index).filter((index) => !taken.has(index));
}
