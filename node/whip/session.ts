// WHIP session: the connection of a peer that publishes with an encoder, or plays with a player. Its media transport shows whether the
// client is still there.
import { randomBytes } from 'node:crypto';
import { ServiceError } from '../../api/errors.ts';
import { transportOptionsSchema } from '../../api/media-objects.ts';
import type { IceRestart } from '../../api/operations/whip-session.ts';
import type { PeerEvent } from '../../api/socket/peer-events.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import type { CloseReason, Direction, PeerConnection, TransportState } from '../rooms/interfaces.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import type { RoomSession } from '../rooms/peers/room-session.ts';
import { type AnswerSection, isRejected, newSessionId, type TransportOptions, writeAnswer, writeIceFragment } from '../sdp/answer.ts';
import type { RtpCapabilities } from '../sdp/codecs.ts';
import { parseIceFragment } from '../sdp/ice-fragment.ts';
import type { IceCredentials, Offer } from '../sdp/offer.ts';

/** Timeout from the answer to an encrypted connection, in milliseconds. */
const connectTimeoutMs = 30_000;
/** Time without consent after which the media worker reports a lost connection (RFC 7675), in milliseconds. */
const consentTimeoutMs = 30_000;

export type WhipSessionOptions = {
  log: Log;
  /** True if it replaces the connection that the peer has. */
  takeover: boolean;
  /** How long a lost connection may return, in milliseconds. */
  resumeWindow: () => number;
  /** Called once when the session has ended, for any reason. */
  ended: () => void;
};
/** The media of a session. */
export interface SessionMedia {
  direction: Direction;
  /** Starts the media, and answers the sections of the offer in their order; at least one is not rejected. @throws ServiceError of the room */
  open(room: RoomSession, transportId: string): Promise<AnswerSection[]>;
  /** An event of the room. */
  notify?(event: PeerEvent): void;
  /** A publisher chose other receivers of its tracks. */
  receiversChanged?(): void;
  /** The session has ended, possibly during open(). Called once. */
  close?(): void;
}
/** What the room has for an offer. `speaker`: the active speaker; `composed`: true if a component composes the room. */
export type SessionContext = { peer: Peer; capabilities: RtpCapabilities; speaker: string | null; composed: boolean };
/** The media that a client of a protocol offers to send or to receive. @throws ServiceError `offer_rejected`, `forbidden` */
export type SessionStart = (offer: Offer, context: SessionContext) => SessionMedia;
type Negotiated = { room: RoomSession; transport: TransportOptions; client: IceCredentials; tagged: AnswerSection };

export class WhipSession implements PeerConnection {
  readonly id = randomBytes(16).toString('hex');
  readonly peer: Peer;
  readonly #options: WhipSessionOptions;
  #media: SessionMedia | undefined;
  #negotiated: Negotiated | undefined;
  #timer: Timer | undefined;
  #ended = false;

  constructor(peer: Peer, options: WhipSessionOptions) {
    this.peer = peer;
    this.#options = options;
  }

  /** Names the current ICE session; empty before the answer. */
  get etag(): string {
    return `"${this.#negotiated?.transport.iceParameters.usernameFragment ?? ''}"`;
  }

  /**
   * Connects the peer, starts its media and answers the offer. If that fails, the session ends.
   * @throws ServiceError of the room; `conflict` if the peer is connected and not taken over, or a later offer replaced this one
   */
  async start(offer: Offer, media: SessionMedia): Promise<string> {
    this.#media = media;
    try {
      this.peer.connect(this, { takeover: this.#options.takeover });
    } catch (error) {
      this.#finish();
      throw error;
    }
    try {
      return await this.#negotiate(this.peer.session, offer, media);
    } catch (error) {
      const replaced = this.#ended;
      this.end('failed to start');
      throw replaced ? new ServiceError('conflict', `The session of peer ${this.peer.id} ended while it started`, { cause: error }) : error;
    }
  }

  /**
   * New candidates of the client (null), or an ICE restart.
   * @param ifMatch the header: the ICE session that the client knows, or any
   * @throws ServiceError `precondition_required`, `precondition_failed`, `offer_rejected`
   */
  async updateIce(text: string, ifMatch: string | undefined): Promise<IceRestart> {
    if (ifMatch === undefined) throw new ServiceError('precondition_required', 'The request needs the header if-match');
    // RFC 9725 quotes the asterisk, RFC 9110 does not.
    const any = ifMatch === '*' || ifMatch === '"*"';
    if (!any && ifMatch !== this.etag) throw new ServiceError('precondition_failed', 'The header if-match names an earlier ICE session');
    const client = parseIceFragment(text);
    const negotiated = this.#negotiated;
    if (!negotiated) throw new ServiceError('conflict', 'The session is still starting');
    if (client.usernameFragment === negotiated.client.usernameFragment) return null;
    const { room, transport, tagged } = negotiated;
    const ice = await room.media.restartIce(transport.id);
    const iceParameters = { ...transport.iceParameters, ...transportOptionsSchema.shape.iceParameters.parse(ice) };
    this.#negotiated = { ...negotiated, client, transport: { ...transport, iceParameters } };
    return { fragment: writeIceFragment(tagged, iceParameters, transport), etag: this.etag };
  }

  /** Ends the session: the peer is disconnected. `since`: milliseconds since its connection was lost. Idempotent. */
  end(reason: string, since = 0): void {
    if (!this.#finish()) return;
    this.#options.log.info({ reason }, 'whip session ended');
    this.peer.disconnect(since);
  }

  /** There is no channel to the client. */
  send(event: PeerEvent): void {
    if (!this.#ended) this.#media?.notify?.(event);
  }

  receiversChanged(): void {
    if (!this.#ended) this.#media?.receiversChanged?.();
  }

  trackRestored(): void {
    this.receiversChanged();
  }

  pongTimeoutChanged(): void {}

  transportChanged = (state: TransportState): void => {
    if (this.#ended) return;
    this.#timer?.stop();
    if (state === 'closed') this.end('closed by the client');
    if (state !== 'lost') return;
    const window = this.peer.timeout.resumeWindow(this.#options.resumeWindow(), consentTimeoutMs);
    this.#timer = new Timer(window, () => this.end('connection lost', consentTimeoutMs + window));
  };

  /** The room closes the connection; its media end with the peer. */
  close(reason: CloseReason): void {
    if (this.#finish()) this.#options.log.info({ reason }, 'whip session closed');
  }

  /** @returns false if the session has already ended */
  #finish(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#timer?.stop();
    this.#media?.close?.();
    this.#options.ended();
    return true;
  }

  /** The session of the room is passed, because the peer may have another one after an await. */
  async #negotiate(room: RoomSession, offer: Offer, media: SessionMedia): Promise<string> {
    const transport = transportOptionsSchema.parse(await room.createTransport(media.direction, { sctp: false }));
    await room.media.connectTransport(transport.id, offer.dtls);
    const sections = await media.open(room, transport.id);
    const tagged = sections.find((section) => !isRejected(section));
    if (this.#ended || !tagged) throw new ServiceError('conflict', 'The session has ended');
    this.#negotiated = { room, transport, client: offer.ice, tagged };
    this.#timer ??= new Timer(connectTimeoutMs, () => this.end('connection timeout'));
    return writeAnswer({ offer, transport, sections, sessionId: newSessionId() });
  }
}
