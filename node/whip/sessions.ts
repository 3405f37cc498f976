// WHIP sessions of a node: starts a session for each offer of an encoder or a player, and finds sessions by id.
import { ServiceError } from '../../api/errors.ts';
import { rtpCapabilitiesSchema } from '../../api/media-objects.ts';
import type { IceRestart, IceServerLink, StartedSession } from '../../api/operations/whip-session.ts';
import type { Log } from '../common/log.ts';
import { TokenBucket } from '../common/token-bucket.ts';
import type { Peer } from '../rooms/peers/peer.ts';
import { parseOffer } from '../sdp/offer.ts';
import type { Admitted } from './admission.ts';
import { publishing } from './publishing.ts';
import { type SessionStart, WhipSession } from './session.ts';

/** Units per second that requests of one peer may cost, and the burst in seconds. */
const workRate = 5;
const burstSeconds = 12;
/** Of an offer, which creates media and notifies peers, and of an update of ICE. */
const offerCost = 10;
const updateCost = 1;

export type WhipSessionsOptions = {
  log: Log;
  /** Path that clients use, for example that of WHIP. */
  path: (roomId: string) => string;
  iceServers: (peer: Peer) => readonly Record<string, unknown>[];
  /** Path of SVC_HOST, '' if it has none. */
  pathPrefix: () => string;
  /** How long a lost connection may return, in milliseconds. */
  resumeWindow: () => number;
  /** True if requests have a rate limit. */
  limited: () => boolean;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

export class WhipSessions {
  readonly #options: WhipSessionsOptions;
  readonly #sessions = new Map<string, WhipSession>();
  readonly #byPeer = new Map<Peer, WhipSession>();
  /** Request budget of each peer. It outlives the sessions. */
  readonly #work = new WeakMap<Peer, TokenBucket>();
  #closed = false;

  constructor(options: WhipSessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /**
   * @throws ServiceError of the offer and the room; `conflict` if the peer is not admitted, or connected over its websocket and not taken over
   */
  async start({ peer, takeover }: Admitted, sdp: string, begin: SessionStart = publishing): Promise<StartedSession> {
    this.#pay(peer, offerCost);
    if (!peer.admission.permitted)
      throw new ServiceError('conflict', `Peer ${peer.id} is not admitted to the room; only a peer with a websocket can wait`);
    const offer = parseOffer(sdp);
    const { rtpCapabilities, activeSpeaker, components } = await peer.welcome();
    const capabilities = rtpCapabilitiesSchema.parse(rtpCapabilities);
    const composed = components.some(({ type }) => type === 'hls');
    const media = begin(offer, { peer, capabilities, speaker: activeSpeaker, composed });
    if (this.#closed) throw new ServiceError('unavailable', 'This node is shutting down');
    const session = this.#open(peer, takeover);
    const answer = await session.start(offer, media);
    const location = `${this.#options.pathPrefix()}${this.#options.path(peer.roomId)}/${session.id}`;
    return { answer, location, etag: session.etag, iceServers: this.#options.iceServers(peer).flatMap(linksOf) };
  }

  /** @throws ServiceError of the fragment; `not_found` */
  async updateIce(peer: Peer, sessionId: string, fragment: string, ifMatch: string | undefined): Promise<IceRestart> {
    const session = this.#find(peer, sessionId);
    this.#pay(peer, updateCost);
    return session.updateIce(fragment, ifMatch);
  }

  /** @throws ServiceError `not_found` */
  end(peer: Peer, sessionId: string): void {
    this.#find(peer, sessionId).end('ended by the client');
  }

  /** Ends every session. Idempotent. */
  close(): void {
    this.#closed = true;
    for (const session of [...this.#sessions.values()]) session.end('shutdown');
  }

  /** An encoder that lost its connection offers again, often before the loss is noticed here: the later offer wins. */
  #open(peer: Peer, takeover: boolean): WhipSession {
    this.#byPeer.get(peer)?.end('replaced');
    const session: WhipSession = new WhipSession(peer, {
      log: this.#options.log.child({ room: peer.roomId, peer: peer.id }),
      takeover,
      resumeWindow: this.#options.resumeWindow,
      ended: () => {
        this.#sessions.delete(session.id);
        if (this.#byPeer.get(peer) === session) this.#byPeer.delete(peer);
      },
    });
    this.#sessions.set(session.id, session);
    this.#byPeer.set(peer, session);
    return session;
  }

  #find(peer: Peer, sessionId: string): WhipSession {
    const session = this.#sessions.get(sessionId);
    if (session?.peer === peer) return session;
    throw new ServiceError('not_found', `Session ${sessionId} does not exist`);
  }

  #pay(peer: Peer, cost: number): void {
    const { limited, now } = this.#options;
    const work = this.#work.get(peer) ?? new TokenBucket(() => (limited() ? workRate : null), burstSeconds, now);
    this.#work.set(peer, work);
    if (!work.take(cost)) throw new ServiceError('too_many_requests', 'Too many requests', { retryAfter: work.waitFor(cost) / 1_000 });
  }
}

/** Header values have printable ASCII characters only. */
function linksOf({ urls, username, credential }: Record<string, unknown>): IceServerLink[] {
  const isText = (value: unknown): value is string => typeof value === 'string' && /^[\x20-\x7e]*$/.test(value);
  if (username !== undefined && !(isText(username) && isText(credential))) return [];
  const account = isText(username) && isText(credential) ? { username, credential } : {};
  return [urls].flat().flatMap((url) => (isText(url) && !/[<> ]/.test(url) ? [{ url, ...account }] : []));
}
