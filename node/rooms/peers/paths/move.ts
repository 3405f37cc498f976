// Move: a second media path of a peer, at another media worker, which its client changes to without a gap.
import { ServiceError } from '../../../../api/errors.ts';
import { settleWithin, Timer, waitWhile } from '../../../common/timer.ts';
import { newId } from '../../ids.ts';
import type { PeerMedia, TransportUse, WireObject } from '../../interfaces.ts';
import type { Subscriptions } from '../subscriptions.ts';

/** Time in milliseconds for each step of the client, for all of them, and then for receivers of its tracks. */
const stepTimeoutMs = 15_000;
const moveTimeoutMs = 25_000;
const followTimeoutMs = 15_000;
/** The same for data channels, whose messages must all arrive. */
const dataTimeoutMs = 10_000;

export type MoveOptions = {
  media: PeerMedia;
  subscriptions: Subscriptions;
  /** The second path is the only one from now on. */
  promote: () => void;
};

/** Ends by complete() or cancel(). */
export class Move {
  /** Names the second path for the client. */
  readonly path = newId();
  readonly media: PeerMedia;
  readonly subscriptions: Subscriptions;
  readonly promote: () => void;
  readonly #transports = new Set<unknown>();
  readonly #end = Promise.withResolvers<void>();
  readonly #expired: () => void;
  readonly #timeout: Timer;
  #stepTimeout: Timer;
  #ended = false;

  /** `expired`: the client did not use the second path in time. */
  constructor({ media, subscriptions, promote }: MoveOptions, expired: () => void) {
    this.media = media;
    this.subscriptions = subscriptions;
    this.promote = promote;
    this.#end.promise.catch(() => {});
    this.#expired = expired;
    this.#timeout = new Timer(moveTimeoutMs, expired);
    this.#stepTimeout = new Timer(stepTimeoutMs, expired);
  }

  /** Resolves when the former path is closed. @throws ServiceError `conflict` if it was cancelled */
  get completed(): Promise<void> {
    return this.#end.promise;
  }

  /** True if the second path has this transport. */
  has(transportId: string): boolean {
    return this.#transports.has(transportId);
  }

  /** The client made a step, and gets time for another one: many clients that move together are slower. */
  progressed(): void {
    this.#stepTimeout.stop();
    this.#stepTimeout = new Timer(stepTimeoutMs, this.#expired);
  }

  async createTransport(use: TransportUse, options: { sctp: boolean }): Promise<WireObject> {
    const transport = await this.media.createTransport(use, options);
    this.#transports.add(transport.id);
    return transport;
  }

  /** The client uses the second path. Resolves when receivers do too, or after a while. */
  async followed(awaited: () => boolean, data: { change: () => Promise<unknown>; awaited: () => boolean }): Promise<void> {
    this.#stop();
    const deadline = performance.now() + dataTimeoutMs;
    await Promise.all([
      waitWhile(followTimeoutMs, () => !this.#ended && awaited()),
      settleWithin(dataTimeoutMs, [Promise.race([data.change(), this.#end.promise])]),
    ]);
    await waitWhile(deadline - performance.now(), () => !this.#ended && data.awaited());
  }

  complete(): void {
    this.#ended = true;
    this.#end.resolve();
  }

  /** The first path stays. */
  cancel(reason: string): void {
    this.#ended = true;
    this.#stop();
    this.subscriptions.close();
    this.media.close();
    this.#end.reject(notMovedError(reason));
  }

  #stop(): void {
    this.#timeout.stop();
    this.#stepTimeout.stop();
  }
}

export function notMovedError(reason: string): ServiceError {
  return new ServiceError('conflict', `The peer was not moved: ${reason}`);
}
