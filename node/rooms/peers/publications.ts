// Publications of one connected peer: its tracks and data tracks, their pause and mute states, and the track limit.
import { ServiceError } from '../../../api/errors.ts';
import type { Metadata } from '../../../api/json.ts';
import type { Permissions } from '../../../api/peer.ts';
import type { PeerEvent } from '../../../api/socket/peer-events.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { ChangedBy, RoomChange } from '../changes/room-change.ts';
import { newId } from '../ids.ts';
import type { PeerMedia, WireObject } from '../interfaces.ts';
import { sourceOf, Track } from '../track.ts';
import { DataPublications, type DataReceiver } from './data/data-publications.ts';
import { LayerRequests, layerPauseDelayMs } from './layer-requests.ts';
import type { Moderation } from './moderation.ts';
import { Paced } from './paced.ts';
import type { MediaPaths } from './paths/media-paths.ts';
import { Succession } from './paths/succession.ts';
import type { PublishBackupRequest, PublishRequest } from './publish-request.ts';
import { mayReceive, type Receivers } from './receivers.ts';

/** `media`: of the path that the peer uses; `others`: of one that it changes to, or has changed from. */
export type PublishingPaths = Pick<MediaPaths, 'supported' | 'media' | 'others' | 'mediaOf'>;

export type PublicationsOptions = {
  peerId: string;
  enableSimulcast: boolean;
  log: Log;
  paths: PublishingPaths;
  /** Outlives the session. */
  moderation: Moderation;
  /** To the client of the peer. */
  send: (event: PeerEvent) => void;
  /** Announces a change to the room. */
  announce: (change: RoomChange) => void;
  permissions: () => Permissions;
  dataReceivers: () => Iterable<DataReceiver>;
  /** True if the room accepts no video. */
  audioOnly: boolean;
  maxTracks: () => number;
};

/** Time to publish an interrupted track again, in milliseconds. Its client may be without a socket. */
const interruptedTimeoutMs = 60_000;
/** Of a track that is being published. */
const maxLayers = 8;

/** Lives as long as one session of a peer. */
export class Publications {
  /** What the client does: publishes its tracks again when the media of the peer is lost, and stops layers that no receiver needs. */
  readonly client = { migrates: false, stopsLayers: false };
  readonly #options: PublicationsOptions;
  readonly #tracks = new Map<string, Track>();
  readonly #shownMetadata = new Map<string, Paced<Metadata | null>>();
  readonly #layers: LayerRequests;
  /** What the peer publishes over a second path too. */
  readonly succession: Succession;
  readonly data: DataPublications;
  #receivers: Receivers = 'all';
  /** Requests in flight count too, so that concurrent requests cannot exceed the limit. */
  #pending = 0;
  /** Removes tracks that were not published again after a loss of the media. */
  #interruption: Timer | undefined;
  #closed = false;

