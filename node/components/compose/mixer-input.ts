// Mixer input of one track: buffers samples until they are due, and fades at gaps.

/** Capacity in samples per channel: a second. */
const capacity = 48_000;
/** Samples of a fade: 5 ms. */
const fade = 240;
/** Samples within this distance of the end are appended without a gap, because clocks jitter. */
const tolerance = 960;

/** Positions are samples per channel since the start of the stream. The buffer is interleaved. */
export class MixerInput {
  readonly #ring = new Float32Array(capacity * 2);
  /** Position after the last written sample, and after the last read one. */
  #end: number | undefined;
  #read: number;
  /** True if the next samples follow silence. */
  #silent = true;

  /** `from`: position of the first read. */
  constructor(from: number) {
    this.#read = from;
  }

  /** @returns samples by which they were early (positive) or late (negative) */
  write(at: number, samples: Float32Array): number {
    const count = samples.length / 2;
    const end = this.#end;
    const follows = end !== undefined && end > this.#read && Math.abs(at - end) <= tolerance;
    const start = follows ? end : at;
    const margin = start - this.#read;
    if (start + count > this.#read + capacity || start + count <= Math.max(this.#read, end ?? 0)) return margin;
    if (end !== undefined && (start > end || this.#silent)) {
      this.#scale(Math.max(this.#read, end - fade), end, (index) => (end - index) / fade);
      this.#silent = true;
    }
    const first = Math.max(start, this.#read);
    // Overlapping samples are cross-faded.
    const known = Math.max(first, end ?? first);
    for (let index = Math.max(first, known - fade); index < start + count; index += 1) {
      const weight = index < known ? (index - known + fade) / fade : this.#silent ? Math.min(1, (index - first) / fade) : 1;
      this.#blend(index, samples, index - start, weight);
    }
    this.#end = start + count;
    this.#silent = false;
    return margin;
  }

  /** Adds `left.length` samples from `from` on, and removes them. @returns their loudness (root mean square) */
  read(from: number, left: Float32Array, right: Float32Array): number {
    const count = left.length;
    const end = this.#end ?? 0;
    if (end < from + count + fade) {
      this.#scale(Math.max(from, end - fade), Math.min(end, from + count), (index) => (end - index) / fade);
      if (end > from) this.#silent = true;
    }
    let energy = 0;
    for (let index = 0; index < count; index += 1) {
      const at = ((from + index) % capacity) * 2;
      const [l, r] = [this.#ring[at] ?? 0, this.#ring[at + 1] ?? 0];
      this.#ring[at] = 0;
      this.#ring[at + 1] = 0;
      left[index] = (left[index] ?? 0) + l;
      right[index] = (right[index] ?? 0) + r;
      energy += l * l + r * r;
    }
    this.#read = from + count;
    return Math.sqrt(energy / (count * 2));
  }

  #blend(index: number, samples: Float32Array, from: number, weight: number): void {
    const at = (index % capacity) * 2;
    for (const channel of [0, 1]) {
      const there = this.#ring[at + channel] ?? 0;
      this.#ring[at + channel] = there + ((samples[from * 2 + channel] ?? 0) - there) * weight;
    }
  }

  #scale(from: number, to: number, gain: (index: number) => number): void {
    for (let index = from; index < to; index += 1) {
      const at = (index % capacity) * 2;
      this.#ring[at] = (this.#ring[at] ?? 0) * gain(index);
      this.#ring[at + 1] = (this.#ring[at + 1] ?? 0) * gain(index);
    }
  }
}
