// Subscriber connection of a LiveKit client with two peer connections: offers what the client receives, one offer at a time.
import { SessionDescription } from '@livekit/protocol';
import { transportOptionsSchema } from '../../../api/media-objects.ts';
import type { SubscribedTrack } from '../../../api/socket/peer-events.ts';
import type { Kind } from '../../../api/track.ts';
import { Timer } from '../../common/timer.ts';
import type { RoomSession } from '../../rooms/peers/room-session.ts';
import { type AnswerSection, newSessionId, type TransportOptions, writeOffer } from '../../sdp/answer.ts';
import type { RtpCapabilities, RtpParameters } from '../../sdp/codecs.ts';
import { renegotiationLimits } from '../../sdp/description.ts';
import { isRejected, parseOffer } from '../../sdp/offer.ts';
import { msidOf, trackSid } from '../ids.ts';
import { VisibleTracks } from './visible-tracks.ts';

/** Timeout of an answer, in milliseconds. */
const answerTimeoutMs = 30_000;
/** How long the first offer waits for tracks of the room, in milliseconds. */
const initialDelayMs = 100;
const dataMid = 'data';

type Msid = ReturnType<typeof msidOf>;
/**
 * A section of the offers. `closed`: its track ended; `free`: the client has answered that, so that another track may use its position
 * (RFC 8829, section 5.2.2).
 */
type Section = { mid: string; kind: Kind; trackId: string; parameters: RtpParameters; msid: Msid; state: 'live' | 'closed' | 'free' };
/** `closing`: the offer ends the section. */
type Pending = { id: number; sections: readonly { section: Section; closing: boolean }[]; timer: Timer };

export type SubscriberOptions = {
  room: RoomSession;
  offer: (offer: SessionDescription) => void;
  /** The client did not answer. */
  failed: (reason: string) => void;
};

/** How a client receives tracks. */
export interface TrackReceiver {
  readonly visible: VisibleTracks;
  /** The room sends tracks from the response of the client on. */
  subscribed(tracks: readonly SubscribedTrack[]): void;
  unsubscribed(trackId: string): void;
  /** An answer of the client. @throws ServiceError `offer_rejected` and others */
  answered(answer: { sdp: string; id: number }): Promise<void>;
  /** The client has a new socket. */
  resumed(): Promise<void>;
  close(): void;
}

export class Subscriber implements TrackReceiver {
  readonly visible: VisibleTracks;
  readonly #options: SubscriberOptions;
  readonly #sessionId = newSessionId();
  readonly #sections: Section[] = [];
  /** Sections that the client receives. */
  readonly #answered = new WeakSet<Section>();
  /** Of the client: those of the room, without codecs that it rejected. */
  #capabilities: RtpCapabilities = {};
  #transport: TransportOptions | undefined;
  #connected = false;
  #pending: Pending | undefined;
  #initial: Timer | undefined;
  /** True if something changed since the pending offer. */
  #changed = false;
  #offers = 0;
  #closed = false;

  constructor(options: SubscriberOptions) {
    this.#options = options;
    this.visible = new VisibleTracks(options.room, (trackId) => this.#isAnswered(trackId));
  }

  /** Creates the transport. @throws ServiceError of the media */
  async prepare(): Promise<void> {
    this.#transport = transportOptionsSchema.parse(await this.#options.room.createTransport('recv', { sctp: true }));
  }

  /** Offers a connection with data channels and the tracks of the room, together if they are ready soon. @param capabilities of the room */
  start(capabilities: RtpCapabilities): void {
    const { subscriptions } = this.#options.room;
    this.#capabilities = capabilities;
    subscriptions.announcesTogether = true;
    subscriptions.join(capabilities);
    if (subscriptions.size === 0) this.#offer();
    else this.#initial = new Timer(initialDelayMs, () => this.#offer());
  }

  subscribed(tracks: readonly SubscribedTrack[]): void {
    for (const track of tracks) this.#add(track);
    this.#changed = true;
    this.#offer();
  }

  #add(track: SubscribedTrack): void {
    const { trackId, kind } = track;
    const parameters = track.rtpParameters as RtpParameters;
    const section: Section = { mid: parameters.mid ?? '', kind, trackId, parameters, msid: msidOf(track), state: 'live' };
    const free = this.#sections.findIndex(({ state }) => state === 'free');
    if (free < 0) this.#sections.push(section);
    else this.#sections[free] = section;
  }

  unsubscribed(trackId: string): void {
    this.visible.forget(trackId);
    const section = this.#sectionOf(trackId);
    if (!section) return;
    section.state = 'closed';
    this.#changed = true;
    this.#offer();
  }

