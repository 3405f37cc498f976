// Snapshot of a pod for decisions: state from the API server, its Kubernetes node and its media node in one flat record.

import type { NodeHealth } from '../../nodes/schemas.ts';

/** Why a pod is being drained. */
export type DrainReason = 'HostDrained' | 'Rollout' | 'ScaleDown';

export type PodSnapshot = {
  name: string;
  uid: string;
  index: number;
  /** Created from the desired template. */
  current: boolean;
  ready: boolean;
  /** Being deleted; its rooms end on their own. */
  ending: boolean;
  /** Terminated or evicted; it never runs again. */
  failed: boolean;
  /** Its Kubernetes node is lost. */
  lost: boolean;
  /** Its Kubernetes node is cordoned or about to be removed. */
  leaving: boolean;
  /** No process of it runs, so it has no rooms. */
  idle: boolean;
  busyLabel: boolean;
  /** Annotation written when its drain began; `deadline` in milliseconds since 1970. */
  drain: { reason: DrainReason; deadline: number } | undefined;
  /** Latest report of its node; `undefined` if it did not respond recently. */
  report: NodeSnapshot | undefined;
  /** Its node has not been polled yet, so its state is unknown. */
  unpolled: boolean;
};

export type NodeSnapshot = { state: NodeHealth['state'] } & NodeHealth['load'];

/** Order: fewest connected peers, rooms, forwarded tracks, then highest index. A pod without a report counts as the fullest. */
export function compareByLoad(one: PodSnapshot, other: PodSnapshot): number {
  const [a, b] = [fullness(one), fullness(other)];
  for (const [place, value] of a.entries()) {
    const difference = value - (b[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function fullness({ report, idle, index }: PodSnapshot): number[] {
  if (idle) return [0, 0, 0, -index];
  if (!report) return [Number.MAX_SAFE_INTEGER, 0, 0, -index];
  return [report.connectedPeers, report.rooms, report.forwardedTracks, -index];
}
