// Receiver of a LiveKit client with one peer connection: the client offers empty sections, and each track is sent in one of them.
import { randomBytes, randomInt } from 'node:crypto';
import { ServiceError } from '../../../api/errors.ts';
import type { SubscribedTrack } from '../../../api/socket/peer-events.ts';
import type { Kind } from '../../../api/track.ts';
import { dependencyExtension } from '../../common/header-extensions.ts';
import { Timer } from '../../common/timer.ts';
import type { ReceiverSections, SectionStream } from '../../rooms/interfaces.ts';
import type { RoomSession } from '../../rooms/peers/room-session.ts';
import type { AnswerSection } from '../../sdp/answer.ts';
import { codecsOf, isRtx, type RtpCapabilities, type RtpParameters } from '../../sdp/codecs.ts';
import { renegotiationLimits } from '../../sdp/description.ts';
import type { MediaSection } from '../../sdp/offer.ts';
import { receiverParameters } from '../../sdp/receiver-parameters.ts';
import { msidOf, trackSid } from '../ids.ts';
import type { TrackReceiver } from './subscriber.ts';
import { VisibleTracks } from './visible-tracks.ts';

/** Timeout of an offer that the client was requested to send, in milliseconds. */
const offerTimeoutMs = 30_000;
/** How long an answer waits for tracks that are being subscribed, in milliseconds. */
const settleMs = 100;
/** Largest SSRC of the first section, so that those of all sections are valid. */
const maxFirstSsrc = 0xff00_0000;

/** `taken`: the track is being subscribed; `live`: it is sent; `ended`: the client must be told that it is not. */
type Use = { state: 'taken' | 'live' | 'ended'; stream: SectionStream; track: SubscribedTrack | undefined; answered: boolean };
type Section = {
  kind: Kind;
  /** SSRCs of its streams in turn: Chromium shows nothing if a section begins again with the former one. */
  ssrcs: readonly [number, number];
  stream: Omit<SectionStream, 'ssrc' | 'rtxSsrc'>;
  /** In the numbers of the client. */
  parameters: RtpParameters;
  use: Use | undefined;
};
type Taken = { stream: SectionStream; release: () => void };
/** `requested`: the client was requested to offer a section for it. */
type Waiting = { kind: Kind; taken: PromiseWithResolvers<Taken>; requested: boolean };

export type SectionReceiverOptions = {
  room: RoomSession;
  /** Of the room. */
  capabilities: RtpCapabilities;
  /** Requests an offer with this number of further sections. */
  request: (audios: number, videos: number) => void;
  /** The client did not offer. */
  failed: (reason: string) => void;
};

export class SectionReceiver implements TrackReceiver, ReceiverSections {
  readonly visible: VisibleTracks;
  readonly #options: SectionReceiverOptions;
  readonly #capabilities: RtpCapabilities;
  readonly #cname = randomBytes(8).toString('hex');
  #nextSsrc = randomInt(1, maxFirstSsrc);
  /** By mid. */
  readonly #sections = new Map<string, Section>();
  #waiting: Waiting[] = [];
  /** Runs from a request until the next offer. */
  #requested: Timer | undefined;
  /** Uses and sections of the answer that is being written. */
  #started: string[] = [];
  #freed: Section[] = [];
  /** True after the first answer: before it, the client offers by itself. */
  #negotiated = false;
  /** True if something changed since the latest answer. */
  #changed = false;
  #settled: (() => void) | undefined;
  #closed = false;

  constructor(options: SectionReceiverOptions) {
    this.#options = options;
    this.#capabilities = withDependencies(options.capabilities);
    const isNegotiated = (trackId: string) => this.#uses.some(({ track, answered }) => track?.trackId === trackId && answered);
    this.visible = new VisibleTracks(options.room, isNegotiated);
  }

  async take(kind: Kind): Promise<Taken> {
    const free = this.#free(kind);
    if (free) return this.#use(free);
    const taken = Promise.withResolvers<Taken>();
    this.#waiting.push({ kind, taken, requested: false });
    this.#request();
    return taken.promise;
  }