  /** Restarts ICE: the client may be on another network. */
  async resumed(): Promise<void> {
    const transport = this.#transport;
    if (!transport) return;
    const iceParameters = transportOptionsSchema.shape.iceParameters.parse(await this.#options.room.media.restartIce(transport.id));
    this.#transport = { ...transport, iceParameters: { ...transport.iceParameters, ...iceParameters } };
    // An answer to the offer before it never arrives.
    this.#pending?.timer.stop();
    this.#pending = undefined;
    this.#changed = true;
    this.#offer();
  }

  async answered({ sdp, id }: { sdp: string; id: number }): Promise<void> {
    const pending = this.#pending;
    const transport = this.#transport;
    // Clients without ids of offers send 0.
    if (!pending || !transport || (id !== 0 && id !== pending.id)) return;
    const answer = parseOffer(sdp, renegotiationLimits);
    if (this.#pending !== pending) return;
    pending.timer.stop();
    if (!this.#connected) {
      this.#connected = true;
      await this.#options.room.media.connectTransport(transport.id, answer.dtls);
    }
    const accepted = new Set(answer.sections.filter((section) => !isRejected(section)).map(({ mid }) => mid));
    await this.#settle(pending, accepted);
    if (this.#pending === pending) this.#pending = undefined;
    this.#offer();
  }

  close(): void {
    this.#closed = true;
    this.#initial?.stop();
    this.#pending?.timer.stop();
  }

  #sectionOf(trackId: string): Section | undefined {
    return this.#sections.find((section) => section.trackId === trackId && section.state === 'live');
  }

  #isAnswered(trackId: string): boolean {
    const section = this.#sectionOf(trackId);
    return section !== undefined && this.#answered.has(section);
  }

  async #settle({ sections }: Pending, accepted: ReadonlySet<string>): Promise<void> {
    const started: string[] = [];
    const rejected: Section[] = [];
    for (const { section, closing } of sections) {
      if (closing) {
        section.state = 'free';
      } else if (accepted.has(section.mid)) {
        const { state, trackId } = section;
        if (state === 'live' && !this.#answered.has(section)) started.push(trackId);
        this.#answered.add(section);
      } else if (section.state === 'live') {
        rejected.push(section);
      }
    }
    await this.visible.start(started);
    for (const section of rejected) await this.#rejected(section);
  }

  /** The client cannot decode the codec of a section, which is rejected by both sides now. */
  async #rejected(section: Section): Promise<void> {
    const { subscriptions } = this.#options.room;
    const { trackId, parameters } = section;
    section.state = 'free';
    if (!subscriptions.has(trackId)) return;
    subscriptions.unsubscribe(trackId);
    this.#capabilities = withoutCodec(this.#capabilities, parameters);
    subscriptions.join(this.#capabilities);
    // Perhaps in another codec. Fails only if the track or the permission has ended.
    await subscriptions.subscribe(trackId).catch(() => {});
  }

  #offer(): void {
    const transport = this.#transport;
    if (this.#closed || this.#pending || !transport || (!this.#changed && this.#offers > 0)) return;
    this.#initial?.stop();
    this.#changed = false;
    this.#offers += 1;
    const id = this.#offers;
    const live = this.#sections.filter(({ state }) => state === 'live');
    const sections: AnswerSection[] = [{ kind: 'application', mid: dataMid }, ...this.#sections.map(sectionLines)];
    const timer = new Timer(answerTimeoutMs, () => this.#options.failed('no answer to an offer'));
    this.#pending = { id, sections: this.#sections.map((section) => ({ section, closing: section.state !== 'live' })), timer };
    const sdp = writeOffer({ transport, sections, sessionId: this.#sessionId, version: id });
    const midToTrackId = Object.fromEntries(live.map(({ mid, trackId }) => [mid, trackSid(trackId)]));
    this.#options.offer(new SessionDescription({ type: 'offer', sdp, id, midToTrackId }));
  }
}

/** Numbers of codecs are those of the room in everything that it sends. */
function withoutCodec({ codecs = [], ...others }: RtpCapabilities, { codecs: [rejected] }: RtpParameters): RtpCapabilities {
  return { ...others, codecs: codecs.filter(({ preferredPayloadType }) => preferredPayloadType !== rejected?.payloadType) };
}

function sectionLines({ kind, mid, state, parameters, msid }: Section): AnswerSection {
  if (state !== 'live') return { kind, mid, direction: 'inactive', codecs: parameters.codecs };
  return { kind, mid, direction: 'sendonly', parameters, rids: [], msid };
}
