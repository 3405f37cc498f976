// Puts RTP packets of one source in order; what does not come in time is given up.
import type { RtpPacket } from './rtp-reader.ts';
import { SequenceUnwrapper } from './sequence-unwrapper.ts';

/** `timestamp` goes on where that of RTP wraps around. `lost`: packets missing right before. `arrival`: as it was given to push(). */
export type OrderedPacket = { timestamp: number; marker: boolean; payload: Buffer; lost: number; arrival: number };

export type JitterBufferOptions = {
  /** Milliseconds that a missing packet is waited for. */
  wait: number;
  out: (packet: OrderedPacket) => void;
};

/** Packets that are held at most: a source that sends so far ahead has lost what is missing. */
const maxHeld = 1024;
/** A jump this far is another stream of packets, not a loss. */
const maxJump = 10_000;

export class JitterBuffer {
  readonly #options: JitterBufferOptions;
  readonly #held = new Map<number, Omit<OrderedPacket, 'lost'>>();
  #sequences = new SequenceUnwrapper(16);
  readonly #timestamps = new SequenceUnwrapper(32);
  #next: number | undefined;
  /** The lowest number that is held, as far as it is known: to look for it with each packet would cost the more, the more a source sends. */
  #first = Number.POSITIVE_INFINITY;
  #lost = 0;

  constructor(options: JitterBufferOptions) {
    this.#options = options;
  }

  /** Packets that never came. */
  get lost(): number {
    return this.#lost;
  }

  /** Where a timestamp of the wire is among those of push(). */
  unwrapped(timestamp: number): number {
    return this.#timestamps.near(timestamp);
  }

  /** `now`: milliseconds of any clock that does not go back. */
  push(packet: RtpPacket, now: number): void {
    let sequence = this.#sequences.near(packet.sequence);
    this.#next ??= sequence;
    if (Math.abs(sequence - this.#next) > maxJump) {
      this.#giveUpHeld();
      this.#sequences = new SequenceUnwrapper(16);
      sequence = packet.sequence;
      // So that it is told as a loss.
      this.#next = sequence - 1;
    }
    // Late, or there already: what was counted as lost stays lost.
    if (sequence < this.#next || this.#held.has(sequence)) return;
    this.#sequences.next(packet.sequence);
    const { marker, payload } = packet;
    this.#held.set(sequence, { timestamp: this.#timestamps.next(packet.timestamp), marker, payload, arrival: now });
    this.#first = Math.min(this.#first, sequence);
    this.drain(now);
  }

  /** Lets go what is due; to be called from time to time, also when nothing comes. */
  drain(now: number): void {
    if (this.#next === undefined) return;
    while (this.#held.size > 0) {
      const packet = this.#take(this.#next);
      if (packet) {
        this.#options.out({ ...packet, lost: 0 });
        continue;
      }
      if (!this.#held.has(this.#first)) this.#first = Math.min(...this.#held.keys());
      const first = this.#first;
      const waited = now - (this.#held.get(first)?.arrival ?? now);
      if (waited < this.#options.wait && this.#held.size < maxHeld) return;
      const lost = first - this.#next;
      this.#lost += lost;
      const after = this.#take(first);
      if (after) this.#options.out({ ...after, lost });
    }
  }

  /** Lets go everything. */
  flush(): void {
    this.#giveUpHeld();
  }

  #take(sequence: number): Omit<OrderedPacket, 'lost'> | undefined {
    const packet = this.#held.get(sequence);
    if (!packet) return undefined;
    this.#held.delete(sequence);
    this.#next = sequence + 1;
    return packet;
  }

  #giveUpHeld(): void {
    this.drain(Number.POSITIVE_INFINITY);
  }
}
