// Room: its configuration, peers, components and events. It lives on one node and ends once.
//
// Order of cascading closes: a parent ends its children first.
//   room ends (deleted, purged, drained)  -> each component: tracks (TrackRemoved), ComponentRemoved; then
//                                            each peer: tracks (TrackRemoved), PeerDisconnected if connected, PeerDeleted,
//                                            its connection closes with `Room stopped`; then media; RoomDeleted is last.
//   room crashes (its media worker died)  -> each component: TrackRemoved; then each peer: TrackRemoved, PeerDisconnected,
//                                            its connection closes with `Internal server error`; then RoomCrashed, which
//                                            replaces PeerDeleted and ComponentRemoved.
//   peer removed (REST, timeout)          -> TrackRemoved, PeerDisconnected if connected, PeerDeleted, `Peer removed`.
//   peer crashed (its session failed)     -> TrackRemoved, PeerDisconnected, PeerCrashed, `Internal server error`.
//   component finished or removed         -> TrackRemoved, ComponentRemoved. crashed -> TrackRemoved, ComponentCrashed.
//   connection lost permanently           -> TrackRemoved, PeerDisconnected; the peer stays and may reconnect.
//   track ends                            -> every subscription of it, then TrackRemoved to all.
// close() and crash() are public, idempotent and final; a child never closes its parent.

