// Dynacast: requests of layers (rooms/peers/layer-requests.ts) as qualities of LiveKit's protocol.
import { SubscribedCodec, SubscribedQuality, SubscribedQualityUpdate, VideoQuality } from '@livekit/protocol';
import { Timer } from '../../common/timer.ts';
import { LayerRequests } from '../../rooms/peers/layer-requests.ts';
import { trackSid } from '../ids.ts';
import type { Message } from '../messages.ts';

/** The largest quality that a video needs; undefined: none. */
type Quality = VideoQuality.LOW | VideoQuality.MEDIUM | VideoQuality.HIGH | undefined;
/** `id`: in the media of the room; `codec`: as the client names it; `rids`: of its encodings, the smallest first. */
export type SentCodec = { id: string; codec: string; rids: readonly string[] };
/** How a client sends a video: in one codec, and, if a receiver cannot decode it, in a backup codec. */
export type SentVideo = { trackId: string; codecs: [SentCodec, SentCodec?] };
export type DynacastOptions = {
  /** In milliseconds. */
  pauseDelay: number;
  /** The video of which this is a codec. Undefined if the client does not send it. */
  videoOf: (id: string) => SentVideo | undefined;
  send: (message: Message) => void;
};

const qualities = [VideoQuality.LOW, VideoQuality.MEDIUM, VideoQuality.HIGH] as const;
const top = qualities.length - 1;
/** Requests of a backup codec that the client does not announce: their number, and their interval in milliseconds. */
const maxBackupRequests = 10;
const backupRequestIntervalMs = 1_000;
const qualityOfRid: Readonly<Record<string, Quality>> = { q: VideoQuality.LOW, h: VideoQuality.MEDIUM, f: VideoQuality.HIGH };

/** The quality of a layer. Clients name a single encoding differently, so it has all qualities. */
export function qualityOf(layer: number | undefined, rids: readonly string[]): Quality {
  if (layer === undefined) return undefined;
  return rids.length < 2 ? VideoQuality.HIGH : (qualityOfRid[rids[Math.min(layer, rids.length - 1)] ?? ''] ?? VideoQuality.HIGH);
}

export class Dynacast extends LayerRequests {
  readonly #options: DynacastOptions;
  /** The largest requested layer of each codec of a video. Clients begin with all of the first one, and without the backup. */
  readonly #requested: Map<string, number | undefined>;
  /** By the id of the video. */
  readonly #backupRequests = new Map<string, Timer>();

  constructor(options: DynacastOptions) {
    const requested = new Map<string, number | undefined>();
    const { pauseDelay, videoOf, send } = options;
    super({
      pauseDelayMs: pauseDelay,
      topLayer: () => top,
      request: (id, layer) => {
        requested.set(id, layer);
        const video = videoOf(id);
        if (video) send(updateOf(video, requested));
        return video !== undefined;
      },
    });
    this.#options = options;
    this.#requested = requested;
  }

  /** A receiver cannot decode a video: the client should publish the backup codec. */
  needBackup(trackId: string): void {
    if (!this.#backupRequests.has(trackId)) this.#requestBackup(trackId, maxBackupRequests);
  }

  /** The client publishes the backup codec of a video. */
  backupAnnounced(trackId: string): void {
    this.#backupRequests.get(trackId)?.stop();
  }

  override forget(id: string): void {
    super.forget(id);
    this.#requested.delete(id);
    this.#backupRequests.get(id)?.stop();
    this.#backupRequests.delete(id);
  }

  override close(): void {
    super.close();
    for (const id of [...this.#backupRequests.keys()]) this.forget(id);
  }

  /** Until the client has announced it: clients ignore requests for a video that they are still publishing. */
  #requestBackup(trackId: string, left: number): void {
    const video = this.#options.videoOf(trackId);
    const backup = video?.codecs[1];
    if (video && backup) {
      this.#requested.set(backup.id, top);
      this.#options.send(updateOf(video, this.#requested));
    }
    if (left > 1) this.#backupRequests.set(trackId, new Timer(backupRequestIntervalMs, () => this.#requestBackup(trackId, left - 1)));
    else this.#backupRequests.delete(trackId);
  }
}

function updateOf({ trackId, codecs: [first, backup] }: SentVideo, requested: ReadonlyMap<string, number | undefined>): Message {
  const subscribedCodecs = [subscribed(first, requested.has(first.id) ? requested.get(first.id) : top)];
  if (backup) subscribedCodecs.push(subscribed(backup, requested.get(backup.id)));
  const subscribedQualities = subscribedCodecs[0]?.qualities ?? [];
  const value = new SubscribedQualityUpdate({ trackSid: trackSid(trackId), subscribedQualities, subscribedCodecs });
  return { case: 'subscribedQualityUpdate', value };
}

function subscribed({ codec, rids }: SentCodec, layer: number | undefined): SubscribedCodec {
  const largest = qualityOf(layer, rids);
  const enabled = qualities.map((quality) => new SubscribedQuality({ quality, enabled: largest !== undefined && quality <= largest }));
  return new SubscribedCodec({ codec, qualities: enabled });
}
