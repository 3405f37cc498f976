// Playing of a player: each accepted section of its offer gets one fixed stream.
import { randomBytes, randomInt } from 'node:crypto';
import { ServiceError } from '../../api/errors.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { FixedStream } from '../rooms/interfaces.ts';
import type { RoomSession } from '../rooms/peers/room-session.ts';
import type { AnswerSection, MediaAnswer } from '../sdp/answer.ts';
import { codecsOf, isRtx, namesOf, type RtpCapabilities } from '../sdp/codecs.ts';
import { offerRejected } from '../sdp/description.ts';
import type { MediaSection, Offer } from '../sdp/offer.ts';
import { offeredNames } from '../sdp/producer-parameters.ts';
import { type ReceiverParameters, receiverParameters } from '../sdp/receiver-parameters.ts';
import { type FixedStreams, PlayerStreams } from './player-streams.ts';
import { ProgrammeStreams, programmeCapabilities } from './programme-streams.ts';
import type { SessionMedia, SessionStart } from './session.ts';

/** Sections of an offer that get a stream. */
const maxStreams = { audio: 3, video: 1 };
/** Largest SSRC of the first stream, so that those of all streams are valid. */
const maxFirstSsrc = 0xffff_ff00;

/** What the streams of a player play. */
type PlayedStreams = {
  open(streams: FixedStreams & { room: RoomSession; tracks: RoomSession['receivableTracks'] }): void;
  notify(event: PeerEvent): void;
  update(): void;
  close?(): void;
};
/** What a player may get. `available`: its codecs, in a message. */
type Source = { capabilities: RtpCapabilities; maxStreams: Record<MediaSection['kind'], number>; available: string };
type Reception = { section: MediaSection; accepted: ReceiverParameters | undefined };

/** @param video `speaker`, `programme` or the id of a peer */
export function playing(video: string): SessionStart {
  return (offer, { capabilities, speaker, peer, composed }) => {
    if (!peer.rights.permissions.subscribe) throw new ServiceError('forbidden', 'This peer is not permitted to subscribe');
    if (video !== 'programme') {
      const available = `this room forwards ${namesOf(capabilities.codecs ?? [])}`;
      return new Playing(receptionsOf(offer, { capabilities, maxStreams, available }), new PlayerStreams({ video, speaker }));
    }
    if (!composed) throw new ServiceError('component_not_found', `Room ${peer.roomId} has no programme: it has no component of type hls`);
    return new Playing(receptionsOf(offer, programmeSource(capabilities)), new ProgrammeStreams());
  };
}

function programmeSource(room: RtpCapabilities): Source {
  const capabilities = programmeCapabilities(room);
  const hasVideo = codecsOf(capabilities, 'video').length > 0;
  const available = hasVideo ? 'Opus, and H.264 of the profile main' : 'only Opus, because the room does not forward H.264';
  return { capabilities, maxStreams: { audio: 1, video: 1 }, available: `the programme has ${available}` };
}

class Playing implements SessionMedia {
  readonly direction = 'recv';
  readonly #receptions: readonly Reception[];
  readonly #streams: PlayedStreams;
  #closed = false;

  constructor(receptions: readonly Reception[], streams: PlayedStreams) {
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
    if (this.#closed) return sections;
    this.#streams.open({ audio: streams.audio, video: streams.video[0], room, tracks: () => room.receivableTracks() });
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

  close(): void {
    this.#closed = true;
    this.#streams.close?.();
  }
}

/** The sections of an offer that receives, each with what the room can send in it. @throws ServiceError `offer_rejected` */
function receptionsOf({ sections }: Offer, { capabilities, maxStreams: most, available }: Source): Reception[] {
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
      receiving.includes(section) && counts[kind] < most[kind] ? receiverParameters(section, capabilities, media) : undefined;
    if (accepted) counts[kind] += 1;
    return { section, accepted };
  });
  if (receptions.some(({ accepted }) => accepted)) return receptions;
  const offered = offeredNames(receiving.flatMap(({ codecs }) => codecs));
  throw offerRejected(`The offer receives ${offered}; ${available}`);
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
