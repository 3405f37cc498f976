// Receiver parameters: what a room can send in one section of an offer, in the numbers of the offer and in those of the room.
import type { NumberPair, ReceiverNumbers } from '../rooms/interfaces.ts';
import {
  type Codec,
  type CodecCapability,
  codecsOf,
  isRtx,
  isSupportedBy,
  type RtpCapabilities,
  type RtpParameters,
  rtxOf,
  withFeedback,
} from './codecs.ts';
import { type MediaSection, midExtension } from './offer.ts';

export type ReceiverParameters = {
  /** In the numbers of the offer: codecs and header extensions. */
  parameters: Pick<RtpParameters, 'codecs' | 'headerExtensions'>;
  /** Those of the room that the receiver has, in the numbers of the room. */
  rtpCapabilities: RtpCapabilities;
  numbers: ReceiverNumbers;
};
type Extensions = NonNullable<RtpCapabilities['headerExtensions']>;
type Match = { codec: Codec; capability: CodecCapability };

/** Bandwidth estimation. */
const estimation = [
  'http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01',
  'http://www.webrtc.org/experiments/rtp-hdrext/abs-send-time',
];
/** Space of the media worker for a mid. */
const maxMidLength = 8;
/** Of header extensions in the form with one byte (RFC 8285, section 4.2). */
const maxExtensionId = 14;

/**
 * Undefined if the receiver has no codec of the room.
 * @param capabilities of the room
 * @param sections of the offer, which share header extensions
 */
export function receiverParameters(
  section: MediaSection,
  capabilities: RtpCapabilities,
  sections: readonly Pick<MediaSection, 'extensions'>[],
): ReceiverParameters | undefined {
  const known = codecsOf(capabilities, section.kind);
  const matches = matchesOf(section, known);
  if (matches.length === 0) return undefined;
  const media = matches.map(({ codec, capability }) => withFeedback(codec, feedbackOf(section, capability)));
  const repairs = repairsOf(matches, section.codecs, known);
  const extensions = extensionsOf(section, capabilities.headerExtensions ?? []);
  const all = [...matches, ...repairs];
  return {
    parameters: {
      codecs: [...media, ...repairs.map(({ codec }) => withFeedback(codec, []))],
      headerExtensions: extensions.map(({ uri, receiver }) => ({ uri, id: receiver })),
    },
    rtpCapabilities: {
      codecs: all.map(({ capability }, index) => ({ ...capability, rtcpFeedback: media[index]?.rtcpFeedback ?? [] })),
      headerExtensions: extensions.map(({ capability }) => capability),
    },
    numbers: {
      payloadTypes: all.map(({ codec, capability }) => ({ room: capability.preferredPayloadType ?? 0, receiver: codec.payloadType })),
      extensions: extensions.map(({ room, receiver }) => ({ room, receiver })),
      otherExtension: unusedExtension(sections, capabilities.headerExtensions ?? []),
    },
  };
}

/** Each codec of the room once, as the receiver prefers them. */
function matchesOf({ codecs }: MediaSection, known: readonly CodecCapability[]): Match[] {
  const matches = codecs.flatMap((codec) => {
    const capability = isRtx(codec) ? undefined : known.find((each) => !isRtx(each) && isSupportedBy(codec, each));
    return capability ? [{ codec, capability }] : [];
  });
  return matches.filter(({ capability }, index) => matches.findIndex((each) => each.capability === capability) === index);
}

/** Retransmissions (RFC 4588), if the receiver has them for all codecs: the media worker does not distinguish. */
function repairsOf(matches: readonly Match[], codecs: readonly Codec[], known: readonly CodecCapability[]): Match[] {
  const repairs = matches.flatMap((match) => {
    const codec = rtxOf(match.codec, codecs);
    const capability = known.find((each) => isRtx(each) && each.parameters?.apt === match.capability.preferredPayloadType);
    return codec && capability ? [{ codec, capability }] : [];
  });
  return repairs.length === matches.length ? repairs : [];
}

/** Audio is not retransmitted. */
function feedbackOf({ kind }: MediaSection, { rtcpFeedback = [] }: CodecCapability): Codec['rtcpFeedback'] {
  return kind === 'audio' ? rtcpFeedback.filter(({ type }) => type !== 'nack') : rtcpFeedback;
}

/** Without a mid, packets that probe the bandwidth would be taken for media. */
function extensionsOf({ kind, mid, extensions }: MediaSection, capabilities: Extensions) {
  const sent = capabilities.filter((each) => each.kind === kind && (each.direction ?? 'sendrecv').startsWith('send'));
  const matches = sent.flatMap((capability) => {
    const offered = extensions.find(({ uri, id }) => uri === capability.uri && id <= maxExtensionId);
    const pair = offered && ({ room: capability.preferredId, receiver: offered.id } satisfies NumberPair);
    return pair ? [{ ...pair, uri: capability.uri, capability }] : [];
  });
  const identified = mid.length <= maxMidLength && matches.some(({ uri }) => uri === midExtension);
  return identified ? matches : matches.filter(({ uri }) => uri !== midExtension && !estimation.includes(uri));
}

/** An id that no section offers; else one whose extension the room does not have, so that it is not negotiated. */
function unusedExtension(sections: readonly Pick<MediaSection, 'extensions'>[], capabilities: Extensions): number {
  const offered = sections.flatMap(({ extensions }) => extensions);
  const ids = Array.from({ length: maxExtensionId }, (_, index) => maxExtensionId - index);
  const unused = ids.find((id) => !offered.some((each) => each.id === id));
  const notNegotiated = ids.find((id) => !offered.some((each) => each.id === id && capabilities.some(({ uri }) => uri === each.uri)));
  return unused ?? notNegotiated ?? maxExtensionId;
}
