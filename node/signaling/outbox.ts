// Send queue: unacknowledged frames of a session, which are sent again after a resume.

export type OutboxLimits = { unacknowledgedFrames: number; unacknowledgedBytes: number; unacknowledgedDataBytes: number };
type Entry = { frame: Buffer; isData: boolean };

/** Maximum placeholders of dropped messages per kept frame. They cost almost no memory. */
const placesPerFrame = 20;

/**
 * Frames are counted from 1. If a limit is reached, the oldest messages of peers are dropped first, and `placeholder` replaces each, so
 * that the numbering stays correct. Then the oldest frames are dropped, and a session that needs them cannot be resumed.
 */
export class SendQueue {
  readonly #limits: OutboxLimits;
  readonly #placeholder: Buffer;
  #entries: Entry[] = [];
  /** Numbers of the frames that are messages of peers, oldest first. */
  #data: number[] = [];
  #bytes = 0;
  #dataBytes = 0;
  #places = 0;
  #sent = 0;

  constructor(limits: OutboxLimits, placeholder: Buffer) {
    this.#limits = limits;
    this.#placeholder = placeholder;
  }

  /** Number of frames so far. */
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

  /** Deletes frames up to this number. A number beyond the sent frames is ignored. */
  acknowledge(received: number): void {
    if (received > this.#sent) return;
    this.#drop(Math.max(0, received - this.#before));
  }

  /** The frames after this number; undefined if some were dropped or the number is invalid. */
  after(received: number): readonly Buffer[] | undefined {
    if (received > this.#sent || received < this.#before) return undefined;
    return this.#entries.slice(received - this.#before).map(({ frame }) => frame);
  }

  /** Number of the last deleted frame. */
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

  /** Number of frames without placeholders. */
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
