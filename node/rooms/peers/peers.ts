// Peer list of a room: adds peers up to the limits, and finds them by id, by track and by connection.
import { ServiceError } from '../../../api/errors.ts';
import { isValidId } from '../../../api/id.ts';
import { type PeerOptions, type PeerStatus, permissionsSchema } from '../../../api/peer.ts';
import type { Target } from '../../../api/socket/peer-events.ts';
import { newId } from '../ids.ts';
import type { CloseReason } from '../interfaces.ts';
import type { Access } from '../tokens/access-claims.ts';
import { Revocations } from '../tokens/revocations.ts';
import type { DataTrack, Track } from '../track.ts';
import { MoveQueue } from './paths/move-queue.ts';
import { Peer, statusOf } from './peer.ts';
import type { PeerContext } from './peer-context.ts';
import type { Publications } from './publications.ts';
import type { PeerRightsInit } from './rights.ts';
import type { RoomSession } from './room-session.ts';

export type PeersOptions = {
  maxPeers: () => number;
  /** Longest validity of an access token in milliseconds. */
  accessTokenMaxTtl: () => number;
  publishedByComponents: () => Iterable<Track>;
  context: Omit<
    PeerContext,
    'forget' | 'publishedFor' | 'mayReceive' | 'mayReceiveAll' | 'received' | 'awaited' | 'dataReceivers' | 'moves'
  >;
};
/** Maximum number of identities of a room whose tokens are revoked. */
const maxRevoked = 10_000;

export type AddedPeer = { peer: Peer; created: boolean };

export class Peers {
  readonly #options: PeersOptions;
  readonly #peers = new Map<string, Peer>();
  readonly #moves = new MoveQueue();
  /** Identities of removed peers. */
  readonly #revoked: Revocations;

  constructor(options: PeersOptions) {
    this.#options = options;
    this.#revoked = new Revocations({ maxTtl: options.accessTokenMaxTtl, max: maxRevoked });
  }

  all(): Iterable<Peer> {
    return this.#peers.values();
  }

