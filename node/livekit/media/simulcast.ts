// Simulcast for LiveKit clients: the spatial layer for a quality or a size that a client requests.
import type { TrackView } from '../../../api/track.ts';

/** The largest of the usual three layers; the media worker uses the largest that exists. */
const largest = 2;

/** `width` and `height`: of the element that shows the track, 0 if unknown; `quality`: 0 to 2. */
export function spatialLayer(
  { metadata }: Pick<TrackView, 'metadata'>,
  wanted: { quality: number; width: number; height: number },
): number {
  const { width, height } = sizeOf(metadata);
  if (wanted.width === 0 || wanted.height === 0 || width === 0 || height === 0) return Math.min(largest, wanted.quality);
  // Each layer has half the width of the next one. The orientation of the publisher may differ.
  const ratio = Math.max(wanted.width, wanted.height) / Math.max(width, height);
  return Math.max(0, Math.min(largest, largest + Math.ceil(Math.log2(ratio))));
}

function sizeOf(metadata: TrackView['metadata']): { width: number; height: number } {
  const { width, height } = typeof metadata === 'object' && metadata !== null && !Array.isArray(metadata) ? metadata : {};
  return { width: positive(width), height: positive(height) };
}

function positive(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}
