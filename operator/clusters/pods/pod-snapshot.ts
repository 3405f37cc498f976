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
  /** Not current because of an update of the operator alone: the spec is that with which it was created, or unknown. */
  sameSpec: boolean;
  /** The scheduler has found no Kubernetes node for it. */
  unscheduled: boolean;
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

export type NodeSnapshot = { state: NodeHealth['state']; busy: Busy } & NodeHealth['load'];

/** What is live on a node, by cause. */
export type Busy = NonNullable<NodeHealth['busy']>;

/** A node of 0.7 does not report `busy`: its drain waits for rooms with connected peers only. */
export function nodeSnapshot({ state, load, busy }: NodeHealth): NodeSnapshot {
  return { state, ...load, busy: busy ?? { ...idle, rooms: Math.min(load.rooms, load.connectedPeers), peers: load.connectedPeers } };
}

const idle: Busy = { rooms: 0, peers: 0, calls: 0, streams: 0, recordings: 0, files: 0 };

/** Order: fewest live peers, calls, streams and files, then rooms, forwarded tracks, and the highest index. A pod without a report counts as the fullest. */
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
  const { peers, calls, streams, files } = report.busy;
  return [peers + calls + streams + files, report.rooms, report.forwardedTracks, -index];
}
