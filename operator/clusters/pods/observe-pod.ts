// Builds the snapshot of a pod from the stored Pod, its Kubernetes node and the report of its media node. Pure.
import type { Stored } from '../../kube/objects.ts';
import { annotation, container, indexOf, label } from '../names.ts';
import type { ObservedPod } from '../observed-objects.ts';
import { drainOf } from '../scaling/drain.ts';
import type { NodeSnapshot, PodSnapshot } from './pod-snapshot.ts';

export type PodContext = {
  /** Hash of the desired template. */
  templateHash: string;
  /** Hash of the fields of the spec that shape a pod. */
  specHash: string;
  /** `spec.image`; undefined if pods may have any image that was the default of the operator. */
  image: string | undefined;
  lost: (host: string) => boolean;
  leaving: (host: string) => boolean;
  report: (uid: string) => NodeSnapshot | undefined;
  unpolled: (uid: string) => boolean;
  /** Indexes of pods are below this. */
  indexes: number;
};

export function podSnapshot(pod: Stored<ObservedPod>, podContext: PodContext): PodSnapshot {
  const { name, uid, deletionTimestamp, labels = {}, annotations = {} } = pod.metadata;
  const host = pod.spec?.nodeName;
  const ending = deletionTimestamp !== undefined;
  const index = indexOf(pod) ?? -1;
  const createdFrom = annotations[annotation.specHash];
  const unchanged = createdFrom === podContext.specHash;
  const failed = pod.status?.phase === 'Failed' || pod.status?.phase === 'Succeeded';
  return {
    name,
    uid,
    index,
    // An index beyond a lowered maxReplicas has no Ingress path.
    current: isCurrent(pod, podContext, unchanged) && index < podContext.indexes,
    sameSpec: unchanged || createdFrom === undefined,
    unscheduled: isUnscheduled(pod),
    ready: !ending && !failed && isReady(pod),
    ending,
    failed,
    lost: host !== undefined && podContext.lost(host),
    leaving: host !== undefined && podContext.leaving(host),
    idle: isIdle(pod),
    busyLabel: labels[label.busy] === 'true',
    drain: drainOf(annotations[annotation.drain]),
    report: podContext.report(uid),
    unpolled: podContext.unpolled(uid),
  };
}

/** An update of the operator alone does not replace a pod of an image that the spec names (`unchanged`: it was created from the same spec). */
function isCurrent({ metadata, spec }: ObservedPod, { templateHash, image }: PodContext, unchanged: boolean): boolean {
  if (image !== undefined && unchanged) return true;
  const { annotations = {} } = metadata;
  // Operators before 0.8 wrote no annotation.
  const present = annotations[annotation.image] ?? spec?.containers?.find(({ name }) => name === container)?.image;
  return annotations[annotation.templateHash] === templateHash && (image === undefined || image === present);
}

export function isReady({ status }: ObservedPod): boolean {
  return status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false;
}

function isUnscheduled({ status }: ObservedPod): boolean {
  return (
    status?.conditions?.some(
      ({ type, status: value, reason }) => type === 'PodScheduled' && value === 'False' && reason === 'Unschedulable',
    ) ?? false
  );
}

/** Whether no process of the node runs: not started yet, or terminated and waiting for its restart. */
function isIdle({ status }: ObservedPod): boolean {
  if (status?.phase === undefined || status.phase === 'Pending') return true;
  if (status.phase === 'Unknown') return false;
  const state = status.containerStatuses?.find(({ name }) => name === container)?.state;
  return state !== undefined && state.running === undefined;
}

/** Why a pod is not ready, as a message built from its status; undefined if it is ready. */
export function notReadyReason({ metadata, status }: ObservedPod): string | undefined {
  const about = (what: string, reason: string | undefined, message: string | undefined) =>
    `Pod ${metadata.name} ${what}${[reason, message]
      .filter((text) => text)
      .map((text) => `: ${text}`)
      .join('')}`.replace(/[^.]$/, '$&.');
  const { state, lastState } = status?.containerStatuses?.find(({ name }) => name === container) ?? {};
  // The termination message is output of the container: it is reported without secrets if the pod fails, not here.
  const ended = state?.terminated ?? lastState?.terminated;
  const end = ended && `exit code ${ended.exitCode ?? 'unknown'}${ended.reason === undefined ? '' : ` (${ended.reason})`}`;
  if (state?.waiting && state.waiting.reason !== 'ContainerCreating')
    return about('waits', state.waiting.reason, [state.waiting.message, end && `last run: ${end}`].filter((text) => text).join('; '));
  if (state?.terminated) return about('ended', end, undefined);
  const unscheduled = status?.conditions?.find(({ type, status: value }) => type === 'PodScheduled' && value === 'False');
  if (unscheduled) return about('is not scheduled', unscheduled.reason, unscheduled.message);
  if (status?.phase === 'Failed') return about('failed', status.reason, status.message);
  return isReady({ metadata, status } as ObservedPod) ? undefined : about('is not ready yet', undefined, undefined);
}
