// Disconnect timeout of a peer (`peerDisconnectedTimeout`): its removal, and the times of its socket that follow from it.
import { Timer } from '../../common/timer.ts';

export type DisconnectTimeoutOptions = {
  /** Milliseconds; null = never. */
  timeout: () => number | null;
  /** True while the peer is disconnected, but not removed. */
  waiting: () => boolean;
  expired: () => void;
};

export class DisconnectTimeout {
  readonly #options: DisconnectTimeoutOptions;
  #timer: Timer | undefined;

  constructor(options: DisconnectTimeoutOptions) {
    this.#options = options;
  }

  /**
   * How long to wait for a lost socket to resume, in milliseconds: at most the disconnect timeout of the peer. `since`: time it was silent
   * before.
   */
  resumeWindow(max: number, since = 0): number {
    return Math.max(0, Math.min(max, this.#timeout - since));
  }

  /** Idle timeout of its socket, in milliseconds: at most half the disconnect timeout, so that the other half remains for reconnecting. */
  pongTimeout(max: number): number {
    return Math.min(max, this.#timeout / 2);
  }

  /** (Re)starts the time until the removal. `since`: milliseconds since its socket was lost. */
  restart(since = 0): void {
    this.stop();
    if (!this.#options.waiting() || this.#timeout === Number.POSITIVE_INFINITY) return;
    this.#timer = new Timer(Math.max(0, this.#timeout - since), this.#options.expired);
  }

  stop(): void {
    this.#timer?.stop();
  }

  get #timeout(): number {
    return this.#options.timeout() ?? Number.POSITIVE_INFINITY;
  }
}
