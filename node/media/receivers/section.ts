// Sections of a receiver: a track in a section that the receiver offered, in its numbers (patches 0050 to 0054 of the media worker).
import type { Producer } from 'mediasoup/types';
import type { ReceiverSections } from '../../rooms/interfaces.ts';
import { hasDependencies, hasDependencyNumber } from '../dependency-descriptor.ts';
import { trackNotFoundError } from '../media-error.ts';
import { checkRtpCapabilities } from '../parameters.ts';
import { type ConsumedTrack, type ConsumeOptions, consumeTrack, type Receiver } from './consume-track.ts';
import { withReceiverNumbers } from './receiver-numbers.ts';

/** Like consumeTrack(), in a section, which is released when the consumer closes. Also @throws what take() does */
export async function consumeInSection(
  sections: ReceiverSections,
  trackId: string,
  receiver: Receiver,
  options: ConsumeOptions,
): Promise<ConsumedTrack> {
  const kind = receiver.tracks.get(trackId)?.kind;
  if (!kind) throw trackNotFoundError(trackId);
  const { stream, release } = await sections.take(kind);
  try {
    return await consumeTrack(trackId, receiver, {
      ...options,
      rtpCapabilities: withReceiverNumbers(checkRtpCapabilities(stream.rtpCapabilities), stream),
      mid: stream.mid,
      // Without the extension, browsers cannot decode more.
      layersOf: (track: Producer) => (hasDependencies(track) && !hasDependencyNumber(stream.numbers) ? { spatialLayer: 0 } : undefined),
      onClosed: (consumer) => {
        options.onClosed(consumer);
        release();
      },
    });
  } catch (error) {
    release();
    throw error;
  }
}
