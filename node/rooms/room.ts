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
//   peer waits instead of being connected -> PeerWaitingEnded takes the place of PeerDisconnected.
//   peer crashed (its session failed)     -> TrackRemoved, PeerDisconnected, PeerCrashed, `Internal server error`.
//   component finished or removed         -> TrackRemoved, ComponentRemoved. crashed -> TrackRemoved, ComponentCrashed.
//   media of peers lost                   -> no event: their tracks are interrupted until they publish them again. Connections that
//                                            cannot do that are lost permanently.
//   connection lost permanently           -> TrackRemoved, PeerDisconnected; the peer stays and may reconnect.
//   track ends                            -> every subscription of it, then TrackRemoved to all.
// close() and crash() are public, idempotent and final; a child never closes its parent.

import { ServiceError } from '../../api/errors.ts';
import type { RoomEventListener } from '../../api/events.ts';
import type { Metadata } from '../../api/json.ts';
import type { RoomConfigView, RoomData, RoomPatch, RoomView } from '../../api/room.ts';
import type { ReloadableValues } from '../../api/settings/reloadable.ts';
import type { RoomStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import { currentSpan } from '../common/request-context.ts';
import { peerEventOf } from './changes/peer-events.ts';
import type { RoomChange } from './changes/room-change.ts';
import { ServerEvents } from './changes/server-events.ts';
import { updateSubscriptions } from './changes/subscription-changes.ts';
import { Components } from './components.ts';
import { newIncarnation } from './ids.ts';
import type { CloseReason, ComponentFactory, MediaEngine, RoomMedia } from './interfaces.ts';
import { PeerlessTimeout } from './peerless-timeout.ts';
import { DataBudget } from './peers/data-budget.ts';
import type { Present } from './peers/peer-context.ts';
import { Peers } from './peers/peers.ts';
import { Shown } from './peers/shown.ts';
import { Programme } from './programme.ts';
import { RoomStatsCollector } from './room-stats-collector.ts';
import { Rpcs } from './rpcs.ts';
import type { Track } from './track.ts';

export type RoomInit = {
  config: RoomConfigView;
  externalId: string | null;
  node: string;
  log: Log;
  engine: MediaEngine;
  components: ComponentFactory;
  /** Limits of the node; read on every use, because they are reloadable. */
  limits: () => ReloadableValues['limits'] & Pick<ReloadableValues['timeouts'], 'accessTokenMaxTtl'>;
  onEvent: RoomEventListener;
  /** The room ended; called once, before its last event. `reason` as in the event. */
  onEnded: (reason: string) => void;
};

/** The publisher of a track, for moderation. */
export type TrackPublisher = { removeTrack(trackId: string): void; setMuted(trackId: string, muted: boolean): Promise<void> };

export class Room {
  readonly id: string;
  readonly incarnation: string = newIncarnation();
  readonly externalId: string | null;
  /** Traceparent of the request that created it. */
  readonly trace = currentSpan()?.traceparent;
  readonly peers: Peers;
  readonly components: Components;
  readonly rpcs = new Rpcs();
  readonly #init: RoomInit;
  readonly #log: Log;
  readonly #media: RoomMedia;
  readonly #stats: RoomStatsCollector;
  readonly #serverEvents: ServerEvents;
  readonly #peerlessTimeout: PeerlessTimeout;
  readonly #programme: Programme;
  readonly #metadata: Shown<Metadata | null>;
  #config: RoomConfigView;
  #activeSpeaker: string | null = null;
  #ended = false;

  constructor(init: RoomInit) {
    this.id = init.config.roomId;
    this.externalId = init.externalId;
    this.#init = init;
    this.#config = init.config;
    this.#metadata = new Shown<Metadata | null>(init.config.metadata, (metadata) => {
      this.#config = { ...this.#config, metadata };
      this.#announce({ kind: 'roomMetadataUpdated', metadata });
    });
    this.#log = init.log.child({ room: this.id });
    this.#serverEvents = new ServerEvents({ node: init.node, incarnation: this.incarnation, roomId: this.id, onEvent: init.onEvent });
    this.#media = init.engine.openRoom({
      roomId: this.id,
      videoCodec: init.config.videoCodec,
      onCrashed: (reason) => this.crash(reason),
      onActiveSpeaker: (peerId) => {
        this.#activeSpeaker = peerId;
        this.#announce({ kind: 'activeSpeakerChanged', peerId });
      },
      onAudioLevels: (levels) => {
        for (const { session } of this.peers.connected()) if (session.audioLevels) session.send({ event: 'audioLevels', data: { levels } });
      },
    });
    this.components = this.#openComponents();
    this.#programme = new Programme(() => this.components.all());
    this.peers = this.#openPeers();
    this.#peerlessTimeout = new PeerlessTimeout({
      timeout: () => milliseconds(this.#config.peerlessPurgeTimeout),
      peerless: () => this.peers.peerless,
      expired: () => this.close('peerless'),
    });
    this.#stats = new RoomStatsCollector({ roomId: this.id, peers: () => this.peers.all(), components: () => this.components.all() });
  }

  /** Media stats. @throws ServiceError `unavailable` */
  stats(): Promise<RoomStats> {
    return this.#stats.read();
  }

  /** Emits RoomCreated; to be called once the room can be found. */
  created(): void {
    this.#log.info({ incarnation: this.incarnation }, 'room created');
    this.#announce({ kind: 'roomCreated' });
  }

  get ended(): boolean {
    return this.#ended;
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
      peers: [...this.peers.all()].map((peer) => peer.view()),
      legs: this.#media.legs(),
    };
  }

  patch(patch: RoomPatch): void {
    const given = Object.entries(patch).filter(([, value]) => value !== undefined);
    const { metadata } = this.#config;
    this.#config = { ...this.#config, ...Object.fromEntries(given), metadata };
    if (patch.metadata !== undefined) this.#metadata.replace(patch.metadata);
    if (this.#config.admission === 'automatic') this.peers.admitWaiting();
    if ('peerlessPurgeTimeout' in patch) this.#peerlessTimeout.restart();
    if ('peerDisconnectedTimeout' in patch) this.peers.timeoutChanged();
  }

  /** The publisher of a track. @throws ServiceError `track_not_found` */
  publisherOf(trackId: string): TrackPublisher {
    const publisher = this.components.publisherOf(trackId) ?? this.peers.publisherOf(trackId);
    if (!publisher) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    return publisher;
  }

  /**
   * Mutes or unmutes a track for all receivers. Unmuting also works for a track that ended muted.
   * @throws ServiceError `track_not_found`
   */
  async setTrackMuted(trackId: string, muted: boolean): Promise<void> {
    if (!muted) for (const { moderation } of this.peers.all()) if (moderation.lift(trackId)) return;
    await this.publisherOf(trackId).setMuted(trackId, muted);
  }

  /** @throws ServiceError `peer_not_found` if `to` contains an unknown peer. */
  sendData({ label, payload, to }: RoomData): void {
    for (const peerId of to ?? []) this.peers.get(peerId);
    this.#announce({ kind: 'dataSent', from: null, label, payload, to });
  }

  /** Tracks that its peers and components publish. */
  *tracks(): Iterable<Track> {
    yield* this.components.tracks();
    yield* this.peers.tracks();
  }

  /** `reason` is part of RoomDeleted, `closeReason` is sent to the peers. Idempotent. */
  close(reason: string, closeReason: CloseReason = 'roomStopped'): void {
    if (this.#ended) return;
    this.#stop();
    this.components.close('room_deleted');
    this.peers.close('room_deleted', closeReason);
    this.#media.close();
    this.#log.info({ reason }, 'room ended');
    this.#init.onEnded(reason);
    this.#announce({ kind: 'roomDeleted', reason });
  }

  crash(reason: string): void {
    if (this.#ended) return;
    this.#stop();
    this.components.roomCrashed();
    this.peers.roomCrashed();
    this.#media.close();
    this.#log.error({ reason }, 'room crashed');
    this.#init.onEnded('crashed');
    this.#announce({ kind: 'roomCrashed', reason });
  }

  #stop(): void {
    this.#ended = true;
    this.#peerlessTimeout.stop();
    this.#metadata.stop();
  }

  #openComponents(): Components {
    const { components, config } = this.#init;
    return new Components({
      roomId: this.id,
      videoCodec: config.videoCodec,
      factory: components,
      context: {
        log: this.#log,
        room: { roomId: this.id, incarnation: this.incarnation, webhookUrl: () => this.#config.webhookUrl },
        media: this.#media,
        announce: (change) => this.#announce(change),
        published: () => this.tracks(),
        nameOf: (peerId) => this.peers.find(peerId)?.profile.name ?? null,
        programmeChanged: () => this.#programme.update(),
      },
    });
  }

  #openPeers(): Peers {
    const { limits } = this.#init;
    const dataMaxBytes = () => limits().dataMessageMaxBytes;
    const dataBudget = DataBudget.ofRoom(dataMaxBytes);
    return new Peers({
      maxPeers: () => Math.min(this.#config.maxPeers ?? Number.POSITIVE_INFINITY, limits().maxPeersPerRoom),
      accessTokenMaxTtl: () => limits().accessTokenMaxTtl,
      publishedByComponents: () => this.components.tracks(),
      context: {
        roomId: this.id,
        incarnation: this.incarnation,
        log: this.#log,
        media: this.#media,
        announce: (change) => this.#announce(change),
        present: (peerId) => this.#presentFor(peerId),
        programme: this.#programme,
        setMetadata: (metadata) => this.#metadata.set(metadata),
        dataMaxBytes,
        relay: (message, target) => {
          for (const { session } of this.peers.selectedBy(target)) session.connection.relayed?.(message);
        },
        requestRpc: (from, to, request) => this.rpcs.request(from, this.peers.get(to), request),
        respondRpc: (by, rpcId, outcome) => this.rpcs.respond(by, rpcId, outcome),
        mayDeliver: (bytes, target) => dataBudget.take(bytes, [...this.peers.selectedBy(target)].length),
        automaticAdmission: () => this.#config.admission === 'automatic',
        maxTracks: () => limits().maxTracksPerPeer,
        audioOnly: this.#init.config.videoCodec === 'none',
        disconnectedTimeout: () => milliseconds(this.#config.peerDisconnectedTimeout),
      },
    });
  }

  #presentFor(peerId: string): Present {
    const visible = [...this.peers.selectedBy({ except: peerId })].filter(({ rights }) => !rights.hidden);
    return {
      roomMetadata: this.#config.metadata,
      peers: visible.map((peer) => peer.remoteView()),
      components: [...this.components.all()].map((component) => component.remoteView()),
      activeSpeaker: this.#activeSpeaker,
    };
  }

  /** Every change of the room, its peers and components passes here once. Subscriptions end before peers are notified of the cause. */
  #announce(change: RoomChange): void {
    this.#serverEvents.emit(change);
    updateSubscriptions(change, this.peers, this.components);
    const targeted = peerEventOf(change);
    if (targeted) for (const { session } of this.peers.selectedBy(targeted.target)) session.send(targeted.event);
    // A text for some peers is not for everybody who watches.
    if (change.kind === 'transcriptAdded' && !change.to) this.components.transcribed(change.transcript);
    if (change.kind === 'peerDisconnected') this.rpcs.sessionEnded(change.peerId);
    this.#peerlessTimeout.update(change);
  }
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : seconds * 1000;
}
