// Which layer of a track is worth receiving for the size at which it is shown: decisions only.
import type { Layers } from '../protocol.ts';

export type RenderedSize = {
  /** Device pixels of the largest place it is shown at; 0 where none is visible. */
  width: number;
  height: number;
};

/** Numbers of spatial and temporal layers in a scalability mode, e.g. `L3T3_KEY`, `S3T3`. */
export function layersOf(scalabilityMode: string | undefined): { spatial: number; temporal: number } {
  const match = /^[LS]([1-9][0-9]?)T([1-9][0-9]?)/.exec(scalabilityMode ?? '');
  return { spatial: Number(match?.[1] ?? 1), temporal: Number(match?.[2] ?? 1) };
}

/** A layer whose picture is at least this part of the shown size looks good enough. */
const enough = 0.75;

/**
 * The smallest layer that fills the place. Each layer has half the width and height of the next;
 * `full` is the size of the largest. Hidden tracks get the smallest layer at its lowest rate, so that they are there at once when needed.
 */
export function chooseLayers(modes: { spatial: number; temporal: number }, full: RenderedSize, renderedSize: RenderedSize): Layers {
  if (renderedSize.width === 0 || renderedSize.height === 0) return { spatialLayer: 0, temporalLayer: 0 };
  const top = modes.spatial - 1;
  // The picture is fitted into its place: one side fills it.
  const scale = Math.min(renderedSize.width / full.width, renderedSize.height / full.height);
  let spatialLayer = top;
  while (spatialLayer > 0 && 2 ** (spatialLayer - 1 - top) >= scale * enough) spatialLayer -= 1;
  return { spatialLayer, temporalLayer: modes.temporal - 1 };
}

/** The size of the largest layer, from the size of the one that is received now. */
export function fullSize(received: RenderedSize, currentLayer: number, spatialLayers: number): RenderedSize {
  const factor = 2 ** Math.max(0, spatialLayers - 1 - currentLayer);
  return { width: received.width * factor, height: received.height * factor };
}
