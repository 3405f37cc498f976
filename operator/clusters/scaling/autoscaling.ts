// Autoscaling: desired number of nodes from their load. Scales up immediately, down only after the stabilization window. Pure.
import type { MediaClusterSpec } from '../../../crds/types.ts';
import type { NodeSnapshot } from '../pods/pod-snapshot.ts';

export type Autoscaling = NonNullable<MediaClusterSpec['autoscaling']>;

/** A sample: the number of nodes that was sufficient at that time. `at` in milliseconds of a monotonic clock. */
export type ScaleSample = { at: number; nodes: number };

/** What autoscaling uses of a node. */
export type NodeLoad = Pick<NodeSnapshot, 'rooms' | 'forwardedTracks' | 'streams' | 'cpu' | 'busy'>;

export type LoadSample = {
  /** Of the nodes that respond. */
  loads: readonly NodeLoad[];
  /** Ready nodes that do not respond. */
  silent: number;
  /** Nodes that start, or have become unready, and do not respond. */
  unready: number;
  /** Rooms that nodes have rejected since the last sample, because no node accepted rooms. */
  rejectedRooms: number;
};

type Signal = { target: (autoscaling: Autoscaling) => number | undefined; of: (load: NodeLoad) => number | undefined };

/** Each target with what it bounds. A node that is older than a signal does not report it. */
const signals: readonly Signal[] = [
  { target: ({ targetForwardedTracks }) => targetForwardedTracks, of: ({ forwardedTracks }) => forwardedTracks },
  { target: ({ targetRooms }) => targetRooms, of: ({ rooms }) => rooms },
  { target: ({ targetCpuPercent }) => targetCpuPercent, of: ({ cpu }) => (cpu === undefined ? undefined : cpu * 100) },
  { target: ({ targetCalls }) => targetCalls, of: ({ busy }) => busy.calls },
  { target: ({ targetStreams }) => targetStreams, of: ({ streams }) => streams },
];

/** Maximum samples of a history: neighboring samples are merged, the higher number of nodes is kept. */
const maxSamples = 512;

/**
 * Number of nodes that the load requires. `current`: desired nodes so far. A silent node counts as full: the others grow without it, but
 * no node is removed meanwhile, because the silent one may have the most rooms. Undefined if no node responded.
 */
export function nodesFor(autoscaling: Autoscaling, current: number, sample: LoadSample): number | undefined {
  const { loads, silent, unready, rejectedRooms } = sample;
  if (loads.length === 0) return undefined;
  const { bufferNodes = 0, scaleUpOnRejectedRooms = true } = autoscaling;
  const required = Math.max(...signals.map((signal) => requiredBy(autoscaling, signal, loads))) + bufferNodes + silent;
  const certain = silent === 0 && unready === 0 && areComplete(autoscaling, loads);
  // While added nodes start, rooms may still be rejected.
  const settled = unready === 0 && loads.length + silent >= current;
  const rejected = scaleUpOnRejectedRooms && rejectedRooms > 0 && settled ? current + 1 : 0;
  return bounded(autoscaling, Math.max(certain ? 0 : current, required, rejected));
}

function requiredBy(autoscaling: Autoscaling, { target, of }: Signal, loads: readonly NodeLoad[]): number {
  const each = target(autoscaling);
  if (each === undefined) return 0;
  const total = loads.reduce((sum, load) => sum + (of(load) ?? 0), 0);
  // Shares of CPU are fractions; rounding errors must not require a node.
  return Math.ceil(Number((total / each).toFixed(6)));
}

/** Whether every node reports all signals that have a target. */
function areComplete(autoscaling: Autoscaling, loads: readonly NodeLoad[]): boolean {
  return signals.every(({ target, of }) => target(autoscaling) === undefined || loads.every((load) => of(load) !== undefined));
}

/**
 * Desired number of nodes. It grows as soon as the load requires it. It shrinks to the maximum of the stabilization window, and only if
 * the samples cover the whole window.
 */
export function desiredNodes(autoscaling: Autoscaling, current: number, history: readonly ScaleSample[], now: number): number {
  const within = bounded(autoscaling, current);
  const from = now - autoscaling.scaleDownStabilizationSeconds * 1000;
  const latest = history.at(-1);
  if (!latest) return within;
  if (latest.nodes >= within) return Math.min(autoscaling.maxReplicas, latest.nodes);
  const [first] = history;
  if (!first || first.at > from) return within;
  // The last sample before the window is the value at its start.
  const before = history.findLast(({ at }) => at <= from);
  const most = Math.max(before?.nodes ?? 0, ...history.filter(({ at }) => at > from).map(({ nodes }) => nodes));
  return Math.max(autoscaling.minReplicas, Math.min(within, most));
}

function bounded({ minReplicas, maxReplicas }: Autoscaling, nodes: number): number {
  return Math.min(maxReplicas, Math.max(minReplicas, nodes));
}

/** Appends a sample and drops those older than the window. */
export function appendSample(autoscaling: Autoscaling, history: readonly ScaleSample[], scaleSample: ScaleSample): ScaleSample[] {
  const windowMs = autoscaling.scaleDownStabilizationSeconds * 1000;
  const from = scaleSample.at - windowMs;
  const before = history.findLastIndex(({ at }) => at <= from);
  const kept = history.slice(Math.max(0, before));
  const last = kept.at(-1);
  // Merges samples within one step, so that polling every second does not store 86,400 samples a day.
  const step = windowMs / maxSamples;
  const previous = kept.at(-2);
  if (last && previous && scaleSample.at - previous.at < step)
    return [...kept.slice(0, -1), { at: scaleSample.at, nodes: Math.max(last.nodes, scaleSample.nodes) }];
  return [...kept, scaleSample];
}
