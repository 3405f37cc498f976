// Peer: a participant of a room, connected or disconnected, with its publications, subscriptions and permissions.
import { ServiceError } from '../../api/errors.ts';
import type { Metadata } from '../../api/json.ts';
import type { PeerView, Permissions } from '../../api/peer.ts';
import type { PeerEvent, RemotePeer, Target } from '../../api/socket/peer-events.ts';
import type { PeerMediaStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import { DataBudget } from './data-budget.ts';
import type { CloseReason, Direction, Layers, PeerConnection, PeerMedia, WireObject } from './interfaces.ts';
import { Moderation } from './moderation.ts';
import { Paced } from './paced.ts';
import type { PeerContext, Present } from './peer-context.ts';
import { Publications, type PublishDataRequest, type PublishRequest } from './publications.ts';
import { Subscriptions } from './subscriptions.ts';
import type { DataTrack, Track } from './track.ts';

export type PeerInit = {
  id: string;
  externalId: string | null;
  metadata: Metadata | null;
  permissions: Permissions;
  enableSimulcast: boolean;
};
export type JoinResult = Present & { permissions: Permissions; rtpCapabilities: WireObject };

/** State that exists only while the peer is connected. */
type Session = { connection: PeerConnection; media: PeerMedia; publications: Publications; subscriptions: Subscriptions };

export class Peer {
  readonly id: string;
  readonly roomId: string;
  /** Incarnation of its room. */
  readonly incarnation: string;
  readonly externalId: string | null;
  readonly #room: PeerContext;
  readonly #log: Log;
  readonly #enableSimulcast: boolean;
  readonly #moderation = new Moderation();
  readonly #dataBudget: DataBudget;
  readonly #shownMetadata = new Paced<Metadata | null>((metadata) => this.#showMetadata(metadata));
  #metadata: Metadata | null;
  #permissions: Permissions;
  #session: Session | undefined;
  #removal: Timer | undefined;
  #gone = false;

  constructor(setup: PeerInit, room: PeerContext) {
    this.id = setup.id;
    this.roomId = room.roomId;
    this.incarnation = room.incarnation;
    this.externalId = setup.externalId;
    this.#metadata = setup.metadata;
    this.#permissions = setup.permissions;
    this.#enableSimulcast = setup.enableSimulcast;
    this.#room = room;
    this.#log = room.log.child({ peer: setup.id });
    this.#dataBudget = DataBudget.ofPeer(room.dataMaxBytes);
    this.#scheduleRemoval();
  }

  get connected(): boolean {
    return this.#session !== undefined;
  }

  get tracks(): Iterable<Track> {
    return this.#session?.publications.tracks ?? [];
  }

  get dataTracks(): Iterable<DataTrack> {
    return this.#session?.publications.dataTracks ?? [];
  }

  /** Number of tracks that it publishes and receives. */
  get trackCount(): number {
    return [...this.tracks].length + (this.subscriptions?.size ?? 0);
  }

  get subscriptions(): Subscriptions | undefined {
    return this.#session?.subscriptions;
  }

  /** Display name: `name` of its metadata, or null. */
  get name(): string | null {
    const metadata = this.#metadata;
    const name = typeof metadata === 'object' && metadata !== null && 'name' in metadata ? metadata.name : undefined;
    return typeof name === 'string' && name.trim() !== '' ? name.trim() : null;
  }

  view(): PeerView {
    return {
      id: this.id,
      type: 'webrtc',
      externalId: this.externalId,
      status: this.connected ? 'connected' : 'disconnected',
      metadata: this.#metadata,
      permissions: this.#permissions,
      tracks: [...this.tracks].map((track) => track.view()),
    };
  }

  remoteView(): RemotePeer {
    return { id: this.id, metadata: this.#metadata, tracks: [...this.tracks].map((track) => track.view()) };
  }

  /** @throws ServiceError `conflict` if the peer is already connected. */
  connect(connection: PeerConnection): void {
    if (this.#gone) throw new ServiceError('peer_not_found', `Peer ${this.id} does not exist`);
    if (this.#session) throw new ServiceError('conflict', `Peer ${this.id} is already connected`);
    this.#removal?.stop();
    const media = this.#room.media.openPeer(this.id, {
      layersChanged: (trackId, layers) => connection.send({ event: 'layersChanged', data: { trackId, layers } }),
      failed: (reason) => this.crash(reason),
    });
    const subscriptions = new Subscriptions({
      log: this.#log,
      media,
      send: (event) => connection.send(event),
      published: () => this.#room.visibleTo(this.id),
      allowed: () => this.#permissions.subscribe,
      dataAllowed: () => this.#permissions.subscribe && this.#permissions.data,
    });
    const publications = new Publications({
      peerId: this.id,
      enableSimulcast: this.#enableSimulcast,
      log: this.#log,
      media,
      moderation: this.#moderation,
      emit: this.#room.emit,
      broadcast: (event, except) => this.#room.broadcast(event, except === undefined ? {} : { except }),
      publicationChanged: (change) => this.#room.offerChanged(change, this.id),
      permissions: () => this.#permissions,
      maxTracks: this.#room.maxTracks,
    });
    this.#session = { connection, media, publications, subscriptions };
    this.#log.info('peer connected');
    this.#room.emit({ type: 'PeerConnected', peerId: this.id });
    this.#room.broadcast({ event: 'peerJoined', data: { peer: this.remoteView() } }, { except: this.id });
    this.#room.presenceChanged();
  }

  /** Separate media for a connectivity check, invisible to the room. The caller closes it. */
  openCheck(): PeerMedia {
    if (this.#gone) throw new ServiceError('peer_not_found', `Peer ${this.id} does not exist`);
    return this.#room.media.openPeer(this.id, { layersChanged: () => {}, failed: () => {} });
  }

  /**
   * How long to wait for a lost socket to resume, in milliseconds: at most the disconnect timeout of the peer. `since`: time it was silent
   * before.
   */
  resumeWindow(most: number, since = 0): number {
    return Math.max(0, Math.min(most, (this.#room.disconnectedTimeout() ?? Number.POSITIVE_INFINITY) - since));
  }

  /** Idle timeout of its socket, in milliseconds: at most half the disconnect timeout, so that the other half remains for reconnecting. */
  pongTimeout(most: number): number {
    return Math.min(most, (this.#room.disconnectedTimeout() ?? Number.POSITIVE_INFINITY) / 2);
  }

  /** The connection is lost permanently: tracks end, the peer stays. `since`: milliseconds since its socket was lost. Idempotent. */
  disconnect(since = 0): void {
    if (!this.#endSession()) return;
    this.#room.presenceChanged();
    this.#scheduleRemoval(since);
  }

  /** Removes the peer from its room. `reason` is part of PeerDeleted, `closeReason` is sent to the peer. Idempotent. */
  remove(reason: string, closeReason: CloseReason = 'peerRemoved'): void {
    this.#leave(closeReason, () => this.#room.emit({ type: 'PeerDeleted', peerId: this.id, reason }));
  }

  /** The session of the peer failed permanently. */
  crash(reason: string): void {
    this.#log.error({ reason }, 'peer crashed');
    this.#leave('internalError', () => this.#room.emit({ type: 'PeerCrashed', peerId: this.id, reason }));
  }

  /** The room crashed: the connection ends with PeerDisconnected, followed by RoomCrashed only. */
  roomCrashed(): void {
    this.#leave('internalError', () => {});
  }

  async welcome(): Promise<JoinResult> {
    const rtpCapabilities = await this.#room.media.rtpCapabilities();
    return { permissions: this.#permissions, rtpCapabilities, ...this.#room.present(this.id) };
  }

  async join(data: { rtpCapabilities: WireObject; metadata?: Metadata | null | undefined }): Promise<void> {
    const { subscriptions } = this.#live();
    if (data.metadata !== undefined) this.setMetadata(data.metadata);
    subscriptions.join(data.rtpCapabilities);
  }

  async createTransport(direction: Direction, options: { sctp: boolean }): Promise<WireObject> {
    const session = this.#live();
    if (direction === 'send') session.publications.clear();
    const transport = await session.media.createTransport(direction, { sctp: options.sctp && this.#permissions.data });
    if (direction === 'recv') {
      session.subscriptions.transportCreated();
      // The response must be sent before events of the new transport.
      setImmediate(() => session === this.#session && session.subscriptions.update());
    }
    return transport;
  }

  async connectTransport(transportId: string, dtlsParameters: WireObject): Promise<void> {
    await this.#live().media.connectTransport(transportId, dtlsParameters);
  }

  async restartIce(transportId: string): Promise<WireObject> {
    return this.#live().media.restartIce(transportId);
  }

  async publish(request: PublishRequest): Promise<{ trackId: string; muted: boolean }> {
    return this.#live().publications.publish(request);
  }

  unpublish(trackId: string): void {
    this.#live().publications.remove(trackId, true);
  }

  async pauseTrack(trackId: string): Promise<void> {
    await this.#live().publications.setPaused(trackId, true);
  }

  async resumeTrack(trackId: string): Promise<void> {
    await this.#live().publications.setPaused(trackId, false);
  }

  async trackReady(trackId: string): Promise<void> {
    await this.#live().subscriptions.ready(trackId);
  }

  async subscribe(trackId: string): Promise<void> {
    await this.#live().subscriptions.subscribe(trackId);
  }

  unsubscribe(trackId: string): void {
    this.#live().subscriptions.unsubscribe(trackId);
  }

  async setSubscription(mode: 'auto' | 'manual'): Promise<void> {
    this.#live().subscriptions.setMode(mode);
  }

  async setPreferredLayers(trackId: string, layers: Layers): Promise<void> {
    await this.#live().subscriptions.setPreferredLayers(trackId, layers);
  }

  async setPriority(trackId: string, priority: number): Promise<void> {
    await this.#live().subscriptions.setPriority(trackId, priority);
  }

  /** Other peers get a change at once, but at most one per second: of faster changes only the last, at the end of the second. */
  setMetadata(metadata: Metadata | null): void {
    this.#shownMetadata.set(metadata);
  }

  #showMetadata(metadata: Metadata | null): boolean {
    if (JSON.stringify(metadata) === JSON.stringify(this.#metadata)) return false;
    this.#metadata = metadata;
    this.#room.emit({ type: 'PeerMetadataUpdated', peerId: this.id, metadata });
    this.#room.broadcast({ event: 'peerMetadataUpdated', data: { peerId: this.id, metadata } }, { except: this.id });
    return true;
  }

  setTrackMetadata(trackId: string, metadata: Metadata | null): void {
    this.#live().publications.setMetadata(trackId, metadata);
  }

  async publishData(request: PublishDataRequest): Promise<{ dataTrackId: string }> {
    return this.#live().publications.publishData(request);
  }

  unpublishData(dataTrackId: string): void {
    this.#live().publications.removeData(dataTrackId);
  }

  /** @throws ServiceError `forbidden`, `too_large`, `too_many_requests` */
  sendData(data: { label: string; payload: Metadata; to?: readonly string[] | undefined }): void {
    this.#live();
    if (!this.#permissions.data) throw new ServiceError('forbidden', 'This peer is not permitted to send data');
    const event: PeerEvent = { event: 'data', data: { from: this.id, label: data.label, payload: data.payload } };
    const most = this.#room.dataMaxBytes();
    const bytes = Buffer.byteLength(JSON.stringify(data.payload));
    if (bytes > most) throw new ServiceError('too_large', `Expected payload to have at most ${most} bytes of JSON, got: ${bytes}`);
    if (!this.#dataBudget.take(bytes, 1)) throw new ServiceError('too_many_requests', 'This peer exceeds its data rate limit');
    const target: Target = data.to ? { to: data.to, except: this.id } : { except: this.id };
    if (!this.#room.mayDeliver(bytes, target)) throw new ServiceError('too_many_requests', 'The room exceeds its data delivery limit');
    this.#room.broadcast(event, target);
  }

  async stats(): Promise<Awaited<ReturnType<PeerMedia['stats']>>> {
    return this.#live().media.stats();
  }

  /** Stats of its media, for at most `most` received tracks; undefined while it is not connected. */
  async figures(most: number): Promise<PeerMediaStats | undefined> {
    const media = this.#session?.media;
    try {
      return await media?.figures(most);
    } catch (error) {
      if (media !== this.#session?.media) return undefined;
      throw error;
    }
  }

  /** Sends an event. Without a connection it is dropped: the next welcome contains the current state. */
  send(event: PeerEvent): void {
    this.#session?.connection.send(event);
  }

  /** Sets permissions, effective at once: tracks that are no longer permitted end. */
  setPermissions(permissions: Permissions): void {
    this.#permissions = permissions;
    this.send({ event: 'permissionsUpdated', data: { permissions } });
    this.#session?.publications.enforce(permissions);
    this.#session?.subscriptions.update();
  }

  /** Moderation: ends a track and notifies its publisher. */
  removeTrack(trackId: string): void {
    this.#live().publications.remove(trackId, false);
  }

  async setMuted(trackId: string, muted: boolean): Promise<void> {
    await this.#live().publications.setMuted(trackId, muted);
  }

  /** Ends the mute of an unpublished track that would start muted. @returns true if there was one */
  liftMute(trackId: string): boolean {
    return this.#moderation.lift(trackId);
  }

  timeoutChanged(): void {
    this.#session?.connection.pongTimeoutChanged();
    this.#scheduleRemoval();
  }

  /** (Re)starts the timeout after which a disconnected peer is removed. */
  #scheduleRemoval(since = 0): void {
    this.#removal?.stop();
    const timeout = this.#room.disconnectedTimeout();
    if (this.#gone || this.connected || timeout === null) return;
    this.#removal = new Timer(Math.max(0, timeout - since), () => this.remove('timeout'));
  }

  #live(): Session {
    if (!this.#session) throw new ServiceError('peer_not_found', `Peer ${this.id} is not connected`);
    return this.#session;
  }

  /** @returns true if there was a session */
  #endSession(): boolean {
    const session = this.#session;
    if (!session) return false;
    session.subscriptions.close();
    session.publications.close();
    this.#session = undefined;
    session.media.close();
    this.#log.info('peer disconnected');
    this.#room.emit({ type: 'PeerDisconnected', peerId: this.id });
    this.#room.broadcast({ event: 'peerLeft', data: { peerId: this.id } }, { except: this.id });
    return true;
  }

  #leave(closeReason: CloseReason, announce: () => void): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#removal?.stop();
    this.#shownMetadata.stop();
    const connection = this.#session?.connection;
    this.#endSession();
    announce();
    this.#room.forget(this.id);
    connection?.close(closeReason);
    this.#room.presenceChanged();
  }
}
