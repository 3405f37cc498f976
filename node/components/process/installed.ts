// Detects the codec library, which is an optional dependency.

/** Only resolves the module: it is loaded in component processes only. */
export function isFfmpegAvailable(): boolean {
  try {
    import.meta.resolve('node-av');
    return true;
  } catch {
    return false;
  }
}
