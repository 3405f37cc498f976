// Packet loss concealment: repeats the last pitch period with decreasing volume, as in ITU-T G.711, appendix I.

/** Samples at 48 kHz: pitch periods from 66 to 400 Hz. */
const minPeriod = 120;
const maxPeriod = 720;
/** Samples that are compared to find the pitch period. */
const compared = 480;
/** Compares one of this many samples. */
const stride = 4;
const history = maxPeriod + compared;
/** Samples after which concealment is silent: 60 ms. */
const audible = 2880;
/** Samples of the cross-fade from concealment to received audio: 5 ms. */
const overlap = 240;

export class PacketLossConcealer {
  readonly #past = new Float32Array(history);
  #period: Float32Array | undefined;
  #filled = 0;
  /** Received samples that have been cross-faded. */
  #blended = 0;
  #silent = true;

  /** True if nothing is to be repeated. */
  get silent(): boolean {
    return this.#silent;
  }

  /** Generates the missing samples. */
  fill(samples: Float32Array): void {
    this.#blended = 0;
    this.#makeUp(samples);
    if (this.#filled >= audible) this.#silent = true;
    this.#remember(samples);
  }

  /** Stores received samples, and cross-fades after a loss. In place. */
  pass(samples: Float32Array): void {
    if (this.#period) {
      const madeUp = new Float32Array(Math.min(overlap - this.#blended, samples.length));
      this.#makeUp(madeUp);
      for (let index = 0; index < madeUp.length; index += 1, this.#blended += 1) {
        const weight = this.#blended / overlap;
        samples[index] = (samples[index] ?? 0) * weight + (madeUp[index] ?? 0) * (1 - weight);
      }
    }
    if (this.#blended >= overlap) {
      this.#period = undefined;
      this.#blended = 0;
      this.#filled = 0;
    }
    this.#silent = false;
    this.#remember(samples);
  }

  #makeUp(samples: Float32Array): void {
    this.#period ??= this.#silent ? new Float32Array(1) : lastPeriod(this.#past);
    const period = this.#period;
    for (let index = 0; index < samples.length; index += 1, this.#filled += 1)
      samples[index] = (period[this.#filled % period.length] ?? 0) * Math.max(0, 1 - this.#filled / audible);
  }

  #remember(samples: Float32Array): void {
    if (samples.length >= history) {
      this.#past.set(samples.subarray(samples.length - history));
      return;
    }
    this.#past.copyWithin(0, samples.length);
    this.#past.set(samples, history - samples.length);
  }
}

/** The period with the best match. */
function lastPeriod(past: Float32Array): Float32Array {
  let best = maxPeriod;
  let bestMatch = Number.NEGATIVE_INFINITY;
  for (let period = minPeriod; period <= maxPeriod; period += stride) {
    let product = 0;
    let energy = 1e-9;
    for (let index = history - compared; index < history; index += stride) {
      const before = past[index - period] ?? 0;
      product += (past[index] ?? 0) * before;
      energy += before * before;
    }
    const match = product / Math.sqrt(energy);
    if (match > bestMatch) {
      bestMatch = match;
      best = period;
    }
  }
  return past.slice(history - best);
}