  *connected(): Iterable<Peer> {
    for (const peer of this.#peers.values()) if (peer.connected) yield peer;
  }

  get connectedCount(): number {
    return this.#count('connected');
  }

  /** True if no peer that keeps the room open is connected or waits. */
  get peerless(): boolean {
    for (const peer of this.#peers.values()) if (!peer.rights.agent && statusOf(peer) !== 'disconnected') return false;
    return true;
  }

  get waitingCount(): number {
    return this.#count('waiting');
  }

  *tracks(): Iterable<Track> {
    for (const { session } of this.connected()) yield* session.publications.tracks;
  }

  /** True while a track of a peer is end-to-end encrypted. */
  get encrypted(): boolean {
    return [...this.tracks()].some(({ encrypted }) => encrypted);
  }

  find(peerId: string): Peer | undefined {
    return this.#peers.get(peerId);
  }

  /** @throws ServiceError `peer_not_found` */
  get(peerId: string): Peer {
    const peer = this.#peers.get(peerId);
    if (!peer) throw new ServiceError('peer_not_found', `Peer ${peerId} does not exist`);
    return peer;
  }

  publisherOf(trackId: string): Publications | undefined {
    for (const { session } of this.connected())
      for (const track of session.publications.tracks) if (track.id === trackId) return session.publications;
    return undefined;
  }

  /** The connected peers that a target selects. */
  *selectedBy(target: Target): Iterable<Peer> {
    const to = target.to ? new Set(target.to) : undefined;
    for (const peer of this.connected()) if (peer.id !== target.except && (to === undefined || to.has(peer.id))) yield peer;
  }

  /** The peer of an access token, if it exists. @throws ServiceError `invalid_token` if it was removed after the issue of the token */
  ofAccess({ identity, issuedAt }: Access): Peer | undefined {
    if (this.#revoked.includes(identity, issuedAt))
      throw new ServiceError('invalid_token', 'The access token is revoked: its peer was removed after it was issued');
    return this.#peers.get(identity) ?? this.#byExternalId(identity);
  }

  /**
   * The peer of an access token. A token that was issued after the last change of its permissions sets them, the metadata and attributes.
   * @throws ServiceError `room_full`, `conflict` for an agent of an encrypted room, `invalid_token` if the peer was removed after the issue of
   * the token
   */
  enter(access: Access): Peer {
    const { identity, permissions, metadata, attributes, hidden, agent, agents, issuedAt } = access;
    const known = this.ofAccess(access);
    if (!known) {
      if (agent && this.encrypted) throw agentRefusedError(this.#options.context.roomId);
      const names = isValidId(identity) ? { peerId: identity } : { externalId: identity };
      return this.add({ type: 'webrtc', ...names, metadata, attributes }, { permissions, hidden, agent, agents, grantedAt: issuedAt }).peer;
    }
    if (known.rights.grant({ permissions, issuedAt })) known.profile.update({ ...(metadata !== null && { metadata }), attributes });
    return known;
  }

  /** Returns the existing peer if its `externalId` is repeated. @throws ServiceError `room_full`, `already_exists` */
  add(options: PeerOptions, rights?: PeerRightsInit): AddedPeer {
    const { externalId } = options;
    const known = externalId === undefined ? undefined : this.#byExternalId(externalId);
    if (known) {
      if (options.admitted) known.admission.admit();
      return { peer: known, created: false };
    }
    const id = options.peerId ?? newId();
    const { context, maxPeers } = this.#options;
    if (this.#peers.has(id)) throw new ServiceError('already_exists', `Cannot add peer with id "${id}" - peer already exists`);
    if (this.#peers.size >= maxPeers()) throw new ServiceError('room_full', `Reached webrtc peers limit in room ${context.roomId}`);
    const init = {
      id,
      externalId: externalId ?? null,
      metadata: options.metadata ?? null,
      attributes: options.attributes ?? {},
      permissions: options.options?.permissions ?? permissionsSchema.parse({}),
      hidden: false,
      agent: false,
      agents: [],
      grantedAt: Date.now(),
      enableSimulcast: options.options?.enableSimulcast ?? true,
      ...rights,
    };
    const peer = new Peer(init, {
      ...context,
      moves: this.#moves,
      publishedFor: (peerId) => this.#publishedFor(peerId),
      dataReceivers: (peerId) => [...this.selectedBy({ except: peerId })].map(({ session }) => session.paths.data),
      mayReceive: (...given) => this.#mayReceive(...given),
      mayReceiveAll: (peerId) => this.#mayReceiveAll(peerId),
      received: (track) => this.#received(track),
      awaited: (trackId) => [...this.connected()].some(({ session }) => awaitsSuccessor(session, trackId)),
      forget: (peerId) => this.#peers.delete(peerId),
    });
    if (options.admitted) peer.admission.admit();
    this.#peers.set(id, peer);
    context.announce({ kind: 'peerAdded', peerId: id, metadata: init.metadata });
    // The first peer needs the router; creating it now saves that time when the peer connects.
    context.media.rtpCapabilities().catch((error: unknown) => context.log.debug({ err: error }, 'could not prepare media of room'));
    return { peer, created: true };
  }

  /**
   * Removes a peer, and rejects access tokens of its identity that were issued until now, also if there is no such peer.
   * @throws ServiceError `peer_not_found`
   */
  delete(peerId: string): void {
    this.#revoke(peerId);
    this.get(peerId).remove('removed');
  }

  /** Removes a waiting peer like delete(). @throws ServiceError `peer_not_found`, `conflict` if it does not wait */
  deny(peerId: string): void {
    const peer = this.get(peerId);
    if (!peer.admission.waiting) throw new ServiceError('conflict', `Peer ${peerId} does not wait for admission`);
    this.#revoke(peerId);
    peer.remove('denied', 'peerDenied');
  }

  /** Admits the peers that wait now. */
  admitWaiting(): void {
    for (const { admission } of this.#peers.values()) if (admission.waiting) admission.admit();
  }

  timeoutChanged(): void {
    for (const peer of this.#peers.values()) peer.timeoutChanged();
  }

  close(reason: string, closeReason: CloseReason): void {
    for (const peer of [...this.#peers.values()]) peer.remove(reason, closeReason);
  }

  roomCrashed(): void {
    for (const peer of [...this.#peers.values()]) peer.roomCrashed();
  }

  #count(status: PeerStatus): number {
    let count = 0;
    for (const peer of this.#peers.values()) if (statusOf(peer) === status) count += 1;
    return count;
  }

  #revoke(peerId: string): void {
    const externalId = this.#peers.get(peerId)?.externalId ?? null;
    for (const identity of [peerId, externalId]) if (identity !== null) this.#revoked.add(identity);
  }

  #byExternalId(externalId: string): Peer | undefined {
    return [...this.#peers.values()].find((peer) => peer.externalId === externalId);
  }

  #received({ id, origin }: Track): void {
    const publisher = 'peerId' in origin ? this.#peers.get(origin.peerId) : undefined;
    if (publisher?.connected) publisher.session.connection.trackReceived?.(id);
  }

  #mayReceive(peerId: string, publisherId: string, trackId: string): boolean {
    const publisher = this.#peers.get(publisherId);
    if (!publisher?.connected) return true;
    const { publications } = publisher.session;
    const track = [...publications.tracks].find(({ id }) => id === trackId);
    return track === undefined || this.#permits(peerId, publications, track);
  }

  #mayReceiveAll(peerId: string): boolean {
    const identity = this.#identityOf(peerId);
    const others = [...this.selectedBy({ except: peerId })].map(({ session }) => session.publications);
    return others.every((publications) => [...publications.tracks].every(({ id }) => publications.permits(identity, id)));
  }

  /** Agents have no keys: like components, they leave encrypted tracks out. */
  #permits(peerId: string, publications: Publications, { id, encrypted }: Track): boolean {
    return !(encrypted && this.#peers.get(peerId)?.rights.agent) && publications.permits(this.#identityOf(peerId), id);
  }

  #identityOf(peerId: string): string {
    return this.#peers.get(peerId)?.externalId ?? peerId;
  }

  #publishedFor(peerId: string): { tracks: Track[]; dataTracks: DataTrack[] } {
    const others = [...this.selectedBy({ except: peerId })].map(({ session }) => session.publications);
    const permitted = others.flatMap((publications) =>
      [...publications.tracks].filter((track) => this.#permits(peerId, publications, track)),
    );
    const tracks = [...permitted, ...this.#options.publishedByComponents()];
    return { tracks, dataTracks: others.flatMap((publications) => [...publications.data.tracks]) };
  }
}

/** True if the peer still receives what was published of a track before its publisher began to move. */
function awaitsSuccessor({ subscriptions, media }: RoomSession, trackId: string): boolean {
  return subscriptions.following.awaits(trackId) || media.awaitsSuccessor?.(trackId) === true;
}

/** Of an agent, which has no key of the room. */
export function agentRefusedError(roomId: string): ServiceError {
  return new ServiceError('conflict', `Room ${roomId} is end-to-end encrypted; an agent cannot decode its tracks`);
}