  constructor(options: PublicationsOptions) {
    this.#options = options;
    this.#layers = new LayerRequests({
      pauseDelayMs: layerPauseDelayMs,
      topLayer: (trackId) => (this.#tracks.get(trackId)?.layers ?? maxLayers) - 1,
      request: (trackId, layer) => {
        const exists = this.#tracks.has(trackId);
        if (exists) options.send({ event: 'layersWanted', data: { trackId, spatialLayer: layer ?? null } });
        return exists;
      },
    });
    this.succession = new Succession({
      tracks: () => this.#tracks.values(),
      announce: options.announce,
      begins: ({ id }) => this.#layers.forget(id),
      returns: ({ id, layers }) => {
        this.#layers.forget(id);
        // The client may have stopped some for the successor.
        if (this.client.stopsLayers) options.send({ event: 'layersWanted', data: { trackId: id, spatialLayer: layers - 1 } });
      },
    });
    this.data = new DataPublications({
      ...{ peerId: options.peerId, paths: options.paths, send: options.send, announce: options.announce, receivers: options.dataReceivers },
      mayPublish: () => this.#mayPublishData(),
      reserved: (work) => this.#reserved(work),
    });
  }

  get tracks(): Iterable<Track> {
    return this.#tracks.values();
  }

  /** Number of its tracks and data tracks, those included that are being published. */
  get count(): number {
    return this.#tracks.size + this.data.count + this.#pending;
  }

  /** True while something is published over the first one of two paths only. */
  get holdsPath(): boolean {
    return this.count > this.succession.size + this.data.succeeded;
  }

  /** The second path ended. */
  cancelPath(): void {
    this.succession.cancel();
    this.data.cancel();
  }

  /**
   * @throws ServiceError `forbidden`, `tracks_full`, `invalid_field`, `not_found`, `conflict`, `track_not_found` if the server removed the
   * track
   */
  async publish(request: PublishRequest): Promise<{ trackId: string; muted: boolean }> {
    const { peerId, moderation } = this.#options;
    const media = this.#media;
    const { transportId, kind, rtpParameters, paused, encrypted = false, backup } = request;
    const over = this.#options.paths.mediaOf(transportId);
    if (over !== media) return this.succession.add(request, over);
    const named = { key: request.key ?? null, kind, metadata: request.metadata ?? null };
    const interrupted = this.#interruptedWith(named);
    if (interrupted) return this.#restore(interrupted, request);
    this.#mayPublish(named);
    const layers = this.#layersOf(rtpParameters);
    const trackId = request.trackId ?? newId();
    const silent = paused || moderation.mutes(named);
    const { encoding, simulcast } = await this.#reserved(() =>
      media.publish({ transportId, trackId, kind, rtpParameters, paused: silent }),
    );
    let muted: boolean;
    try {
      this.#mayPublish(named);
      muted = moderation.take(named);
    } catch (error) {
      media.unpublish(trackId);
      throw error;
    }
    const described = { encoding, simulcast, layers, paused, muted, encrypted, backup };
    const track = new Track({ id: trackId, ...named, origin: { peerId }, ...described });
    this.#tracks.set(trackId, track);
    this.#options.log.info({ track: trackId, kind, encoding }, 'track added');
    this.#options.announce({ kind: 'trackAdded', track });
    // The mute may have ended while the media was created.
    if (track.silent !== silent) await media.setPaused(trackId, track.silent);
    return { trackId, muted };
  }

  /** Publishes a track in another codec too. @throws ServiceError as publish(), `conflict` if the track has no backup, or already does */
  async publishBackup({ trackId, transportId, rtpParameters }: PublishBackupRequest): Promise<void> {
    const { announce, log } = this.#options;
    const media = this.#media;
    const track = this.#require(trackId);
    const { backup, kind, silent } = track;
    if (!backup || backup.published) throw new ServiceError('conflict', `Track ${trackId} has no unpublished backup`);
    this.#layersOf(rtpParameters);
    const { encoding } = await media.publish({ transportId, trackId: backup.id, kind, rtpParameters, paused: silent, backupOf: trackId });
    // It was removed meanwhile.
    if (this.#tracks.get(trackId) !== track) {
      media.unpublish(backup.id);
      throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    }
    backup.published = true;
    log.info({ track: trackId, kind, encoding }, 'backup of track added');
    announce({ kind: 'trackBackupAdded', track });
    if (track.silent !== silent) await media.setPaused(backup.id, track.silent);
  }

  /** `layer`: the largest one that receivers of a video need; undefined: none. */
  layerNeeded(trackId: string, layer: number | undefined): void {
    if (this.client.stopsLayers) this.#layers.need(trackId, layer);
  }

  /** The media of the peer was lost. A track stays if its client publishes it again, with the same key. */
  mediaLost(): void {
    // Tracks that are published again begin with all layers.
    this.#layers.close();
    this.data.clear();
    for (const track of [...this.#tracks.values()]) {
      if (track.key === null) this.removeTrack(track.id, 'publisher');
      else {
        track.interrupt();
        this.#options.announce({ kind: 'trackInterrupted', track });
      }
    }
    this.#interruption?.stop();
    this.#interruption = new Timer(interruptedTimeoutMs, () => {
      for (const { id, interrupted } of [...this.#tracks.values()]) if (interrupted) this.removeTrack(id, 'publisher');
    });
  }

  #interruptedWith({ key, kind }: Pick<Track, 'key' | 'kind'>): Track | undefined {
    if (key === null) return undefined;
    return [...this.#tracks.values()].find((track) => track.interrupted && track.key === key && track.kind === kind);
  }

  /** The track keeps its id, its mute and its receivers. */
  async #restore(track: Track, request: PublishRequest): Promise<{ trackId: string; muted: boolean }> {
    const { announce, permissions } = this.#options;
    const media = this.#media;
    const { id: trackId, kind } = track;
    const { transportId, rtpParameters, paused, metadata = null } = request;
    requirePermission({ kind, metadata }, permissions());
    const silent = paused || track.muted;
    await media.publish({ transportId, trackId, kind, rtpParameters, paused: silent });
    // It was removed meanwhile.
    if (this.#tracks.get(trackId) !== track) {
      media.unpublish(trackId);
      throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    }
    track.restore();
    announce({ kind: 'trackRestored', track });
    await this.setPaused(trackId, paused);
    if (track.silent !== silent) await media.setPaused(trackId, track.silent);
    this.setMetadata(trackId, metadata);
    return { trackId, muted: track.muted };
  }

  /** The publisher is notified only if the server removes the track. */
  removeTrack(trackId: string, by: ChangedBy = 'server'): void {
    const track = this.#require(trackId);
    this.#tracks.delete(trackId);
    this.#layers.forget(trackId);
    this.#shownMetadata.get(trackId)?.stop();
    this.#shownMetadata.delete(trackId);
    this.#options.moderation.ended(track, by === 'server');
    this.#options.log.info({ track: trackId }, 'track removed');
    this.succession.forget(track);
    this.#options.announce({ kind: 'trackRemoved', track, by });
    for (const media of this.#medias) {
      media.unpublish(trackId);
      if (track.backup) media.unpublish(track.backup.id);
    }
  }

  async setPaused(trackId: string, paused: boolean): Promise<void> {
    const track = this.#require(trackId);
    if (track.paused === paused) return;
    track.paused = paused;
    await this.#setMediaPaused(track);
    this.#options.announce({ kind: paused ? 'trackPaused' : 'trackResumed', track, by: 'publisher' });
  }

  /** Moderation: the publisher is notified and cannot undo a mute. */
  async setMuted(trackId: string, muted: boolean): Promise<void> {
    const track = this.#require(trackId);
    if (track.muted === muted) return;
    track.muted = muted;
    await this.#setMediaPaused(track);
    this.#options.announce({ kind: muted ? 'trackPaused' : 'trackResumed', track, by: 'server' });
  }

  async #setMediaPaused(track: Track): Promise<void> {
    const { id, silent, interrupted, backup } = track;
    if (interrupted) return;
    const media = this.#media;
    await Promise.all([media.setPaused(id, silent), backup?.published && media.setPaused(backup.id, silent)]);
    if (!this.succession.has(track)) return;
    for (const other of this.#options.paths.others) await other.setPaused(id, silent);
  }

  /** The number of simulcast encodings. @throws ServiceError `forbidden` */
  #layersOf({ encodings }: WireObject): number {
    const layers = Array.isArray(encodings) ? Math.max(1, encodings.length) : 1;
    if (!this.#options.enableSimulcast && layers > 1) throw new ServiceError('forbidden', 'Simulcast is not enabled for this peer');
    return layers;
  }

  get #media(): PeerMedia {
    return this.#options.paths.media;
  }

  get #medias(): readonly PeerMedia[] {
    return [this.#media, ...this.#options.paths.others];
  }

  /** Effective at once for tracks and peers that exist, and for later ones; components receive all tracks. */
  setReceivers(receivers: Receivers): void {
    this.#receivers = receivers;
    this.#options.announce({ kind: 'receiversChanged', peerId: this.#options.peerId });
  }

  /** True if the peer with this identity may receive a track. */
  permits(identity: string, trackId: string): boolean {
    return mayReceive(this.#receivers, identity, trackId);
  }

  /** Published at most once per second, like the metadata of a peer. @throws ServiceError `track_not_found`, `forbidden` */
  setMetadata(trackId: string, metadata: Metadata | null): void {
    const track = this.#require(trackId);
    requirePermission({ kind: track.kind, metadata }, this.#options.permissions());
    const shown = this.#shownMetadata.get(trackId) ?? new Paced((latest) => this.#showMetadata(track, latest));
    this.#shownMetadata.set(trackId, shown);
    shown.set(metadata);
  }

  #showMetadata(track: Track, metadata: Metadata | null): boolean {
    if (JSON.stringify(metadata) === JSON.stringify(track.metadata)) return false;
    track.metadata = metadata;
    this.#options.announce({ kind: 'trackMetadataUpdated', peerId: this.#options.peerId, track });
    return true;
  }

  /** Ends publications that are no longer permitted. */
  enforce(permissions: Permissions): void {
    for (const track of [...this.#tracks.values()]) if (!isPermitted(track, permissions)) this.removeTrack(track.id);
    if (!permissions.data) this.data.clear();
  }

  /** A new send transport replaces the old one: ends its publications. Interrupted ones are expected over the new one. */
  clear(): void {
    for (const { id, interrupted } of [...this.#tracks.values()]) if (!interrupted) this.removeTrack(id, 'publisher');
    this.data.clear();
  }

  close(): void {
    this.#closed = true;
    this.#interruption?.stop();
    this.#layers.close();
    this.clear();
    for (const id of [...this.#tracks.keys()]) this.removeTrack(id, 'publisher');
  }

  #require(trackId: string): Track {
    const track = this.#tracks.get(trackId);
    if (!track) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    return track;
  }

  #mayPublish(track: Pick<Track, 'kind' | 'key' | 'metadata'>): void {
    const { kind, key } = track;
    if (this.#closed) throw new ServiceError('peer_not_found', `Peer ${this.#options.peerId} is not connected`);
    if (key !== null && [...this.#tracks.values()].some((track) => track.key === key))
      throw new ServiceError('conflict', 'A track with this key is already published');
    if (kind === 'video' && this.#options.audioOnly) throw new ServiceError('forbidden', 'This room has audio only');
    requirePermission(track, this.#options.permissions());
  }

  #mayPublishData(): void {
    if (this.#closed) throw new ServiceError('peer_not_found', `Peer ${this.#options.peerId} is not connected`);
    if (!this.#options.permissions().data) throw new ServiceError('forbidden', 'This peer is not permitted to publish data');
  }

  async #reserved<T>(work: () => Promise<T>): Promise<T> {
    const limit = this.#options.maxTracks();
    if (this.count >= limit) {
      throw new ServiceError('tracks_full', `Reached tracks limit of ${limit} for peer ${this.#options.peerId}`);
    }
    this.#pending += 1;
    try {
      return await work();
    } finally {
      this.#pending -= 1;
    }
  }
}

type Published = Pick<Track, 'kind' | 'metadata'>;

function isPermitted(track: Published, { publish, publishSources }: Permissions): boolean {
  return publish.includes(track.kind) && (publishSources?.some((source) => source === sourceOf(track)) ?? true);
}

/** @throws ServiceError `forbidden` */
function requirePermission(track: Published, permissions: Permissions): void {
  const { kind } = track;
  if (isPermitted(track, permissions)) return;
  const what = permissions.publish.includes(kind) ? `${kind} of this source` : kind;
  throw new ServiceError('forbidden', `This peer is not permitted to publish ${what}`);
}
