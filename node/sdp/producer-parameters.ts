// Producer parameters: what a publisher sends in one section, in the form of the media worker.
import {
  type Codec,
  codecsOf,
  isRtx,
  isSupportedBy,
  nameOf,
  namesOf,
  type RtpCapabilities,
  type RtpParameters,
  rtxOf,
  withFeedback,
} from './codecs.ts';
import { offerRejected } from './description.ts';
import { type MediaSection, midExtension } from './offer.ts';

const ridExtension = 'urn:ietf:params:rtp-hdrext:sdes:rtp-stream-id';
/** Formats that repair, protect or accompany the media of another codec. */
const helpers = new Set(['rtx', 'red', 'ulpfec', 'flexfec-03', 'flexfec', 'telephone-event', 'cn']);

/**
 * The first codec of the section that the room forwards, with its retransmissions (RFC 4588), and the header extensions of the room.
 * @param capabilities of the room
 * @param preferred name of a codec that precedes the others
 * @throws ServiceError `offer_rejected`
 */
export function producerParameters(section: MediaSection, capabilities: RtpCapabilities, preferred = ''): RtpParameters {
  const { mid, kind, codecs, cname, rids } = section;
  const supported = codecsOf(capabilities, kind);
  const capabilityOf = (each: Codec) => supported.find((capability) => isSupportedBy(each, capability));
  const forwarded = codecs.filter((each) => !isRtx(each) && capabilityOf(each));
  const codec = forwarded.find((each) => nameOf(each).toLowerCase() === preferred.toLowerCase()) ?? forwarded[0];
  if (!codec) throw offerRejected(`Section ${mid} offers ${offeredNames(codecs)}; this room forwards ${namesOf(supported)}`);
  const rtx = rtxOf(codec, codecs);
  const headerExtensions = section.extensions.filter(({ uri }) =>
    capabilities.headerExtensions?.some(
      (each) => each.uri === uri && each.kind === kind && (each.direction === 'sendrecv' || each.direction === 'recvonly'),
    ),
  );
  const has = (uri: string) => headerExtensions.some((extension) => extension.uri === uri);
  if (rids.length > 1 && !has(ridExtension))
    throw offerRejected(`Section ${mid} has several RIDs without the header extension of RFC 8852`);
  const encodings = section.encodings.length > 0 ? section.encodings : [{}];
  if (section.encodings.length === 0 && !has(midExtension))
    throw offerRejected(`Section ${mid} has neither an SSRC nor a RID nor the header extension for its mid`);
  if (kind === 'audio' && encodings.length > 1) throw offerRejected(`Section ${mid} has several encodings of audio`);
  return {
    ...(has(midExtension) && { mid }),
    codecs: [withFeedback(codec, capabilityOf(codec)?.rtcpFeedback), ...(rtx ? [withFeedback(rtx, [])] : [])],
    headerExtensions,
    encodings,
    rtcp: { ...(cname !== undefined && { cname }), reducedSize: true },
  };
}

/** The codecs of an offer, in a message. */
export function offeredNames(codecs: readonly Codec[]): string {
  const media = codecs.filter((codec) => !helpers.has(nameOf(codec).toLowerCase()));
  const described = media.map((codec) => {
    const profile = codec.parameters['profile-level-id'] ?? codec.parameters['profile-id'];
    return profile === undefined ? nameOf(codec) : `${nameOf(codec)} (profile ${profile})`;
  });
  return described.length === 0 ? 'no codec' : [...new Set(described)].slice(0, 8).join(', ');
}
