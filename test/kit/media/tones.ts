// Tones as samples, and the level of a frequency in samples.

/** Starts at sample `from`, so that blocks are continuous. */
export function tone(frequency: number, sampleRate: number, count: number, { level = 0.3, from = 0 } = {}): Float32Array {
  return Float32Array.from({ length: count }, (_, index) => level * Math.sin((2 * Math.PI * frequency * (from + index)) / sampleRate));
}

/** Amplitude of one frequency, comparable to `level` of tone(): one bin of a Fourier transform with a Hann window. */
export function levelOf(samples: Float32Array, frequency: number, sampleRate: number): number {
  let real = 0;
  let imaginary = 0;
  for (const [index, sample] of samples.entries()) {
    const weight = 0.5 - 0.5 * Math.cos((2 * Math.PI * index) / samples.length);
    const angle = (2 * Math.PI * frequency * index) / sampleRate;
    real += sample * weight * Math.cos(angle);
    imaginary += sample * weight * Math.sin(angle);
  }
  return (4 * Math.hypot(real, imaginary)) / samples.length;
}

/** Amplitude of one frequency in most of the audio. */
export function steadyLevelOf(samples: Float32Array, frequency: number, sampleRate: number): number {
  return ofMost(samples, sampleRate, (piece) => levelOf(piece, frequency, sampleRate));
}

/**
 * Median of a measurement over tenths of a second. Late audio is delayed, so a tone may continue with a phase shift, which would cancel it
 * over the whole length.
 */
export function ofMost(samples: Float32Array, sampleRate: number, measure: (piece: Float32Array) => number): number {
  const length = sampleRate / 10;
  const pieces = Array.from({ length: Math.floor(samples.length / length) }, (_, at) => samples.subarray(at * length, (at + 1) * length));
  const measured = pieces.map(measure).sort((one, other) => one - other);
  return measured[Math.floor(measured.length / 2)] ?? 0;
}

export function decibels(ratio: number): number {
  return 20 * Math.log10(ratio + 1e-12);
}

export function concat(blocks: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(blocks.reduce((total, { length }) => total + length, 0));
  let at = 0;
  for (const block of blocks) {
    all.set(block, at);
    at += block.length;
  }
  return all;
}
