// Emptying a pod: what to do next so that live rooms have their time and nothing is left behind; pure.
import type { DrainReason, PodSnapshot } from '../pods/pod-snapshot.ts';

/** After the deadline a node ends its rooms itself; one that does not even say so is not waited for longer than this. */
const drainRetryMs = 10_000;

export type DrainStep =
  /** Write reason and deadline on the pod, so that another operator goes on where this one stopped. */
  | { do: 'begin'; reason: DrainReason; deadline: number }
  /** POST /cluster/nodes/{name}/drain with the seconds that are left. */
  | { do: 'ask'; seconds: number }
  | { do: 'remove' }
  | { do: 'wait'; message: string };

/** The next step of a pod that is to go. `timeout` in milliseconds, for a drain that begins now. */
export function drainStep(pod: PodSnapshot, reason: DrainReason, timeout: number, now: number): DrainStep {
  if (pod.idle) return { do: 'remove' };
  // A drain that goes on for another reason keeps its deadline, or a cordon could give rooms for ever.
  const deadline = pod.drain?.deadline ?? now + timeout;
  if (pod.drain?.reason !== reason) return { do: 'begin', reason, deadline };
  const { report } = pod;
  if (report === undefined)
    return now > deadline + drainRetryMs ? { do: 'remove' } : { do: 'wait', message: 'Its node does not answer the operator.' };
  if (report.state === 'accepting') return { do: 'ask', seconds: Math.max(0, Math.ceil((deadline - now) / 1000)) };
  if (report.rooms === 0 || now > deadline + drainRetryMs) return { do: 'remove' };
  return { do: 'wait', message: `${report.rooms} live ${report.rooms === 1 ? 'room has' : 'rooms have'} time until ${at(deadline)}.` };
}

export type CancelStep =
  /** DELETE /cluster/nodes/{name}/drain. */
  | 'callBack'
  /** Take reason and deadline off the pod. */
  | 'forget'
  | 'nothing';

/** The next step of a pod that is to stay. A node that somebody drains by hand is left to them: nothing was written on its pod. */
export function cancelStep(pod: PodSnapshot): CancelStep {
  if (pod.drain === undefined) return 'nothing';
  return pod.report?.state === 'draining' ? 'callBack' : pod.report?.state === 'accepting' || pod.idle ? 'forget' : 'nothing';
}

/** Whether the pod is to have the busy label; `undefined`: nobody knows, so it stays as it is. */
export function isBusy(pod: PodSnapshot, now: number): boolean | undefined {
  if (pod.drain !== undefined && now >= pod.drain.deadline) return false;
  if (pod.idle || pod.failed) return false;
  return pod.report === undefined ? undefined : pod.report.connectedPeers > 0;
}

const at = (time: number): string => new Date(time).toISOString().replace(/\.\d+Z$/, 'Z');

/** The drain that is written on a pod, as text and back. */
export function drainText({ reason, deadline }: { reason: DrainReason; deadline: number }): string {
  return `${reason} ${new Date(deadline).toISOString()}`;
}

export function drainOf(text: string | undefined): PodSnapshot['drain'] {
  const match = /^(HostDrained|Rollout|ScaleDown) (\S+)$/.exec(text ?? '');
  const deadline = Date.parse(match?.[2] ?? '');
  return match && !Number.isNaN(deadline) ? { reason: match[1] as DrainReason, deadline } : undefined;
}
