// The frames of a session that its client has not acknowledged: what a resumed session sends again.

export type OutboxLimits = { unacknowledgedFrames: number; unacknowledgedBytes: number };

/** Frames are counted from 1. The oldest go where a bound is reached: a session that needs them can no longer be resumed. */
export class Outbox {
  readonly #limits: OutboxLimits;
  #frames: string[] = [];
  #bytes = 0;
  #sent = 0;

  constructor(limits: OutboxLimits) {
    this.#limits = limits;
  }

  /** How many frames there have been. */
  get sent(): number {
    return this.#sent;
  }

  push(frame: string): void {
    this.#sent += 1;
    this.#frames.push(frame);
    this.#bytes += Buffer.byteLength(frame);
    while (this.#frames.length > this.#limits.unacknowledgedFrames || this.#bytes > this.#limits.unacknowledgedBytes) this.#drop(1);
  }

  /** Forgets frames up to this one. A number beyond what was sent is not believed. */
  acknowledge(received: number): void {
    if (received > this.#sent) return;
    const first = this.#sent - this.#frames.length;
    this.#drop(Math.max(0, received - first));
  }

  /** The frames after this one; undefined where some of them are gone or the number cannot be right. */
  after(received: number): readonly string[] | undefined {
    const first = this.#sent - this.#frames.length;
    if (received > this.#sent || received < first) return undefined;
    return this.#frames.slice(received - first);
  }

  #drop(count: number): void {
    for (const frame of this.#frames.splice(0, count)) this.#bytes -= Buffer.byteLength(frame);
  }
}
