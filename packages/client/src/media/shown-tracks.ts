// Shown tracks: received tracks as the application sees them, over one media session, or over two while the peer moves.
import type { types } from 'mediasoup-client';
import type { SubscribedTrack } from '../generated/protocol.ts';
import type { MediaSession } from './media-session.ts';

export type ShownTracksOptions = {
  subscribed: (origin: SubscribedTrack, consumer: types.Consumer) => void;
  unsubscribed: (trackId: string) => void;
  /** The track flows over another session. `previous`: as the application has it. */
  replaced: (origin: SubscribedTrack, consumer: types.Consumer, previous: MediaStreamTrack) => void;
};

type Received = { session: MediaSession; origin: SubscribedTrack; consumer: types.Consumer };

/** Time in milliseconds until tracks that replace others are shown although they do not flow, and interval of the checks. */
export const flowTimeoutMs = 3_000;
export const flowIntervalMs = 100;

export class ShownTracks {
  readonly #options: ShownTracksOptions;
  readonly #shown = new Map<string, Received>();
  /** Received in addition: over a second session, or because their publishers move. */
  readonly #waiting = new Set<Received>();

  constructor(options: ShownTracksOptions) {
    this.#options = options;
  }

  consumer(trackId: string): types.Consumer | undefined {
    return this.#shown.get(trackId)?.consumer;
  }

  /** Number of tracks that are shown over a session. */
  countOver(session: MediaSession): number {
    return [...this.#shown.values()].filter((shown) => shown.session === session).length;
  }

  subscribed(session: MediaSession, origin: SubscribedTrack, consumer: types.Consumer): void {
    const received = { session, origin, consumer };
    const shown = this.#shown.get(origin.trackId);
    if (shown && (shown.session !== session || origin.replaces)) {
      this.#waiting.add(received);
      return;
    }
    this.#shown.set(origin.trackId, received);
    this.#options.subscribed(origin, consumer);
  }

  unsubscribed(trackId: string, consumer: types.Consumer): void {
    for (const waiting of this.#waiting) if (waiting.consumer === consumer) this.#waiting.delete(waiting);
    if (this.#shown.get(trackId)?.consumer !== consumer) return;
    const [other] = [...this.#waiting].filter((waiting) => waiting.origin.trackId === trackId && isNewest(waiting));
    if (other) {
      this.#show(other);
      return;
    }
    this.#shown.delete(trackId);
    this.#options.unsubscribed(trackId);
  }

  /** The track ends over each session. */
  ending(trackId: string): void {
    for (const waiting of this.#waiting) if (waiting.origin.trackId === trackId) this.#waiting.delete(waiting);
  }

  /** Shows the tracks over this session that flow there, or all that it receives. */
  async replace(session: MediaSession, which: 'flowing' | 'all'): Promise<void> {
    await this.#replace((waiting, shown) => waiting.session === session && shown.session !== session, which);
  }

  /** The publishers of these tracks move: shows their successors when they flow. */
  async follow(session: MediaSession, trackIds: readonly string[]): Promise<void> {
    const left = new Set(trackIds);
    const deadline = performance.now() + flowTimeoutMs;
    const follows = (waiting: Received, shown: Received) =>
      waiting.session === session && shown.session === session && left.has(waiting.origin.trackId);
    while (left.size > 0 && !session.closed) {
      const inTime = performance.now() < deadline;
      await this.#replace(follows, inTime ? 'flowing' : 'all');
      const done = [...left].filter((trackId) => {
        const shown = this.#shown.get(trackId);
        return !inTime || !shown || (shown.session === session && isLatest(shown));
      });
      for (const trackId of done) left.delete(trackId);
      if (done.length > 0) session.flowing(done);
      if (left.size > 0) await new Promise((resolve) => setTimeout(resolve, flowIntervalMs));
    }
  }

  async #replace(suits: (waiting: Received, shown: Received) => boolean, which: 'flowing' | 'all'): Promise<void> {
    const isNeeded = (waiting: Received) => {
      const shown = this.#shown.get(waiting.origin.trackId);
      return this.#waiting.has(waiting) && isNewest(waiting) && shown !== undefined && suits(waiting, shown);
    };
    await Promise.all(
      [...this.#waiting].filter(isNeeded).map(async (waiting) => {
        if (which === 'flowing' && !(await flows(waiting))) return;
        // It may have ended meanwhile.
        if (isNeeded(waiting)) this.#show(waiting);
      }),
    );
  }

  #show(waiting: Received): void {
    const { trackId } = waiting.origin;
    const previous = this.#shown.get(trackId);
    this.#waiting.delete(waiting);
    this.#shown.set(trackId, waiting);
    if (!previous) return;
    // It is shown again if the second session ends.
    if (previous.session !== waiting.session && !previous.consumer.closed) this.#waiting.add(previous);
    this.#options.replaced(waiting.origin, waiting.consumer, previous.consumer.track);
  }
}

/** False if its session receives a successor, or will. */
function isLatest({ session, origin, consumer }: Received): boolean {
  return session.consumer(origin.trackId, 'latest') === consumer;
}

/** False if its session receives a successor. */
function isNewest({ session, origin, consumer }: Received): boolean {
  return session.consumer(origin.trackId, 'existing') === consumer;
}

/** True if frames were decoded, or audio was played; also in a page that is hidden. */
async function flows({ origin, consumer }: Received): Promise<boolean> {
  if (origin.paused) return true;
  if (consumer.closed || consumer.track.muted) return false;
  const stats = [...(await consumer.getStats()).values()] as RTCInboundRtpStreamStats[];
  return stats.some(({ type, kind, framesDecoded = 0, jitterBufferEmittedCount = 0 }) => {
    return type === 'inbound-rtp' && (kind === 'video' ? framesDecoded : jitterBufferEmittedCount) > 0;
  });
}
