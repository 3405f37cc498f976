// Spatial layers of one stream (scalable video coding): clients announce their number, and not the scalability mode.
import type { RtpParameters } from '../../sdp/codecs.ts';

/** Of scalability modes (W3C webrtc-svc, section 6). */
const most = 3;

/**
 * Lets receivers choose between the layers of a single encoding in VP9 or AV1. In the mode of full SVC they get the smaller layers too, which
 * a client that sends L3T3_KEY does not need, but one that sends L3T3 does.
 * @param layers their announced number
 */
export function withSpatialLayers(parameters: RtpParameters, layers: number): RtpParameters {
  const { codecs, encodings = [] } = parameters;
  const isScalable = /\/(vp9|av1)$/i.test(codecs[0]?.mimeType ?? '');
  if (layers < 2 || encodings.length !== 1 || !isScalable) return parameters;
  return { ...parameters, encodings: encodings.map((encoding) => ({ ...encoding, scalabilityMode: `L${Math.min(layers, most)}T3` })) };
}
