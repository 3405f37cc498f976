// Adaptive playout buffer of one audio source: delays playout just enough for late packets to arrive in time.

import { frameSamples, sampleRate, samplesPerMillisecond } from './audio-format.ts';
import { PacketLossConcealer } from './packet-loss-concealment.ts';

/** Samples from arrival to playout of a packet: one block that is read at once, and expected jitter. */
const firstDelay = 50 * samplesPerMillisecond;
/** If the minimum delay of a window exceeds this, the delay is reset to the initial one. */
const longDelay = 60 * samplesPerMillisecond;
/** Margin added to the measured lateness. */
const spare = 10 * samplesPerMillisecond;
/** Maximum increase of the delay at once, and maximum delay. */
const maxStep = 40 * samplesPerMillisecond;
const maxDelay = 250 * samplesPerMillisecond;
/** Window of the minimum delay: two seconds. */
const period = 2 * sampleRate;
/** Capacity ahead of the read position: a second. Beyond it, the source restarted its timestamps. */
const capacity = sampleRate;
/** Samples of the cross-fade between overlapping audio. */
const overlap = 240;

/** All numbers are samples at 48 kHz; positions are on the time line of read(). */
export class PlayoutBuffer {
  readonly #ring = new Float32Array(capacity);
  readonly #packetLossConcealer = new PacketLossConcealer();
  /** Written and unread ranges, in order. */
  #written: { from: number; to: number }[] = [];
  #read = 0;
  /** Position of timestamp 0. */
  #offset: number | undefined;
  #minDelay = Number.POSITIVE_INFINITY;
  #periodEnd = 0;

  /** True if all samples of the block from `from` have arrived. */
  isComplete(from: number): boolean {
    const last = this.#written.at(-1);
    return last !== undefined && last.to >= from + frameSamples;
  }

  /** `timestamp` of the first sample does not wrap; `arrival`: position without delay. */
  write(timestamp: number, samples: Float32Array, arrival: number): void {
    let place = timestamp + (this.#offset ?? Number.NaN);
    if (!(place > this.#read - capacity && place + samples.length <= this.#read + capacity)) {
      place = arrival + firstDelay;
      this.#offset = place - timestamp;
    }
    this.#adapt(place, arrival);
    this.#put(timestamp + (this.#offset ?? 0), samples);
  }

  /** Fills the block with audio from `from`, which increases with each read. @returns false if there is none */
  read(from: number, block: Float32Array): boolean {
    const to = from + block.length;
    this.#read = to;
    while ((this.#written[0]?.to ?? to) < from) this.#written.shift();
    if (this.#packetLossConcealer.silent && (this.#written[0]?.from ?? to) >= to) return false;
    for (let at = from; at < to; ) {
      const [next] = this.#written;
      const start = next && next.from < to ? next.from : to;
      if (start > at) {
        this.#packetLossConcealer.fill(block.subarray(at - from, start - from));
        at = start;
        continue;
      }
      const end = Math.min(next?.to ?? to, to);
      const part = block.subarray(at - from, end - from);
      for (let index = 0; index < part.length; index += 1) part[index] = this.#ring[(at + index) % capacity] ?? 0;
      this.#packetLossConcealer.pass(part);
      if (end === next?.to) this.#written.shift();
      at = end;
    }
    return true;
  }

  /** Increases the delay at once after late packets, and reduces it if none was late for a while. */
  #adapt(place: number, arrival: number): void {
    const late = this.#read - place;
    const delay = place - arrival;
    if (late > 0) {
      this.#move(Math.max(0, Math.min(late + spare, maxStep, maxDelay - delay)));
      this.#startPeriod();
      return;
    }
    this.#minDelay = Math.min(this.#minDelay, delay);
    if (this.#read < this.#periodEnd) return;
    if (this.#minDelay > longDelay) this.#move(firstDelay - this.#minDelay);
    this.#startPeriod();
  }

  #move(by: number): void {
    if (this.#offset !== undefined) this.#offset += Math.round(by);
  }

  #startPeriod(): void {
    this.#minDelay = Number.POSITIVE_INFINITY;
    this.#periodEnd = this.#read + period;
  }

  #put(place: number, samples: Float32Array): void {
    const from = Math.max(place, this.#read);
    const to = place + samples.length;
    if (to <= from) return;
    while ((this.#written.at(-1)?.from ?? Number.NEGATIVE_INFINITY) >= from) this.#written.pop();
    const last = this.#written.at(-1);
    // After a change of the delay, new audio may overlap existing audio: they are cross-faded.
    const blended = Math.min(to, Math.max(from, last?.to ?? from), from + overlap);
    for (let at = from; at < to; at += 1) {
      const sample = samples[at - place] ?? 0;
      const slot = at % capacity;
      const there = this.#ring[slot] ?? 0;
      this.#ring[slot] = at < blended ? there + ((sample - there) * (at - from)) / (blended - from) : sample;
    }
    if (last && from <= last.to) last.to = to;
    else this.#written.push({ from, to });
  }
}
