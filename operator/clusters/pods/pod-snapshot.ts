// What decisions need to know of a pod: the API server's truth, its host's and its node's own words, in one flat record.

/** Why a pod is being emptied. */
export type DrainReason = 'HostDrained' | 'Rollout' | 'ScaleDown';

export type PodSnapshot = {
  name: string;
  uid: string;
  index: number;
  /** Made from the template that is wanted now. */
  current: boolean;
  ready: boolean;
  /** Being deleted: what lives on it ends by itself. */
  ending: boolean;
  /** Ended, or evicted: it will never run again. */
  failed: boolean;
  /** Its host has not been heard of for long enough. */
  lost: boolean;
  /** Its host is cordoned, or about to be taken away. */
  leaving: boolean;
  /** Nothing of it runs, so nothing can live on it. */
  idle: boolean;
  busyLabel: boolean;
  /** What was written on the pod when its draining began; `deadline` in milliseconds since 1970. */
  drain: { reason: DrainReason; deadline: number } | undefined;
  /** The node's own words; `undefined` where it did not answer lately. */
  report: NodeSnapshot | undefined;
  /** Its node is about to be asked for the first time: what it will say is not known yet. */
  unasked: boolean;
};

export type NodeSnapshot = {
  state: 'accepting' | 'draining' | 'terminating';
  rooms: number;
  connectedPeers: number;
  forwardedTracks: number;
};

/** Fewest connected peers first, then rooms, then forwarded tracks, then the highest index; who says nothing counts as the fullest. */
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
