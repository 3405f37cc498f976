// The frames of a session that its client has not acknowledged: what a resumed session sends again.

export type OutboxLimits = { unacknowledgedFrames: number; unacknowledgedBytes: number; unacknowledgedDataBytes: number };
type Entry = { frame: Buffer; isData: boolean };

/** So many frames that stand for messages that are gone may be kept for each that is not: they cost nothing but their place. */
const placesPerFrame = 20;

/**
 * Frames are counted from 1. Where a bound is reached, messages of peers go first, the oldest before the others: `placeholder` stands for each, so that
 * the count stays right. Then the oldest frames go: a session that needs them can no longer be resumed.
 */
export class SendQueue {
  readonly #limits: OutboxLimits;
  readonly #placeholder: Buffer;
  #entries: Entry[] = [];
  /** Numbers of the frames that are messages, the oldest first. */
  #data: number[] = [];
  #bytes = 0;
  #dataBytes = 0;
  #places = 0;
  #sent = 0;

  constructor(limits: OutboxLimits, placeholder: Buffer) {
    this.#limits = limits;
    this.#placeholder = placeholder;
  }

  /** How many frames there have been. */
  get sent(): number {
    return this.#sent;
  }

  push(frame: Buffer, isData = false): void {
    this.#sent += 1;
    this.#entries.push({ frame, isData });
    this.#bytes += frame.length;
    if (isData) {
      this.#data.push(this.#sent);
      this.#dataBytes += frame.length;
    }
    const { unacknowledgedFrames, unacknowledgedBytes, unacknowledgedDataBytes } = this.#limits;
    while (this.#dataBytes > unacknowledgedDataBytes) this.#replaceOldestData();
    while (this.#frames > unacknowledgedFrames || this.#bytes > unacknowledgedBytes)
      if (this.#data.length > 0) this.#replaceOldestData();
      else this.#drop(1);
    if (this.#entries.length > unacknowledgedFrames * placesPerFrame) this.#drop(1);
  }

  /** Forgets frames up to this one. A number beyond what was sent is not believed. */
  acknowledge(received: number): void {
    if (received > this.#sent) return;
    this.#drop(Math.max(0, received - this.#before));
  }

  /** The frames after this one; undefined where some of them are gone or the number cannot be right. */
  after(received: number): readonly Buffer[] | undefined {
    if (received > this.#sent || received < this.#before) return undefined;
    return this.#entries.slice(received - this.#before).map(({ frame }) => frame);
  }

  /** Number of the last frame that is forgotten. */
  get #before(): number {
    return this.#sent - this.#entries.length;
  }

  #drop(count: number): void {
    for (const { frame, isData } of this.#entries.splice(0, count)) {
      if (frame === this.#placeholder) {
        this.#places -= 1;
        continue;
      }
      this.#bytes -= frame.length;
      if (!isData) continue;
      this.#dataBytes -= frame.length;
      this.#data.shift();
    }
  }

  /** Frames but for the places of those that are gone. */
  get #frames(): number {
    return this.#entries.length - this.#places;
  }

  #replaceOldestData(): void {
    const number = this.#data.shift();
    const entry = number === undefined ? undefined : this.#entries[number - this.#before - 1];
    if (!entry) return;
    this.#bytes -= entry.frame.length;
    this.#dataBytes -= entry.frame.length;
    entry.frame = this.#placeholder;
    this.#places += 1;
  }
}
