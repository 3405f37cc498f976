// Peerless timeout (`peerlessPurgeTimeout`): ends a room that no peer is connected to or waits for.
import { Timer } from '../common/timer.ts';
import type { RoomChange } from './changes/room-change.ts';

/** Minimum time for a newly added peer to connect before the room ends as peerless, in milliseconds. */
const peerGrace = 60_000;

export type PeerlessTimeoutOptions = {
  /** Milliseconds; null = never. */
  timeout: () => number | null;
  /** True if no peer is connected or waits. */
  peerless: () => boolean;
  expired: () => void;
};

/** The timer runs only while no peer is connected or waits. */
export class PeerlessTimeout {
  readonly #options: PeerlessTimeoutOptions;
  #timer: Timer | undefined;
  /** When the room ends as peerless, in milliseconds since 1970. */
  #endsAt = 0;
  #stopped = false;

  constructor(options: PeerlessTimeoutOptions) {
    this.#options = options;
  }

  update({ kind }: RoomChange): void {
    switch (kind) {
      case 'roomCreated':
      case 'peerWaiting':
      case 'peerWaitingEnded':
      case 'peerConnected':
      case 'peerDisconnected':
      case 'peerDeleted':
      case 'peerCrashed':
        this.restart();
        break;
      case 'peerAdded':
        this.#graceForPeer();
        break;
      default:
    }
  }

  restart(): void {
    this.#timer?.stop();
    const timeout = this.#options.timeout();
    if (this.#stopped || timeout === null || !this.#options.peerless()) return;
    this.#start(timeout);
  }

  /** Final. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  /**
   * A newly added peer gets time to connect. The timer is never moved back: otherwise adding peers repeatedly would keep an empty room
   * alive.
   */
  #graceForPeer(): void {
    const timeout = this.#options.timeout();
    if (this.#stopped || timeout === null || !this.#options.peerless()) return;
    const grace = Math.min(timeout, peerGrace);
    if (this.#endsAt - Date.now() < grace) this.#start(grace);
  }

  #start(delay: number): void {
    this.#timer?.stop();
    this.#endsAt = Date.now() + delay;
    this.#timer = new Timer(delay, this.#options.expired);
  }
}
