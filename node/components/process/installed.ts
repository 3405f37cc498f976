// Whether the library that decodes and encodes is there: it is an optional dependency.

/** It is looked for, not loaded: that happens in processes of components alone. */
export function isFfmpegAvailable(): boolean {
  try {
    import.meta.resolve('node-av');
    return true;
  } catch {
    return false;
  }
}