import type { ComponentOptions } from '../../api/component/component.ts';
import { ServiceError } from '../../api/errors.ts';
import type { RoomEvent, RoomEventDetail, RoomEventListener } from '../../api/events.ts';
import { type PeerOptions, type Permissions, permissionsSchema } from '../../api/peer.ts';
import type { RoomConfigView, RoomData, RoomPatch, RoomView } from '../../api/room.ts';
import type { ReloadableValues } from '../../api/settings/reloadable.ts';
import type { PeerEvent, Target } from '../../api/socket/peer-events.ts';
import type { RoomStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import { type AddedComponent, Components } from './components.ts';
import { DataBudget } from './data-budget.ts';
import { newId, newIncarnation } from './ids.ts';
import type { CloseReason, ComponentFactory, MediaEngine, RoomMedia } from './interfaces.ts';
import { Peer, type PeerInit } from './peer.ts';
import type { PublicationChange } from './publications.ts';
import { RoomStatsCollector } from './room-stats-collector.ts';
import type { DataTrack, Track } from './track.ts';

export type RoomInit = {
  config: RoomConfigView;
  externalId: string | null;
  node: string;
  log: Log;
  engine: MediaEngine;
  components: ComponentFactory;
  /** Limits of the node; read on every use, because they are reloadable. */
  limits: () => ReloadableValues['limits'];
  onEvent: RoomEventListener;
  /** The room ended; called once, before its last event. `reason` as in the event. */
  onEnded: (reason: string) => void;
};

/** The publisher of a track, for moderation. */
export type TrackPublisher = { removeTrack(trackId: string): void; setMuted(trackId: string, muted: boolean): Promise<void> };

/** Minimum time for a newly added peer to connect before the room ends as peerless, in milliseconds. */
const peerGrace = 60_000;

export class Room {
  readonly id: string;
  readonly incarnation: string = newIncarnation();
  readonly externalId: string | null;
  readonly #setup: RoomInit;
  readonly #log: Log;
  readonly #media: RoomMedia;
  readonly #peers = new Map<string, Peer>();
  readonly components: Components;
  readonly #measure: RoomStatsCollector;
  readonly #dataBudget: DataBudget;
  #config: RoomConfigView;
  #seq = 0;
  #activeSpeaker: string | null = null;
  #purge: Timer | undefined;
  /** When the room ends as peerless, in milliseconds since 1970. */
  #purgeAt = 0;
  #ended = false;

  constructor(setup: RoomInit) {
    this.id = setup.config.roomId;
    this.externalId = setup.externalId;
    this.#setup = setup;
    this.#config = setup.config;
    this.#log = setup.log.child({ room: this.id });
    this.#media = setup.engine.openRoom({
      roomId: this.id,
      videoCodec: setup.config.videoCodec,
      onCrashed: (reason) => this.crash(reason),
      onActiveSpeaker: (peerId) => {
        this.#activeSpeaker = peerId;
        this.#broadcast({ event: 'activeSpeaker', data: { peerId } });
      },
    });
    this.components = new Components({
      roomId: this.id,
      videoCodec: setup.config.videoCodec,
      kinds: setup.components,
      surroundings: {
        log: this.#log,
        room: { roomId: this.id, incarnation: this.incarnation, webhookUrl: () => this.#config.webhookUrl },
        media: this.#media,
        emit: (detail) => this.#emit(detail),
        broadcast: (event) => this.#broadcast(event),
        offerChanged: (change) => this.#offerChanged(change),
        published: () => this.tracks(),
        nameOf: (peerId) => this.#peers.get(peerId)?.name ?? null,
      },
    });
    this.#dataBudget = DataBudget.ofRoom(() => setup.limits().dataMessageMaxBytes);
    this.#measure = new RoomStatsCollector({ roomId: this.id, peers: () => this.#peers.values(), components: () => this.components.all() });
  }

  /** Media stats. @throws ServiceError `unavailable` */
  stats(): Promise<RoomStats> {
    return this.#measure.read();
  }

  /** Emits RoomCreated; to be called once the room can be found. */
  announce(): void {
    this.#log.info({ incarnation: this.incarnation }, 'room created');
    this.#emit({ type: 'RoomCreated' });
    this.#schedulePurge();
  }

  get ended(): boolean {
    return this.#ended;
  }

  get connectedPeers(): number {
    let count = 0;
    for (const peer of this.#peers.values()) if (peer.connected) count += 1;
    return count;
  }

  get config(): RoomConfigView {
    return this.#config;
  }

  view(): RoomView {
    return {
      id: this.id,
      incarnation: this.incarnation,
      externalId: this.externalId,
      config: this.#config,
      components: [...this.components.all()].map((component) => component.view()),
      peers: [...this.#peers.values()].map((peer) => peer.view()),
    };
  }

  patch(patch: RoomPatch): void {
    const given = Object.entries(patch).filter(([, value]) => value !== undefined);
    this.#config = { ...this.#config, ...Object.fromEntries(given) };
    if ('peerlessPurgeTimeout' in patch) this.#schedulePurge();
    if ('peerDisconnectedTimeout' in patch) for (const peer of this.#peers.values()) peer.timeoutChanged();
  }

  findPeer(peerId: string): Peer | undefined {
    return this.#peers.get(peerId);
  }

  /** @throws ServiceError `peer_not_found` */
  peer(peerId: string): Peer {
    const peer = this.#peers.get(peerId);
    if (!peer) throw new ServiceError('peer_not_found', `Peer ${peerId} does not exist`);
    return peer;
  }

  /** The peer or component that publishes a track. @throws ServiceError `track_not_found` */
  publisherOf(trackId: string): TrackPublisher {
    const component = this.components.publisherOf(trackId);
    if (component) return component;
    for (const peer of this.#peers.values()) for (const track of peer.tracks) if (track.id === trackId) return peer;
    throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
  }

  /**
   * Mutes or unmutes a track for all receivers. Unmuting also works for a track that ended muted.
   * @throws ServiceError `track_not_found`
   */
  async setTrackMuted(trackId: string, muted: boolean): Promise<void> {
    if (!muted) for (const peer of this.#peers.values()) if (peer.liftMute(trackId)) return;
    await this.publisherOf(trackId).setMuted(trackId, muted);
  }

  /** Returns the existing peer if its `externalId` is repeated. @throws ServiceError `room_full`, `already_exists` */
  addPeer(options: PeerOptions): { peer: Peer; created: boolean } {
    const { externalId } = options;
    const known = externalId === undefined ? undefined : [...this.#peers.values()].find((peer) => peer.externalId === externalId);
    if (known) return { peer: known, created: false };
    const id = options.peerId ?? newId();
    if (this.#peers.has(id)) throw new ServiceError('already_exists', `Cannot add peer with id "${id}" - peer already exists`);
    const limit = Math.min(this.#config.maxPeers ?? Number.POSITIVE_INFINITY, this.#setup.limits().maxPeersPerRoom);
    if (this.#peers.size >= limit) throw new ServiceError('room_full', `Reached webrtc peers limit in room ${this.id}`);
    const peer = this.#newPeer({
      id,
      externalId: externalId ?? null,
      metadata: options.metadata ?? null,
      permissions: options.options?.permissions ?? permissionsSchema.parse({}),
      enableSimulcast: options.options?.enableSimulcast ?? true,
    });
    this.#peers.set(id, peer);
    this.#emit({ type: 'PeerAdded', peerId: id, metadata: options.metadata ?? null });
    this.#graceForPeer();
    // The first peer needs the router; creating it now saves that time when the peer connects.
    this.#media.rtpCapabilities().catch((error: unknown) => this.#log.debug({ err: error }, 'could not prepare media of room'));
    return { peer, created: true };
  }

  addComponent(options: ComponentOptions): Promise<AddedComponent> {
    return this.components.add(options);
  }

  setPermissions(peerId: string, permissions: Partial<Permissions>): Peer {
    const peer = this.peer(peerId);
    peer.setPermissions({ ...peer.view().permissions, ...permissions });
    return peer;
  }

  /** @throws ServiceError `peer_not_found` if `to` contains an unknown peer. */
  sendData(data: RoomData): void {
    for (const peerId of data.to ?? []) this.peer(peerId);
    this.#broadcast({ event: 'data', data: { from: null, label: data.label, payload: data.payload } }, data.to ? { to: data.to } : {});
  }

  /** Tracks that its peers and components publish. */
  *tracks(): Iterable<Track> {
    yield* this.components.tracks();
    for (const peer of this.#peers.values()) yield* peer.tracks;
  }

  /** `reason` is part of RoomDeleted, `closeReason` is sent to the peers. Idempotent. */
  close(reason: string, closeReason: CloseReason = 'roomStopped'): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#purge?.stop();
    this.components.close('room_deleted');
    for (const peer of [...this.#peers.values()]) peer.remove('room_deleted', closeReason);
    this.#media.close();
    this.#log.info({ reason }, 'room ended');
    this.#setup.onEnded(reason);
    this.#emit({ type: 'RoomDeleted', reason });
  }

  crash(reason: string): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#purge?.stop();
    this.components.roomCrashed();
    for (const peer of [...this.#peers.values()]) peer.roomCrashed();
    this.#media.close();
    this.#log.error({ reason }, 'room crashed');
    this.#setup.onEnded('crashed');
    this.#emit({ type: 'RoomCrashed', reason });
  }

  #newPeer(setup: PeerInit): Peer {
    return new Peer(setup, {
      roomId: this.id,
      incarnation: this.incarnation,
      log: this.#log,
      media: this.#media,
      emit: (detail) => this.#emit(detail),
      broadcast: (event, target) => this.#broadcast(event, target),
      visibleTo: (peerId) => this.#offeredTo(peerId),
      present: (peerId) => ({
        peers: [...this.#peers.values()].filter((peer) => peer.connected && peer.id !== peerId).map((peer) => peer.remoteView()),
        components: [...this.components.all()].map((component) => component.remoteView()),
        activeSpeaker: this.#activeSpeaker,
      }),
      offerChanged: (change, peerId) => this.#offerChanged(change, peerId),
      presenceChanged: () => this.#schedulePurge(),
      forget: (peerId) => this.#peers.delete(peerId),
      dataMaxBytes: () => this.#setup.limits().dataMessageMaxBytes,
      mayDeliver: (bytes, target) => this.#dataBudget.take(bytes, [...this.#receivers(target)].length),
      maxTracks: () => this.#setup.limits().maxTracksPerPeer,
      disconnectedTimeout: () => seconds(this.#config.peerDisconnectedTimeout),
    });
  }

  #offeredTo(peerId: string): { tracks: Track[]; dataTracks: DataTrack[] } {
    const others = [...this.#peers.values()].filter((peer) => peer.id !== peerId);
    const tracks = [...others.flatMap((peer) => [...peer.tracks]), ...this.components.tracks()];
    return { tracks, dataTracks: others.flatMap((peer) => [...peer.dataTracks]) };
  }

  #offerChanged(change: PublicationChange, publisherId?: string): void {
    if (change.trackId !== undefined) this.components.offerChanged();
    for (const peer of this.#peers.values()) {
      if (peer.id === publisherId) continue;
      if (change.added) peer.subscriptions?.update();
      else if (change.trackId !== undefined) peer.subscriptions?.drop(change.trackId);
      else if (change.dataTrackId !== undefined) peer.subscriptions?.dropData(change.dataTrackId);
    }
  }

  #broadcast(event: PeerEvent, target: Target = {}): void {
    for (const peer of this.#receivers(target)) peer.send(event);
  }

  /** The connected peers that a target selects. */
  *#receivers(target: Target): Iterable<Peer> {
    const to = target.to ? new Set(target.to) : undefined;
    for (const peer of this.#peers.values())
      if (peer.connected && peer.id !== target.except && (to === undefined || to.has(peer.id))) yield peer;
  }

  #emit(detail: RoomEventDetail): void {
    this.#seq += 1;
    const event: RoomEvent = {
      id: `${this.incarnation}-${this.#seq}`,
      time: new Date().toISOString(),
      seq: this.#seq,
      node: this.#setup.node,
      incarnation: this.incarnation,
      roomId: this.id,
      ...detail,
    };
    this.#setup.onEvent(event);
  }

  /** The timer runs only while no peer is connected. */
  #schedulePurge(): void {
    this.#purge?.stop();
    const timeout = seconds(this.#config.peerlessPurgeTimeout);
    if (this.#ended || timeout === null || this.connectedPeers > 0) return;
    this.#purgeIn(timeout);
  }

  /**
   * A newly added peer gets time to connect. The timer is never moved back: otherwise adding peers repeatedly would keep an empty room
   * alive.
   */
  #graceForPeer(): void {
    const timeout = seconds(this.#config.peerlessPurgeTimeout);
    if (timeout === null || this.connectedPeers > 0) return;
    const grace = Math.min(timeout, peerGrace);
    if (this.#purgeAt - Date.now() < grace) this.#purgeIn(grace);
  }

  #purgeIn(delay: number): void {
    this.#purge?.stop();
    this.#purgeAt = Date.now() + delay;
    this.#purge = new Timer(delay, () => this.close('peerless'));
  }
}

function seconds(value: number | null): number | null {
  return value === null ? null : value * 1000;
}
