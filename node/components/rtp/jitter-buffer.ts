// Jitter buffer: orders RTP packets of one source, and skips packets that are too late.
import type { RtpPacket } from './rtp-reader.ts';
import { SequenceUnwrapper } from './sequence-unwrapper.ts';

/** `timestamp` does not wrap. `lost`: number of packets missing right before. `arrival`: as passed to push(). */
export type OrderedPacket = { timestamp: number; marker: boolean; payload: Buffer; lost: number; arrival: number };

export type JitterBufferOptions = {
  /** Milliseconds to wait for a missing packet. */
  wait: number;
  out: (packet: OrderedPacket) => void;
};

/** Maximum of buffered packets; beyond it, missing packets count as lost. */
const maxHeld = 1024;
/** A larger jump of sequence numbers is a restarted stream, not a loss. */
const maxJump = 10_000;

export class JitterBuffer {
  readonly #options: JitterBufferOptions;
  readonly #held = new Map<number, Omit<OrderedPacket, 'lost'>>();
  #sequences = new SequenceUnwrapper(16);
  readonly #timestamps = new SequenceUnwrapper(32);
  #next: number | undefined;
  /** Lowest buffered sequence number, if known. Searching it for each packet would cost too much in a full buffer. */
  #first = Number.POSITIVE_INFINITY;
  #lost = 0;

  constructor(options: JitterBufferOptions) {
    this.#options = options;
  }

  /** Number of lost packets. */
  get lost(): number {
    return this.#lost;
  }

  /** Unwrapped timestamp, comparable to those of push(). */
  unwrapped(timestamp: number): number {
    return this.#timestamps.near(timestamp);
  }

  /** `now`: milliseconds of any monotonic clock. */
  push(packet: RtpPacket, now: number): void {
    let sequence = this.#sequences.near(packet.sequence);
    this.#next ??= sequence;
    if (Math.abs(sequence - this.#next) > maxJump) {
      this.#giveUpHeld();
      this.#sequences = new SequenceUnwrapper(16);
      sequence = packet.sequence;
      // Reported as a loss.
      this.#next = sequence - 1;
    }
    // Late or duplicate: packets that counted as lost stay lost.
    if (sequence < this.#next || this.#held.has(sequence)) return;
    this.#sequences.next(packet.sequence);
    const { marker, payload } = packet;
    this.#held.set(sequence, { timestamp: this.#timestamps.next(packet.timestamp), marker, payload, arrival: now });
    this.#first = Math.min(this.#first, sequence);
    this.drain(now);
  }

  /** Outputs due packets; call periodically, also without new packets. */
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

  /** Outputs all packets. */
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
