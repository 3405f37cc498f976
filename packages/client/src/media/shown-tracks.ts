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

type ReceivedOver = { session: MediaSession; origin: SubscribedTrack; consumer: types.Consumer };

export class ShownTracks {
  readonly #options: ShownTracksOptions;
  readonly #shown = new Map<string, ReceivedOver>();
  /** Received over another session too. */
  readonly #waiting = new Map<string, ReceivedOver>();

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
    if (shown && shown.session !== session) {
      this.#waiting.set(origin.trackId, received);
      return;
    }
    this.#shown.set(origin.trackId, received);
    this.#options.subscribed(origin, consumer);
  }

  unsubscribed(session: MediaSession, trackId: string): void {
    if (this.#waiting.get(trackId)?.session === session) this.#waiting.delete(trackId);
    const shown = this.#shown.get(trackId);
    if (shown?.session !== session) return;
    this.#shown.delete(trackId);
    const other = this.#waiting.get(trackId);
    if (other) this.#show(other, shown);
    else this.#options.unsubscribed(trackId);
  }

  /** The track ends over each session. */
  ending(trackId: string): void {
    this.#waiting.delete(trackId);
  }

  /** Shows the tracks over this session that flow there, or all that it receives. */
  async replace(session: MediaSession, which: 'flowing' | 'all'): Promise<void> {
    await Promise.all(
      [...this.#waiting].map(async ([trackId, waiting]) => {
        if (waiting.session !== session || (which === 'flowing' && !(await flows(waiting)))) return;
        const shown = this.#shown.get(trackId);
        if (!shown || this.#waiting.get(trackId) !== waiting) return;
        this.#show(waiting, shown);
        // It is shown again if the move fails.
        this.#waiting.set(trackId, shown);
      }),
    );
  }

  #show(waiting: ReceivedOver, previous: ReceivedOver): void {
    const { trackId } = waiting.origin;
    this.#waiting.delete(trackId);
    this.#shown.set(trackId, waiting);
    this.#options.replaced(waiting.origin, waiting.consumer, previous.consumer.track);
  }
}

/** True if frames were decoded, or audio was played; also in a page that is hidden. */
async function flows({ origin, consumer }: ReceivedOver): Promise<boolean> {
  if (origin.paused) return true;
  if (consumer.closed || consumer.track.muted) return false;
  const stats = [...(await consumer.getStats()).values()] as RTCInboundRtpStreamStats[];
  return stats.some(({ type, kind, framesDecoded = 0, jitterBufferEmittedCount = 0 }) => {
    return type === 'inbound-rtp' && (kind === 'video' ? framesDecoded : jitterBufferEmittedCount) > 0;
  });
}
