// Move: a second media path of a peer, at another media worker, which its client changes to without a gap.
import { ServiceError } from '../../../api/errors.ts';
import { Timer } from '../../common/timer.ts';
import { newId } from '../ids.ts';
import type { Direction, PeerMedia, WireObject } from '../interfaces.ts';
import type { Subscriptions } from './subscriptions.ts';

/** Time for the client to change to the second path, in milliseconds. */
const moveTimeoutMs = 15_000;

export type MoveOptions = {
  media: PeerMedia;
  subscriptions: Subscriptions;
  /** The second path is the only one from now on. */
  promote: () => void;
  /** It ended before the client used the second path. */
  cancelled: () => void;
};

/** Ends by complete() or cancel(). */
export class Move {
  /** Names the second path for the client. */
  readonly path = newId();
  readonly media: PeerMedia;
  readonly subscriptions: Subscriptions;
  readonly promote: () => void;
  readonly #cancelled: () => void;
  readonly #transports = new Set<unknown>();
  readonly #end = Promise.withResolvers<void>();
  readonly #timeout: Timer;

  constructor({ media, subscriptions, promote, cancelled }: MoveOptions) {
    this.media = media;
    this.subscriptions = subscriptions;
    this.promote = promote;
    this.#cancelled = cancelled;
    this.#end.promise.catch(() => {});
    this.#timeout = new Timer(moveTimeoutMs, () => this.cancel('Its client did not use the new path in time'));
  }

  /** Resolves when the client uses the second path only. @throws ServiceError `conflict` if it was cancelled */
  get completed(): Promise<void> {
    return this.#end.promise;
  }

  /** True if the second path has this transport. */
  has(transportId: string): boolean {
    return this.#transports.has(transportId);
  }

  async createTransport(direction: Direction, options: { sctp: boolean }): Promise<WireObject> {
    const transport = await this.media.createTransport(direction, options);
    this.#transports.add(transport.id);
    return transport;
  }

  complete(): void {
    this.#timeout.stop();
    this.#end.resolve();
  }

  /** The first path stays. */
  cancel(reason: string): void {
    this.#timeout.stop();
    this.subscriptions.close();
    this.media.close();
    this.#cancelled();
    this.#end.reject(new ServiceError('conflict', `The peer was not moved: ${reason}`));
  }
}
