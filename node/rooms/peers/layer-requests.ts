// Layer requests: the layers of its videos that a publisher should send, because a receiver needs them. More are requested at once, fewer
// after a delay, so that receivers that change their layout do not stop encoders that they soon need again.
import { Timer } from '../../common/timer.ts';

/** How long no receiver must need a layer before its publisher may stop it, in milliseconds. */
export const layerPauseDelayMs = 5_000;

export type LayerRequestsOptions = {
  pauseDelayMs: number;
  /** The largest layer of a track; publishers begin with all. */
  topLayer: (trackId: string) => number;
  /** `layer`: the largest one to send; undefined: none. @returns false if the track has ended */
  request: (trackId: string, layer: number | undefined) => boolean;
};

/** `needed`: the largest layer that receivers need; `requested`: the one that was requested of the publisher. */
type Demanded = { needed: number | undefined; requested: number | undefined; pause: Timer | undefined };

/** What follows from the layer that receivers need: the publisher sends it `now`, stops others `later`, or continues. */
export function layerStep(needed: number | undefined, requested: number | undefined): 'now' | 'later' | 'none' {
  if (needed === requested) return 'none';
  return needed === undefined || (requested !== undefined && needed < requested) ? 'later' : 'now';
}

export class LayerRequests {
  readonly #options: LayerRequestsOptions;
  /** By track id. */
  readonly #videos = new Map<string, Demanded>();

  constructor(options: LayerRequestsOptions) {
    this.#options = options;
  }

  /** `layer`: the largest one that receivers need. */
  need(trackId: string, layer: number | undefined): void {
    const top = this.#options.topLayer(trackId);
    const video = this.#videos.get(trackId) ?? { needed: top, requested: top, pause: undefined };
    this.#videos.set(trackId, video);
    video.needed = layer === undefined ? undefined : Math.min(layer, top);
    // The first report may come before the track is known.
    if (video.requested !== undefined) video.requested = Math.min(video.requested, top);
    const step = layerStep(video.needed, video.requested);
    if (step === 'later') {
      video.pause ??= new Timer(this.#options.pauseDelayMs, () => this.#request(trackId, video));
      return;
    }
    video.pause?.stop();
    video.pause = undefined;
    if (step === 'now') this.#request(trackId, video);
  }

  /** For a publisher that may have missed a request. */
  repeat(): void {
    for (const [trackId, { requested }] of this.#videos) this.#options.request(trackId, requested);
  }

  /** The track ended, or is published again. */
  forget(trackId: string): void {
    this.#videos.get(trackId)?.pause?.stop();
    this.#videos.delete(trackId);
  }

  close(): void {
    for (const trackId of [...this.#videos.keys()]) this.forget(trackId);
  }

  #request(trackId: string, video: Demanded): void {
    video.pause = undefined;
    video.requested = video.needed;
    // Receivers of a track that ended leave after it.
    if (!this.#options.request(trackId, video.requested)) this.forget(trackId);
  }
}
