// Where a new room goes: a pure choice from what the nodes said of themselves, with the reasons.
import type { NodeName } from './cluster-transport.ts';

/** What a node says of itself. */
export type NodeLoad = { forwardedTracks: number; rooms: number; cpu: number; accepting: boolean };

export type Candidate = {
  node: NodeName;
  /** undefined: it did not answer. */
  load: NodeLoad | undefined;
  /** Rooms that were sent there and that its answer cannot have counted. */
  pending: number;
};

export type PlacementDecision = {
  /** Best first. A node that refuses is followed by the next. */
  order: NodeName[];
  /** One line per node, for the log: why it is where it is. */
  reasons: Record<NodeName, string>;
};

/**
 * Nodes that answered and accept rooms, in this order: fewest forwarded tracks, then fewest rooms, then lowest CPU, then
 * the one that was asked, then by name.
 */
export function choosePlacement(candidates: readonly Candidate[], requestedNode: NodeName): PlacementDecision {
  const reasons: Record<NodeName, string> = {};
  const open: { node: NodeName; key: readonly number[] }[] = [];
  for (const { node, load, pending } of candidates) {
    if (!load) reasons[node] = 'did not answer';
    else if (!load.accepting) reasons[node] = 'accepts no rooms';
    else {
      const rooms = load.rooms + pending;
      reasons[node] = `${load.forwardedTracks} forwarded tracks, ${rooms} rooms, CPU ${load.cpu.toFixed(2)}`;
      open.push({ node, key: [load.forwardedTracks, rooms, roundedCpu(load.cpu), node === requestedNode ? 0 : 1] });
    }
  }
  open.sort((a, b) => compare(a.key, b.key) || (a.node < b.node ? -1 : 1));
  return { order: open.map(({ node }) => node), reasons };
}

/** Tenths: what is within the noise of the measurement shall not decide. */
function roundedCpu(cpu: number): number {
  return Math.round(cpu * 10);
}

function compare(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) {
    const difference = value - (b[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
