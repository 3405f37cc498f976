// Pod snapshots for tests of decisions.
import { type NodeSnapshot, nodeSnapshot, type PodSnapshot } from '../../../../operator/clusters/pods/pod-snapshot.ts';

const working: Omit<PodSnapshot, 'name' | 'uid' | 'index'> = {
  current: true,
  sameSpec: false,
  unscheduled: false,
  ready: true,
  ending: false,
  failed: false,
  lost: false,
  leaving: false,
  idle: false,
  busyLabel: false,
  drain: undefined,
  unpolled: false,
  report: nodeReport({}),
};

/** A ready pod without rooms, with overrides. */
export function aPod(index: number, but: Partial<PodSnapshot> = {}): PodSnapshot {
  return { ...working, name: `c-${index}`, uid: `uid-${index}`, index, ...but };
}

/** Report of a node with that number of peers, and one room for every two. */
export function withPeers(connectedPeers: number, state: 'accepting' | 'draining' = 'accepting'): Pick<PodSnapshot, 'report'> {
  return { report: nodeReport({ state, rooms: Math.ceil(connectedPeers / 2), connectedPeers, forwardedTracks: connectedPeers }) };
}

/** Report of a node without rooms, with overrides; its rooms are busy because of their peers, unless `busy` says otherwise. */
export function nodeReport({ state = 'accepting', busy, ...load }: Partial<NodeSnapshot>): NodeSnapshot {
  const all = { rooms: 0, connectedPeers: 0, forwardedTracks: 0, ...load };
  return nodeSnapshot({ state, load: all, busy, distribution: { nodesInCluster: 1 }, config: { files: [], error: null } });
}
