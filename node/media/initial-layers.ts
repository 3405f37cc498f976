// The layer at which a receiver of VP8 begins.
import { parseScalabilityMode } from 'mediasoup';
import type { Consumer, ConsumerLayers, Producer } from 'mediasoup/types';

const lowest: ConsumerLayers = { spatialLayer: 0, temporalLayer: 0 };

/**
 * mediasoup drops the key frame of VP8 that comes in one encoding of several temporal layers, where the receiver has no layer yet and aims
 * higher than the lowest: the frame is in layer 0, the current one is -1, and it is moved by SimulcastProducerStreamManager only, not by
 * SvcProducerStreamManager (VP8.cpp, PayloadDescriptorHandler::Process, 3.27.1). Pictures come by chance then, or never.
 * @returns the `preferredLayers` with which such a track is consumed, and a InitialLayerLimiter goes on; undefined: any will do
 */
export function initialLayers({ rtpParameters }: Producer): ConsumerLayers | undefined {
  const [encoding, ...others] = rtpParameters.encodings ?? [];
  if (!encoding || others.length > 0 || !/\/vp8$/i.test(rtpParameters.codecs[0]?.mimeType ?? '')) return undefined;
  return parseScalabilityMode(encoding.scalabilityMode).temporalLayers > 1 ? lowest : undefined;
}

/** Keeps the lowest layer until it arrives, then what is preferred; again whenever none is sent for a while. Lives as long as its consumer. */
export class InitialLayerLimiter {
  readonly #set: (layers: ConsumerLayers) => Promise<void>;
  /** At first all temporal layers. */
  #preferred: ConsumerLayers = { spatialLayer: 0 };
  #low = true;

  constructor(consumer: Consumer, set: (layers: ConsumerLayers) => Promise<void>) {
    this.#set = set;
    consumer.on('layerschange', (layers) => {
      const low = layers === undefined;
      if (low === this.#low) return;
      this.#low = low;
      // What fails now is gone with its track or its worker, which others tell.
      set(low ? lowest : this.#preferred).catch(() => {});
    });
  }

  async prefer(layers: ConsumerLayers): Promise<void> {
    this.#preferred = layers;
    if (!this.#low) await this.#set(layers);
  }
}
