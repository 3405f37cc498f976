// Following: tracks whose publisher moves, and which a peer receives a second time before the first one ends.
import type { Track } from '../../track.ts';

export type FollowingOptions = {
  /** True if the client can receive a track twice. */
  supported: () => boolean;
  /** Receives the successor of a track too. */
  receive: (track: Track) => Promise<void>;
  /** The peer needs the predecessor no longer. */
  release: (trackId: string) => void;
};

export class Following {
  readonly #options: FollowingOptions;
  readonly #awaited = new Set<string>();

  constructor(options: FollowingOptions) {
    this.#options = options;
  }

  /** A track that the peer receives has a successor. */
  async begin(track: Track): Promise<void> {
    if (!this.#options.supported()) return;
    this.#awaited.add(track.id);
    await this.#options.receive(track).catch((error: unknown) => {
      this.#awaited.delete(track.id);
      throw error;
    });
  }

  /** True while the successor of a track does not flow yet. */
  awaits(trackId: string): boolean {
    return this.#awaited.has(trackId);
  }

  /** The successors flow. Others are ignored. */
  flowing(trackIds: Iterable<string>): void {
    for (const trackId of trackIds) if (this.#awaited.delete(trackId)) this.#options.release(trackId);
  }

  /** The peer receives it no longer. */
  forget(trackId: string): void {
    this.#awaited.delete(trackId);
  }
}
