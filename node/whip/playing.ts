// Playing of a player: each accepted section of its offer gets one fixed stream.
import { randomBytes, randomInt } from 'node:crypto';
import { ServiceError } from '../../api/errors.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { FixedStream } from '../rooms/interfaces.ts';
import type { RoomSession } from '../rooms/peers/room-session.ts';
import type { AnswerSection, MediaAnswer } from '../sdp/answer.ts';
import { isRtx, namesOf, type RtpCapabilities } from '../sdp/codecs.ts';
import { offerRejected } from '../sdp/description.ts';
import type { MediaSection, Offer } from '../sdp/offer.ts';
import { offeredNames } from '../sdp/producer-parameters.ts';
import { type ReceiverParameters, receiverParameters } from '../sdp/receiver-parameters.ts';
import { PlayerStreams } from './player-streams.ts';
import type { SessionMedia, SessionStart } from './session.ts';

/** Sections of an offer that get a stream. */
const maxStreams = { audio: 3, video: 1 };
/** Largest SSRC of the first stream, so that those of all streams are valid. */
const maxFirstSsrc = 0xffff_ff00;

type Reception = { section: MediaSection; accepted: ReceiverParameters | undefined };

/** @param video `speaker` or the id of a peer */
export function playing(video: string): SessionStart {
  return (offer, { capabilities, speaker, peer }) => {
    if (!peer.rights.permissions.subscribe) throw new ServiceError('forbidden', 'This peer is not permitted to subscribe');
    return new Playing(receptionsOf(offer, capabilities), new PlayerStreams({ video, speaker }));
  };
}

class Playing implements SessionMedia {
  readonly direction = 'recv';
  readonly #receptions: readonly Reception[];
  readonly #streams: PlayerStreams;

  constructor(receptions: readonly Reception[], streams: PlayerStreams) {
    this.#receptions = receptions;
    this.#streams = streams;
  }

  async open(room: RoomSession): Promise<AnswerSection[]> {
    const cname = randomBytes(8).toString('hex');
    const firstSsrc = randomInt(1, maxFirstSsrc);
    const streams: Record<MediaSection['kind'], FixedStream[]> = { audio: [], video: [] };
    const sections: AnswerSection[] = [];
    for (const [index, { section, accepted }] of this.#receptions.entries()) {
      const { kind, mid, codecs } = section;
      if (!accepted) {
        sections.push({ kind, mid, direction: 'inactive', codecs });
        continue;
      }
      const ssrcs = { ssrc: firstSsrc + 2 * index, rtxSsrc: firstSsrc + 2 * index + 1 };
      const { rtpCapabilities, numbers } = accepted;
      streams[kind].push(await room.media.openFixedStream({ kind, mid: mid.slice(0, 8), cname, ...ssrcs, rtpCapabilities, numbers }));
      sections.push(answerOf(section, accepted, { cname, ...ssrcs }));
    }
    this.#streams.open({ audio: streams.audio, video: streams.video[0], tracks: () => room.receivableTracks() });
    // The only stream follows the active speaker.
    room.audioLevels = streams.audio.length > 1;
    return sections;
  }

  notify(event: PeerEvent): void {
    this.#streams.notify(event);
  }

  receiversChanged(): void {
    this.#streams.update();
  }
}

/** The sections of an offer that receives, each with what the room can send in it. @throws ServiceError `offer_rejected` */
function receptionsOf({ sections }: Offer, capabilities: RtpCapabilities): Reception[] {
  const media = sections.map((section) => {
    if (section.kind === 'application') throw offerRejected(`Section ${section.mid} offers data channels, which WHEP does not have`);
    return section;
  });
  const receiving = media.filter(({ direction }) => direction === 'recvonly' || direction === 'sendrecv');
  if (receiving.length === 0) throw offerRejected('No section of the offer receives');
  const counts = { audio: 0, video: 0 };
  const receptions = media.map((section): Reception => {
    const { kind } = section;
    const accepted =
      receiving.includes(section) && counts[kind] < maxStreams[kind] ? receiverParameters(section, capabilities, media) : undefined;
    if (accepted) counts[kind] += 1;
    return { section, accepted };
  });
  if (receptions.some(({ accepted }) => accepted)) return receptions;
  const offered = offeredNames(receiving.flatMap(({ codecs }) => codecs));
  throw offerRejected(`The offer receives ${offered}; this room forwards ${namesOf(capabilities.codecs ?? [])}`);
}

function answerOf(
  { kind, mid }: MediaSection,
  { parameters }: ReceiverParameters,
  { cname, ssrc, rtxSsrc }: { cname: string; ssrc: number; rtxSsrc: number },
): MediaAnswer {
  const repaired = parameters.codecs.some(isRtx);
  const encodings = [{ ssrc, ...(repaired && { rtx: { ssrc: rtxSsrc } }) }];
  // One stream, so that players synchronize audio and video.
  const msid = { id: cname, appdata: `${kind}-${mid}` };
  return { kind, mid, direction: 'sendonly', parameters: { ...parameters, encodings, rtcp: { cname } }, rids: [], msid };
}
