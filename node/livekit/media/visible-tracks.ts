// Visible tracks: which received tracks a LiveKit client shows. The others are paused, also from their beginning.
import type { RoomSession } from '../../rooms/peers/room-session.ts';

export class VisibleTracks {
  readonly #room: RoomSession;
  /** True if the client has a section for the track. */
  readonly #isNegotiated: (trackId: string) => boolean;
  readonly #hidden = new Set<string>();

  constructor(room: RoomSession, isNegotiated: (trackId: string) => boolean) {
    this.#room = room;
    this.#isNegotiated = isNegotiated;
  }

  has(trackId: string): boolean {
    return !this.#hidden.has(trackId);
  }

  /** @throws ServiceError `track_not_found` */
  async set(trackId: string, visible: boolean): Promise<void> {
    if (visible === this.has(trackId)) return;
    const { subscriptions, media } = this.#room;
    if (visible) this.#hidden.delete(trackId);
    else this.#hidden.add(trackId);
    // Otherwise start() follows.
    if (!this.#isNegotiated(trackId)) return;
    if (visible) await subscriptions.ready(trackId);
    await media.setSubscriptionPaused(trackId, !visible);
  }

  /** The client has sections for these tracks now. */
  async start(trackIds: readonly string[]): Promise<void> {
    const { subscriptions, media } = this.#room;
    await subscriptions.allReady(trackIds.filter((trackId) => this.has(trackId)));
    // Their publishers need not send them. Fails only if the track or the worker has ended, which is reported elsewhere.
    const hidden = trackIds.filter((trackId) => !this.has(trackId));
    await Promise.all(hidden.map((trackId) => media.setSubscriptionPaused(trackId, true).catch(() => {})));
  }

  /** The client no longer receives the track. */
  forget(trackId: string): void {
    this.#hidden.delete(trackId);
  }
}
