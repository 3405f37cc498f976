// Drain of a pod: decides the next step, so that live rooms get their time. Pure.
import { timeText } from '../../kube/times.ts';
import { evictionAnnotation } from '../names.ts';
import type { Busy, DrainReason, PodSnapshot } from '../pods/pod-snapshot.ts';

/** After the deadline the node ends its rooms itself. An unresponsive node is waited for no longer than this. */
const drainRetryMs = 10_000;

export type DrainStep =
  /** Write reason and deadline on the pod, so that another operator process can continue the drain. */
  | { do: 'begin'; reason: DrainReason; deadline: number }
  /** POST /cluster/nodes/{name}/drain with the remaining seconds. */
  | { do: 'ask'; seconds: number }
  | { do: 'remove' }
  | { do: 'wait'; message: string };

/** Next step for a pod to be removed. `timeout` in milliseconds, for a drain that begins now. */
export function drainStep(pod: PodSnapshot, reason: DrainReason, timeout: number, now: number): DrainStep {
  if (pod.idle) return { do: 'remove' };
  // Another reason may shorten the deadline, never extend it: otherwise repeated cordons would extend it forever.
  const deadline =
    pod.drain?.reason === reason ? pod.drain.deadline : Math.min(pod.drain?.deadline ?? Number.POSITIVE_INFINITY, now + timeout);
  if (pod.drain?.reason !== reason) return { do: 'begin', reason, deadline };
  const { report } = pod;
  if (report === undefined)
    return now > deadline + drainRetryMs ? { do: 'remove' } : { do: 'wait', message: 'Its node does not respond to the operator.' };
  if (report.state === 'accepting') return { do: 'ask', seconds: Math.max(0, Math.ceil((deadline - now) / 1000)) };
  if (report.rooms === 0 || now > deadline + drainRetryMs) return { do: 'remove' };
  const rooms = report.rooms === 1 ? 'room has' : 'rooms have';
  const until = timeText(new Date(deadline));
  const live = contentsOf(report.busy);
  return { do: 'wait', message: `${report.rooms} live ${rooms} time until ${until}${live === '' ? '' : `: ${live}`}.` };
}

/** Causes for which a drain waits, as a list. */
function contentsOf({ peers, calls, streams, recordings, files }: Busy): string {
  const counts: readonly [count: number, one: string, several: string][] = [
    [peers, 'peer', 'peers'],
    [calls, 'phone call', 'phone calls'],
    [streams, 'watched stream', 'watched streams'],
    [recordings, 'recording', 'recordings'],
    [files, 'playing file', 'playing files'],
  ];
  return counts
    .filter(([count]) => count > 0)
    .map(([count, one, several]) => `${count} ${count === 1 ? one : several}`)
    .join(', ');
}

export type CancelStep =
  /** DELETE /cluster/nodes/{name}/drain. */
  | 'callBack'
  /** Remove reason and deadline from the pod. */
  | 'forget'
  | 'nothing';

/** Next step for a pod that stays. A drain started by a user is not cancelled: it has no annotation. */
export function cancelStep(pod: PodSnapshot): CancelStep {
  if (pod.drain === undefined) return 'nothing';
  return pod.report?.state === 'draining' ? 'callBack' : pod.report?.state === 'accepting' || pod.idle ? 'forget' : 'nothing';
}

/** Whether the pod gets the busy label; `undefined` if unknown, then the label stays unchanged. */
export function isBusy(pod: PodSnapshot, now: number): boolean | undefined {
  if (pod.drain !== undefined && now >= pod.drain.deadline) return false;
  if (pod.idle || pod.failed) return false;
  return pod.report === undefined ? undefined : pod.report.busy.rooms > 0;
}

/**
 * Annotations for autoscalers of Kubernetes nodes; `null` removes one. The Cluster Autoscaler never evicts a pod with an emptyDir or an
 * owner that it does not know unless the annotation allows it, so an idle pod is released explicitly. `given`: annotations of the user,
 * which stay.
 */
export function evictionAnnotations(busy: boolean, given: Record<string, string> = {}): Record<string, string | null> {
  const all = { [evictionAnnotation.clusterAutoscaler]: String(!busy), [evictionAnnotation.karpenter]: busy ? 'true' : null };
  return Object.fromEntries(Object.entries(all).filter(([name]) => given[name] === undefined));
}

/** Parses and formats the drain annotation of a pod. */
export function drainText({ reason, deadline }: { reason: DrainReason; deadline: number }): string {
  return `${reason} ${new Date(deadline).toISOString()}`;
}

export function drainOf(text: string | undefined): PodSnapshot['drain'] {
  const match = /^(HostDrained|Rollout|ScaleDown) (\S+)$/.exec(text ?? '');
  const deadline = Date.parse(match?.[2] ?? '');
  return match && !Number.isNaN(deadline) ? { reason: match[1] as DrainReason, deadline } : undefined;
}
