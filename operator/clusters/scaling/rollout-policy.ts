// Rollout policy: how many outdated pods are replaced now, and whether an extra pod is created first. Pure.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { ConditionReason } from '../../kube/conditions.ts';
import type { PodSnapshot } from '../pods/pod-snapshot.ts';

export type RolloutOptions = NonNullable<MediaClusterSpec['rollout']>;

export type RolloutPolicy = {
  /** Number of outdated pods that stay. */
  partition: number;
  /** Whether a pod of the new template is created before an outdated one is drained. */
  surge: boolean;
  /** Why outdated pods stay; undefined if they are being replaced, or if there are none. */
  held: ConditionReason | undefined;
};

export type RolloutPolicyInput = {
  rollout: RolloutOptions | undefined;
  desired: number;
  pods: readonly PodSnapshot[];
  /** Whether the extra pod of this template has waited for a Kubernetes node for surgeTimeoutSeconds. */
  surgeTimedOut: boolean;
  /** Requests the turn among the MediaClusters, or returns it. @returns the MediaCluster that has it, if another one */
  takeTurn: (needed: boolean) => string | undefined;
};

export function rolloutPolicy({ rollout, desired, pods, surgeTimedOut, takeTurn }: RolloutPolicyInput): RolloutPolicy {
  const living = pods.filter(({ ending, failed, lost }) => !ending && !failed && !lost);
  const outdated = living.filter(({ current }) => !current);
  const { paused = false, partition = 0, surgeTimeoutSeconds = defaultSurgeTimeout } = rollout ?? {};
  const surge = surgeTimeoutSeconds > 0 && !surgeTimedOut;
  const wanted = !paused && outdated.length > partition;
  // A step that has begun continues. If the spec changed, the user decides about the time.
  const begun = living.length > desired || living.some(({ drain }) => drain?.reason === 'Rollout');
  const holder = takeTurn(wanted && outdated.every(({ sameSpec }) => sameSpec));
  if (wanted && (holder === undefined || begun)) return { partition, surge, held: undefined };
  const count = `${outdated.length} ${outdated.length === 1 ? 'pod keeps' : 'pods keep'} an older template`;
  const held = outdated.length === 0 ? undefined : { reason: 'RolloutHeld', message: `${count}: ${whyHeld(paused, holder)}.` };
  return { partition: Number.POSITIVE_INFINITY, surge, held };
}

/** Seconds, if the spec has no value. */
export const defaultSurgeTimeout = 600;

function whyHeld(paused: boolean, holder: string | undefined): string {
  if (paused) return 'rollout.paused is true';
  return holder === undefined ? 'rollout.partition allows it' : `after an update of the operator MediaCluster "${holder}" is rolled first`;
}

/** Turns of MediaClusters: after an update of the operator one is rolled at a time. */
export class RolloutTurns {
  #holder: string | undefined;

  /** Keeps the turn until it is no longer needed. @returns the MediaCluster that has it, if another one */
  take(key: string, needed: boolean): string | undefined {
    if (!needed) {
      if (this.#holder === key) this.#holder = undefined;
      return undefined;
    }
    this.#holder ??= key;
    return this.#holder === key ? undefined : this.#holder;
  }
}
