// Initial layers of VP8 receivers: works around a mediasoup fault that drops the first key frame.
import { parseScalabilityMode } from 'mediasoup';
import type { Consumer, ConsumerLayers, Producer } from 'mediasoup/types';

const lowest: ConsumerLayers = { spatialLayer: 0, temporalLayer: 0 };

/**
 * mediasoup drops the VP8 key frame of a single encoding with several temporal layers if the receiver has no layer yet and prefers more
 * than the lowest: the frame is in layer 0, the current layer is -1, and only SimulcastProducerStreamManager updates it,
 * SvcProducerStreamManager does not (VP8.cpp, PayloadDescriptorHandler::Process, 3.27.1). Frames then arrive by chance or never.
 * @returns the `preferredLayers` for consume(), to be followed by an InitialLayerLimiter; undefined: no limit is needed
 */
export function initialLayers({ rtpParameters }: Producer): ConsumerLayers | undefined {
  const [encoding, ...others] = rtpParameters.encodings ?? [];
  if (!encoding || others.length > 0 || !/\/vp8$/i.test(rtpParameters.codecs[0]?.mimeType ?? '')) return undefined;
  return parseScalabilityMode(encoding.scalabilityMode).temporalLayers > 1 ? lowest : undefined;
}

/** Prefers the lowest layer until it arrives, then the requested layers; again after each interruption. Lives as long as its consumer. */
export class InitialLayerLimiter {
  readonly #set: (layers: ConsumerLayers) => Promise<void>;
  /** Initially all temporal layers. */
  #preferred: ConsumerLayers = { spatialLayer: 0 };
  #low = true;

  constructor(consumer: Consumer, set: (layers: ConsumerLayers) => Promise<void>) {
    this.#set = set;
    consumer.on('layerschange', (layers) => {
      const low = layers === undefined;
      if (low === this.#low) return;
      this.#low = low;
      // Fails only if the track or the worker has ended, which is reported elsewhere.
      set(low ? lowest : this.#preferred).catch(() => {});
    });
  }

  async prefer(layers: ConsumerLayers): Promise<void> {
    this.#preferred = layers;
    if (!this.#low) await this.#set(layers);
  }
}
