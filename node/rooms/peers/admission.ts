// Admission of a peer: whether it may join its room, and the connection with which it waits until then.
import type { Span } from '../../../tracing/spans.ts';
import type { PeerConnection } from '../interfaces.ts';

export type AdmissionOptions = {
  /** True if the room admits every peer. */
  automatic: () => boolean;
  /** The peer was admitted while it waited: it joins with this connection. */
  join: (connection: PeerConnection, span: Span | undefined) => void;
};

/** Lives as long as its peer. An admitted peer stays admitted, also if the room later requires admission. */
export class Admission {
  readonly #options: AdmissionOptions;
  #admitted = false;
  #waiting: { connection: PeerConnection; span: Span | undefined } | undefined;

  constructor(options: AdmissionOptions) {
    this.#options = options;
  }

  /** The connection with which the peer waits. */
  get waiting(): PeerConnection | undefined {
    return this.#waiting?.connection;
  }

  /** True if the peer would join without waiting. */
  get permitted(): boolean {
    return this.#admitted || this.#options.automatic();
  }

  /** A new connection. @returns true if the peer joins with it, false if it waits */
  enter(connection: PeerConnection, span: Span | undefined): boolean {
    this.#admitted = this.permitted;
    if (!this.#admitted) this.#waiting = { connection, span };
    return this.#admitted;
  }

  /** Admits the peer; one that does not wait joins when it connects. Idempotent. */
  admit(): void {
    this.#admitted = true;
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting) this.#options.join(waiting.connection, waiting.span);
  }

  /** Ends the wait without admission. @returns the connection, if the peer waited */
  stop(): PeerConnection | undefined {
    const connection = this.waiting;
    this.#waiting = undefined;
    return connection;
  }
}
