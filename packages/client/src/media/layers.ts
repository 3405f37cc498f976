// Layer selection: the layer of a track to request for its rendered size.
import type { Layers } from '../generated/protocol.ts';

export type RenderedSize = {
  /** Device pixels of the largest visible element; 0 if none is visible. */
  width: number;
  height: number;
};

/** Numbers of spatial and temporal layers of a scalability mode, for example `L3T3_KEY`, `S3T3`. */
export function layersOf(scalabilityMode: string | undefined): { spatial: number; temporal: number } {
  const match = /^[LS]([1-9][0-9]?)T([1-9][0-9]?)/.exec(scalabilityMode ?? '');
  return { spatial: Number(match?.[1] ?? 1), temporal: Number(match?.[2] ?? 1) };
}

/** Minimum ratio of layer size to rendered size. */
const enough = 0.75;

/**
 * The smallest layer that fills the element. Each layer has half the width and height of the next; `full` is the size of the largest.
 * Hidden tracks get the smallest layer at its lowest rate, so that they are available at once when shown.
 */
export function chooseLayers(modes: { spatial: number; temporal: number }, full: RenderedSize, renderedSize: RenderedSize): Layers {
  if (renderedSize.width === 0 || renderedSize.height === 0) return { spatialLayer: 0, temporalLayer: 0 };
  const top = modes.spatial - 1;
  // The video is fitted into the element: one side fills it.
  const scale = Math.min(renderedSize.width / full.width, renderedSize.height / full.height);
  let spatialLayer = top;
  while (spatialLayer > 0 && 2 ** (spatialLayer - 1 - top) >= scale * enough) spatialLayer -= 1;
  return { spatialLayer, temporalLayer: modes.temporal - 1 };
}

/** The size of the largest layer, derived from the layer received now. */
export function fullSize(received: RenderedSize, currentLayer: number, spatialLayers: number): RenderedSize {
  const factor = 2 ** Math.max(0, spatialLayers - 1 - currentLayer);
  return { width: received.width * factor, height: received.height * factor };
}
