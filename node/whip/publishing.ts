// Publishing of an encoder: the sections of its offer become tracks of its peer.
import type { AnswerSection } from '../sdp/answer.ts';
import { codecsOf, type RtpCapabilities, type RtpParameters } from '../sdp/codecs.ts';
import { offerRejected } from '../sdp/description.ts';
import type { MediaSection, Offer } from '../sdp/offer.ts';
import { producerParameters } from '../sdp/producer-parameters.ts';
import type { SessionStart } from './session.ts';

/** A section of the offer, with what the room accepts of it. Without parameters it is rejected. */
type Publication = { section: MediaSection; parameters: RtpParameters | undefined };

/** @throws ServiceError `offer_rejected` */
export const publishing: SessionStart = (offer, { capabilities }) => {
  const publications = publicationsOf(sendingSections(offer), capabilities);
  return {
    direction: 'send',
    open: async ({ publications: tracks }, transportId) => {
      const sections: AnswerSection[] = [];
      const counts = { audio: 0, video: 0 };
      for (const { section, parameters } of publications) {
        const { kind, mid, rids, codecs } = section;
        if (!parameters) {
          sections.push({ kind, mid, direction: 'inactive', codecs });
          continue;
        }
        // The same key in the next session, so that a mute of the server outlives a reconnect of the encoder.
        counts[kind] += 1;
        const key = `whip-${kind}-${counts[kind]}`;
        await tracks.publish({ transportId, key, kind, rtpParameters: parameters, paused: false });
        sections.push({ kind, mid, direction: 'recvonly', parameters, rids });
      }
      return sections;
    },
  };
};

/** The sections of an offer that only sends. @throws ServiceError `offer_rejected` */
function sendingSections({ sections }: Offer): MediaSection[] {
  return sections.map((section) => {
    if (section.kind === 'application') throw offerRejected(`Section ${section.mid} offers data channels, which WHIP does not have`);
    if (section.direction === 'sendonly' || section.direction === 'sendrecv') return section;
    throw offerRejected(`Section ${section.mid} does not send`);
  });
}

/** RFC 9725, section 4.2: all sections are accepted or none, except that a room with audio only rejects video, which it never has. */
function publicationsOf(sections: readonly MediaSection[], capabilities: RtpCapabilities): Publication[] {
  const audioOnly = codecsOf(capabilities, 'video').length === 0;
  if (audioOnly && sections.every(({ kind }) => kind === 'video'))
    throw offerRejected('The offer has video only; this room has audio only');
  return sections.map((section) => {
    const rejected = audioOnly && section.kind === 'video';
    return { section, parameters: rejected ? undefined : producerParameters(section, capabilities) };
  });
}
