// What composing a picture costs.

/** Pixels per second of 1280x720 at 24. */
const referencePixels = 1280 * 720 * 24;
/** Cores for decoding, composing and encoding that many, with content that is hard to encode; and for a process whatever its size. */
const referenceCores = 0.85;
const baseCores = 0.1;

export type VideoSize = { width: number; height: number; framerate: number };

/** Cores that a stream takes, by the size of its picture. */
export function estimateCores({ width, height, framerate }: VideoSize): number {
  return baseCores + (referenceCores * width * height * framerate) / referencePixels;
}
