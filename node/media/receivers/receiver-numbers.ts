// Receiver numbers: payload types, header extensions and SSRCs of one receiver, as the patched media worker gets them.
import type { RtcpFeedback, RtpCapabilities } from 'mediasoup/types';
import type { FixedStreamOptions } from '../../rooms/interfaces.ts';
import { isRtx } from '../codecs.ts';

/** Patch of the media worker. */
export const receiverNumbersPatch = '0050-numbers-of-receivers';
/** Prefix of the RTCP feedback that contains them, because requests to the worker have no other field for it. */
const prefix = 'receiver-';

/** Adds the numbers of a receiver to its capabilities. */
export function withReceiverNumbers(
  capabilities: RtpCapabilities,
  { numbers, ssrc, rtxSsrc, cname }: Pick<FixedStreamOptions, 'numbers' | 'ssrc' | 'rtxSsrc' | 'cname'>,
): RtpCapabilities {
  const of = (name: string, parameter: string): RtcpFeedback => ({ type: `${prefix}${name}`, parameter });
  const extensions = [{ room: 0, receiver: numbers.otherExtension }, ...numbers.extensions];
  const feedback = [
    ...numbers.payloadTypes.map(({ room, receiver }) => of('payload-type', `${room}:${receiver}`)),
    ...extensions.map(({ room, receiver }) => of('extension', `${room}:${receiver}`)),
    of('ssrc', `${ssrc}:${rtxSsrc}`),
    of('cname', cname),
  ];
  return {
    ...capabilities,
    codecs: capabilities.codecs?.map((codec) =>
      isRtx(codec) ? codec : { ...codec, rtcpFeedback: [...(codec.rtcpFeedback ?? []), ...feedback] },
    ),
  };
}

/** Capabilities without numbers, which only this node may set. */
export function withoutReceiverNumbers(capabilities: RtpCapabilities): RtpCapabilities {
  return {
    ...capabilities,
    codecs: capabilities.codecs?.map((codec) => ({
      ...codec,
      ...(codec.rtcpFeedback && { rtcpFeedback: codec.rtcpFeedback.filter(({ type }) => !type.startsWith(prefix)) }),
    })),
  };
}
