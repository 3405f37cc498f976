// Stream name: the media stream that a received track belongs to. Clients identify a track by its stream and its id.
import type { RtpParameters } from 'mediasoup/types';

/**
 * Browsers reject two tracks of one connection with the same names, also if the first one has ended.
 * @param generation number of times that the media of the track was restored under the same id
 */
export function nameStream(rtpParameters: RtpParameters, generation: number): RtpParameters {
  if (generation === 0) return rtpParameters;
  const { msid, rtcp } = rtpParameters;
  const [stream, ...track] = msid?.split(' ') ?? [];
  return {
    ...rtpParameters,
    ...(msid !== undefined && { msid: [`${stream}-${generation}`, ...track].join(' ') }),
    rtcp: { ...rtcp, cname: `${rtcp?.cname ?? ''}-${generation}` },
  };
}
