// Dynacast: the qualities of its videos that a client should send, because a receiver needs them. More are requested at once, fewer after
// a delay, so that receivers that change their layout do not stop encoders that they soon need again.
import { SubscribedCodec, SubscribedQuality, SubscribedQualityUpdate, VideoQuality } from '@livekit/protocol';
import { Timer } from '../common/timer.ts';
import { trackSid } from './ids.ts';
import type { Message } from './messages.ts';

/** The largest quality that a video needs; undefined: none. */
type Quality = VideoQuality.LOW | VideoQuality.MEDIUM | VideoQuality.HIGH | undefined;
/** How a client sends a video. `codec`: as the client names it; `rids`: of its encodings, the smallest first. */
export type SentVideo = { codec: string; rids: readonly string[] };
export type DynacastOptions = {
  /** In milliseconds. */
  pauseDelay: number;
  /** Undefined if the client does not send the track. */
  videoOf: (trackId: string) => SentVideo | undefined;
  send: (message: Message) => void;
};

/** `needed`: the largest layer that receivers need; `requested`: the one that was requested of the client. */
type Demanded = { needed: number | undefined; requested: number | undefined; pause: Timer | undefined };

const qualities = [VideoQuality.LOW, VideoQuality.MEDIUM, VideoQuality.HIGH] as const;
const qualityOfRid: Readonly<Record<string, Quality>> = { q: VideoQuality.LOW, h: VideoQuality.MEDIUM, f: VideoQuality.HIGH };
/** A client begins with all layers. */
const allLayers = qualities.length - 1;

/** What follows from the layer that receivers need: the client sends it `now`, stops others `later`, or continues. */
export function dynacastStep(needed: number | undefined, requested: number | undefined): 'now' | 'later' | 'none' {
  if (needed === requested) return 'none';
  return needed === undefined || (requested !== undefined && needed < requested) ? 'later' : 'now';
}

/** The quality of a layer. Clients name a single encoding differently, so it has all qualities. */
export function qualityOf(layer: number | undefined, rids: readonly string[]): Quality {
  if (layer === undefined) return undefined;
  return rids.length < 2 ? VideoQuality.HIGH : (qualityOfRid[rids[Math.min(layer, rids.length - 1)] ?? ''] ?? VideoQuality.HIGH);
}

export class Dynacast {
  readonly #options: DynacastOptions;
  /** By track id. */
  readonly #videos = new Map<string, Demanded>();

  constructor(options: DynacastOptions) {
    this.#options = options;
  }

  /** `layer`: the largest one that receivers need. */
  need(trackId: string, layer: number | undefined): void {
    const video = this.#videos.get(trackId) ?? { needed: allLayers, requested: allLayers, pause: undefined };
    this.#videos.set(trackId, video);
    video.needed = layer === undefined ? undefined : Math.min(layer, allLayers);
    const step = dynacastStep(video.needed, video.requested);
    if (step === 'later') {
      video.pause ??= new Timer(this.#options.pauseDelay, () => this.#request(trackId, video));
      return;
    }
    video.pause?.stop();
    video.pause = undefined;
    if (step === 'now') this.#request(trackId, video);
  }

  /** For a client that may have missed a request. */
  repeat(): void {
    for (const [trackId, { requested }] of this.#videos) this.#send(trackId, requested);
  }

  /** The track ended. */
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
    if (this.#options.videoOf(trackId)) this.#send(trackId, video.requested);
    else this.forget(trackId);
  }

  #send(trackId: string, layer: number | undefined): void {
    const video = this.#options.videoOf(trackId);
    if (!video) return;
    const largest = qualityOf(layer, video.rids);
    const enabled = qualities.map((quality) => new SubscribedQuality({ quality, enabled: largest !== undefined && quality <= largest }));
    const value = new SubscribedQualityUpdate({
      trackSid: trackSid(trackId),
      subscribedQualities: enabled,
      subscribedCodecs: [new SubscribedCodec({ codec: video.codec, qualities: enabled })],
    });
    this.#options.send({ case: 'subscribedQualityUpdate', value });
  }
}
