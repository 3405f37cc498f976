// Autoscaling: desired number of nodes from their forwarded tracks. Scales up immediately, down only after the stabilization window.
import type { MediaClusterSpec } from '../../../crds/types.ts';

export type Autoscaling = NonNullable<MediaClusterSpec['autoscaling']>;

/** A sample: the number of nodes that was sufficient at that time. `at` in milliseconds of a monotonic clock. */
export type ScaleSample = { at: number; nodes: number };

/** Maximum samples of a history: neighboring samples are merged, the higher number of nodes is kept. */
const maxSamples = 512;

/** Number of nodes that the load requires. */
export function nodesFor(autoscaling: Autoscaling, forwardedTracks: number): number {
  const wanted = Math.ceil(forwardedTracks / autoscaling.targetForwardedTracks);
  return Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, wanted));
}

/**
 * Desired number of nodes. It grows as soon as the load requires it. It shrinks to the maximum of the stabilization window, and only if
 * the samples cover the whole window.
 */
export function desiredNodes(autoscaling: Autoscaling, current: number, history: readonly ScaleSample[], now: number): number {
  const bounded = Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, current));
  const from = now - autoscaling.scaleDownStabilizationSeconds * 1000;
  const latest = history.at(-1);
  if (!latest) return bounded;
  if (latest.nodes >= bounded) return Math.min(autoscaling.maxReplicas, latest.nodes);
  const [first] = history;
  if (!first || first.at > from) return bounded;
  // The last sample before the window is the value at its start.
  const before = history.findLast(({ at }) => at <= from);
  const most = Math.max(before?.nodes ?? 0, ...history.filter(({ at }) => at > from).map(({ nodes }) => nodes));
  return Math.max(autoscaling.minReplicas, Math.min(bounded, most));
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
