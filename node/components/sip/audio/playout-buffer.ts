// One voice's sound from when it came to when it is heard: just late enough that what comes late is there in time.

import { frameSamples, sampleRate, samplesPerMillisecond } from './audio-format.ts';
import { PacketLossConcealer } from './packet-loss-concealment.ts';

/** Samples from a packet's arrival to its sound: a block that is read at once, and what the network jitters. */
const firstDelay = 50 * samplesPerMillisecond;
/** Beyond this all packets came too early for a while: the delay is brought back to the first one. */
const longDelay = 60 * samplesPerMillisecond;
/** For what was late: from then on so much more than it was late by. */
const spare = 10 * samplesPerMillisecond;
/** One step later at most, and the latest of all. */
const maxStep = 40 * samplesPerMillisecond;
const maxDelay = 250 * samplesPerMillisecond;
/** In which the least delay is looked for: two seconds. */
const period = 2 * sampleRate;
/** What it holds at most, ahead of what is read: a second. Further ahead or behind, a source counts anew. */
const capacity = sampleRate;
/** Samples in which overlapping sounds go over into each other. */
const overlap = 240;

/** All numbers count samples at 48 kHz; places are on the line that read() reads. */
export class PlayoutBuffer {
  readonly #ring = new Float32Array(capacity);
  readonly #packetLossConcealer = new PacketLossConcealer();
  /** What is written and not read, in order. */
  #written: { from: number; to: number }[] = [];
  #read = 0;
  /** Place of timestamp 0. */
  #offset: number | undefined;
  #minDelay = Number.POSITIVE_INFINITY;
  #periodEnd = 0;

  /** Samples of the next block that are there already. */
  isComplete(from: number): boolean {
    const last = this.#written.at(-1);
    return last !== undefined && last.to >= from + frameSamples;
  }

  /** `timestamp` of the first sample goes on without end; `arrival`: its place if it were heard as it came. */
  write(timestamp: number, samples: Float32Array, arrival: number): void {
    let place = timestamp + (this.#offset ?? Number.NaN);
    if (!(place > this.#read - capacity && place + samples.length <= this.#read + capacity)) {
      place = arrival + firstDelay;
      this.#offset = place - timestamp;
    }
    this.#adapt(place, arrival);
    this.#put(timestamp + (this.#offset ?? 0), samples);
  }

  /** Fills the block with what is heard from `from` on, which goes up from call to call. @returns false where that is nothing */
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

  /** Later at once for what came too late, earlier once nothing needed the delay for a while. */
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
    // Behind a change of the delay, sound can be there already: it goes over into the new one.
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
