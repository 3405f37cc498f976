// Placement: chooses the node of a new room from the reported loads. A pure function that also returns its reasons.
import type { NodeName } from './cluster-transport.ts';

/** Load as reported by a node. */
export type NodeLoad = { forwardedTracks: number; rooms: number; cpu: number; accepting: boolean };

export type Candidate = {
  node: NodeName;
  /** Undefined if the node did not respond. */
  load: NodeLoad | undefined;
  /** Rooms sent to the node that its response cannot include. */
  pending: number;
};

export type PlacementDecision = {
  /** Best node first. If a node rejects the room, the next one is tried. */
  order: NodeName[];
  /** One line per node for the log. */
  reasons: Record<NodeName, string>;
};

/**
 * Nodes that responded and accept rooms, ordered by fewest forwarded tracks, fewest rooms, lowest CPU, the node that received the request,
 * and name.
 */
export function choosePlacement(candidates: readonly Candidate[], requestedNode: NodeName): PlacementDecision {
  const reasons: Record<NodeName, string> = {};
  const open: { node: NodeName; key: readonly number[] }[] = [];
  for (const { node, load, pending } of candidates) {
    if (!load) reasons[node] = 'no response';
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

/** Rounded to tenths, so that measurement noise does not decide. */
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
