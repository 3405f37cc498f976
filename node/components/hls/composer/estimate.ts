// CPU estimate of composing a stream.

/** Pixels per second of 1280x720 at 24 frames per second. */
const referencePixels = 1280 * 720 * 24;
/** Cores to decode, compose and encode that many pixels of complex content, and base cost of a process. */
const referenceCores = 0.85;
const baseCores = 0.1;

export type VideoSize = { width: number; height: number; framerate: number };

/** Cores that a stream needs for its frame size and rate. */
export function estimateCores({ width, height, framerate }: VideoSize): number {
  return baseCores + (referenceCores * width * height * framerate) / referencePixels;
}