  /** Sections of an offer. Resolves when the tracks that can be sent in them are subscribed, or after a while. */
  async offered(sections: readonly MediaSection[]): Promise<void> {
    this.#requested?.stop();
    this.#requested = undefined;
    for (const section of sections) {
      const known = this.#sections.get(section.mid);
      if (!known && isReceiving(section)) this.#add(section, sections);
      else if (known && !known.use && !isReceiving(section)) this.#sections.delete(section.mid);
    }
    if (!this.#negotiated) this.#join();
    this.#serve();
    await this.#settle();
  }

  /** The answer to a section that receives. All are answered without a pause between them, then answerSent() follows. */
  answer({ kind, mid, codecs }: MediaSection): AnswerSection {
    const section = this.#sections.get(mid);
    if (!section) return { kind, mid, direction: 'inactive', codecs };
    const { use, parameters } = section;
    if (use?.state === 'ended') this.#freed.push(section);
    if (use?.state !== 'live' || !use.track) return { kind, mid, direction: 'inactive', parameters, rids: [] };
    if (!use.answered) this.#started.push(use.track.trackId);
    use.answered = true;
    const { cname, ssrc, rtxSsrc } = use.stream;
    const encodings = [{ ssrc, ...(parameters.codecs.some(isRtx) && { rtx: { ssrc: rtxSsrc } }) }];
    return {
      kind,
      mid,
      direction: 'sendonly',
      parameters: { ...parameters, encodings, rtcp: { cname } },
      rids: [],
      msid: msidOf(use.track),
    };
  }

  /** SIDs of the tracks that are sent, by mid. */
  get trackSids(): Record<string, string> {
    return Object.fromEntries(
      [...this.#sections].flatMap(([mid, { use }]) => (use?.state === 'live' && use.track ? [[mid, trackSid(use.track.trackId)]] : [])),
    );
  }

  /** The client got the answer. */
  async answerSent(): Promise<void> {
    const started = this.#started.splice(0);
    for (const section of this.#freed.splice(0)) section.use = undefined;
    this.#negotiated = true;
    this.#changed = this.#uses.some(({ state, answered }) => state === 'ended' || (state === 'live' && !answered));
    this.#serve();
    await this.visible.start(started);
    this.#request();
  }

  subscribed(tracks: readonly SubscribedTrack[]): void {
    for (const track of tracks) {
      const { mid } = track.rtpParameters as RtpParameters;
      const use = [...this.#sections.values()].find(({ stream }) => stream.mid === mid)?.use;
      if (use?.state === 'taken') Object.assign(use, { state: 'live', track });
    }
    this.#changed = true;
    this.#progressed();
  }

  /** Its section is released when the media worker no longer sends it. */
  unsubscribed(trackId: string): void {
    this.visible.forget(trackId);
  }

  /** It offers and answers nothing. */
  async answered(): Promise<void> {}

  /** The request may have been lost. The client also offers by itself, to restart ICE. */
  async resumed(): Promise<void> {
    if (!this.#requested) return;
    this.#requested.stop();
    this.#requested = undefined;
    this.#changed = true;
    for (const waiting of this.#waiting) waiting.requested = false;
    this.#request();
  }

  close(): void {
    this.#closed = true;
    this.#requested?.stop();
    this.#settled?.();
    for (const { taken } of this.#waiting.splice(0)) taken.reject(new ServiceError('conflict', 'The session has ended'));
  }

  get #uses(): Use[] {
    return [...this.#sections.values()].flatMap(({ use }) => use ?? []);
  }

  #add(section: MediaSection, sections: readonly MediaSection[]): void {
    const accepted = receiverParameters(section, this.#capabilities, sections);
    if (!accepted || this.#sections.size >= renegotiationLimits.sections) return;
    const { kind, mid } = section;
    const { rtpCapabilities, numbers } = accepted;
    const parameters = { ...accepted.parameters, headerExtensions: this.#extensionsOf(section) };
    const ssrc = this.#nextSsrc;
    this.#nextSsrc += 4;
    const stream = { mid: mid.slice(0, 8), cname: this.#cname, rtpCapabilities, numbers };
    this.#sections.set(mid, { kind, ssrcs: [ssrc, ssrc + 2], stream, parameters, use: undefined });
  }

  /** Also those with which the client publishes: Chromium does not offer an extension again that an answer left out. */
  #extensionsOf({ kind, extensions }: MediaSection): MediaSection['extensions'] {
    const known = this.#capabilities.headerExtensions?.filter((each) => each.kind === kind) ?? [];
    return extensions.filter(({ uri }) => known.some((each) => each.uri === uri));
  }

  /** Receives the codecs of the first sections; of a kind without a section those of the room, until the client offers one. */
  #join(): void {
    const { subscriptions } = this.#options.room;
    const first = (kind: Kind) => [...this.#sections.values()].find((section) => section.kind === kind)?.stream.rtpCapabilities;
    const codecs = (['audio', 'video'] as const).flatMap((kind) => codecsOf((first(kind) as RtpCapabilities) ?? this.#capabilities, kind));
    subscriptions.announcesTogether = true;
    subscriptions.join({ ...this.#capabilities, codecs });
  }

  #free(kind: Kind): Section | undefined {
    return [...this.#sections.values()].find((section) => section.kind === kind && !section.use);
  }

  #use(section: Section): Taken {
    const [ssrc, next] = section.ssrcs;
    section.ssrcs = [next, ssrc];
    const stream = { ...section.stream, ssrc, rtxSsrc: ssrc + 1 };
    const use: Use = { state: 'taken', stream, track: undefined, answered: false };
    section.use = use;
    return { stream, release: () => this.#release(section, use) };
  }

  #release(section: Section, use: Use): void {
    if (section.use !== use) return;
    if (use.answered) {
      use.state = 'ended';
      this.#changed = true;
    } else section.use = undefined;
    this.#serve();
    this.#progressed();
  }

  /** Gives free sections to tracks that wait. */
  #serve(): void {
    this.#waiting = this.#waiting.filter(({ kind, taken }) => {
      const free = this.#free(kind);
      if (free) taken.resolve(this.#use(free));
      return !free;
    });
  }

  /** Resolves when no track is being subscribed, or after a while. */
  async #settle(): Promise<void> {
    if (!this.#isSettling) return;
    const settled = Promise.withResolvers<void>();
    const timer = new Timer(settleMs, settled.resolve);
    this.#settled = settled.resolve;
    await settled.promise;
    this.#settled = undefined;
    timer.stop();
  }

  get #isSettling(): boolean {
    return !this.#closed && this.#uses.some(({ state }) => state === 'taken');
  }

  #progressed(): void {
    if (!this.#settled) this.#request();
    else if (!this.#isSettling) this.#settled();
  }

  /** Unless the client already knows, or an answer follows. Once for each section: the client may have none that the room can use. */
  #request(): void {
    const { request, failed } = this.#options;
    const missing = this.#waiting.filter(({ requested }) => !requested);
    if (this.#closed || !this.#negotiated || this.#requested || (!this.#changed && missing.length === 0)) return;
    for (const waiting of missing) waiting.requested = true;
    const count = (kind: Kind) => missing.filter((waiting) => waiting.kind === kind).length;
    this.#requested = new Timer(offerTimeoutMs, () => failed('no offer after a request'));
    request(count('audio'), count('video'));
  }
}

/** True for a section in which the client only receives. */
export function isReceiving({ direction }: MediaSection): boolean {
  return direction === 'recvonly';
}

/** The media worker sends the dependency descriptor, although the router does not list it as sent. */
function withDependencies({ headerExtensions = [], ...others }: RtpCapabilities): RtpCapabilities {
  const sent = headerExtensions.map((each) => (each.uri === dependencyExtension ? { ...each, direction: 'sendrecv' as const } : each));
  return { ...others, headerExtensions: sent };
}
