// How many nodes there should be by their forwarded tracks: up at once, down only after fewer were enough for a while.
import type { MediaClusterSpec } from '../../../crds/types.ts';

export type Autoscaling = NonNullable<MediaClusterSpec['autoscaling']>;

/** A finding: at that moment so many nodes were enough. Times in milliseconds of a monotonic clock. */
export type ScaleSample = { at: number; nodes: number };

/** How many samples a history keeps at most: the densest are merged, the most nodes win. */
const maxSamples = 512;

/** How many nodes the load asks for. */
export function nodesFor(autoscaling: Autoscaling, forwardedTracks: number): number {
  const wanted = Math.ceil(forwardedTracks / autoscaling.targetForwardedTracks);
  return Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, wanted));
}

/**
 * The number of nodes from now on. It grows as soon as the load asks for it; it shrinks to the most that the load asked for within the
 * stabilisation window, and only when the samples reach back over the whole window.
 */
export function desiredNodes(autoscaling: Autoscaling, current: number, history: readonly ScaleSample[], now: number): number {
  const bounded = Math.min(autoscaling.maxReplicas, Math.max(autoscaling.minReplicas, current));
  const from = now - autoscaling.scaleDownStabilizationSeconds * 1000;
  const latest = history.at(-1);
  if (!latest) return bounded;
  if (latest.nodes >= bounded) return Math.min(autoscaling.maxReplicas, latest.nodes);
  const [first] = history;
  if (!first || first.at > from) return bounded;
  // The last sample before the window tells what held when it began.
  const before = history.findLast(({ at }) => at <= from);
  const most = Math.max(before?.nodes ?? 0, ...history.filter(({ at }) => at > from).map(({ nodes }) => nodes));
  return Math.max(autoscaling.minReplicas, Math.min(bounded, most));
}

/** The history with one more sample, without what the window does not reach any more. */
export function appendSample(autoscaling: Autoscaling, history: readonly ScaleSample[], scaleSample: ScaleSample): ScaleSample[] {
  const windowMs = autoscaling.scaleDownStabilizationSeconds * 1000;
  const from = scaleSample.at - windowMs;
  const before = history.findLastIndex(({ at }) => at <= from);
  const kept = history.slice(Math.max(0, before));
  const last = kept.at(-1);
  // Samples closer than this are one: a poll every second needs no 86,400 entries a day.
  const step = windowMs / maxSamples;
  const previous = kept.at(-2);
  if (last && previous && scaleSample.at - previous.at < step)
    return [...kept.slice(0, -1), { at: scaleSample.at, nodes: Math.max(last.nodes, scaleSample.nodes) }];
  return [...kept, scaleSample];
}
