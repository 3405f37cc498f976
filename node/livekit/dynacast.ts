// Dynacast: requests of layers (rooms/peers/layer-requests.ts) as qualities of LiveKit's protocol.
import { SubscribedCodec, SubscribedQuality, SubscribedQualityUpdate, VideoQuality } from '@livekit/protocol';
import { LayerRequests } from '../rooms/peers/layer-requests.ts';
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

const qualities = [VideoQuality.LOW, VideoQuality.MEDIUM, VideoQuality.HIGH] as const;
const qualityOfRid: Readonly<Record<string, Quality>> = { q: VideoQuality.LOW, h: VideoQuality.MEDIUM, f: VideoQuality.HIGH };

/** The quality of a layer. Clients name a single encoding differently, so it has all qualities. */
export function qualityOf(layer: number | undefined, rids: readonly string[]): Quality {
  if (layer === undefined) return undefined;
  return rids.length < 2 ? VideoQuality.HIGH : (qualityOfRid[rids[Math.min(layer, rids.length - 1)] ?? ''] ?? VideoQuality.HIGH);
}

export class Dynacast extends LayerRequests {
  constructor({ pauseDelay, videoOf, send }: DynacastOptions) {
    super({
      pauseDelayMs: pauseDelay,
      topLayer: () => qualities.length - 1,
      request: (trackId, layer) => {
        const video = videoOf(trackId);
        if (video) send({ case: 'subscribedQualityUpdate', value: qualityUpdate(trackSid(trackId), layer, video) });
        return video !== undefined;
      },
    });
  }
}

function qualityUpdate(sid: string, layer: number | undefined, { codec, rids }: SentVideo): SubscribedQualityUpdate {
  const largest = qualityOf(layer, rids);
  const enabled = qualities.map((quality) => new SubscribedQuality({ quality, enabled: largest !== undefined && quality <= largest }));
  return new SubscribedQualityUpdate({
    trackSid: sid,
    subscribedQualities: enabled,
    subscribedCodecs: [new SubscribedCodec({ codec, qualities: enabled })],
  });
}
