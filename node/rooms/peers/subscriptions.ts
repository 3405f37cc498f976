// Subscriptions of one connected peer: tracks and data of the others, automatically (auto) or on request (manual).
import { ServiceError } from '../../../api/errors.ts';
import type { PeerEvent, SubscribedTrack } from '../../../api/socket/peer-events.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import type { Layers, PeerMedia, WireObject } from '../interfaces.ts';
import type { Backup, Track } from '../track.ts';
import type { DataSubscriptions } from './data/data-subscriptions.ts';
import { Following } from './paths/following.ts';

export type SubscriptionsOptions = {
  log: Log;
  media: PeerMedia;
  send: (event: PeerEvent) => void;
  /** Current tracks of the other peers and the components of the room. */
  published: () => Iterable<Track>;
  /** The peer receives a track. */
  received: (track: Track) => void;
  allowed: () => boolean;
  /** Of all paths. */
  data: Pick<DataSubscriptions, 'enforce' | 'update' | 'forget'>;
  /** True if the client can receive a track twice. */
  follows: () => boolean;
};

/** How long a track waits for others, in milliseconds, so that the peer negotiates once for all of them. */
const gatherTime = 50;

/** Lives as long as one session of a peer. */
export class Subscriptions {
  /** One event announces all tracks that are subscribed together. */
  announcesTogether = false;
  readonly following: Following;
  readonly #options: SubscriptionsOptions;
  readonly #tracks = new Map<string, Promise<void>>();
  /** Generation of each received track. */
  readonly #generations = new Map<string, number>();
  /** Tracks that the peer unsubscribed from; auto mode skips them. */
  readonly #declined = new Set<string>();
  /** Tracks whose media was lost: they are subscribed again, also in manual mode. */
  readonly #interrupted = new Set<string>();
  /** Tracks that the peer cannot decode, until they are published in another codec. */
  readonly #awaitingBackup = new Set<string>();
  /** Tracks announced or about to be, whose receiver is not ready yet. */
  readonly #unready = new Map<string, Track>();
  /** Number of pending requests to the media worker. */
  #pending = 0;
  /** Subscriptions to announce, together with those still pending at the worker. */
  #unannounced: SubscribedTrack[] = [];
  #gathering: Timer | undefined;
  /** Those over the second path of a peer that moves. */
  #next: Subscriptions | undefined;
  /** True while they are those over a second path: what ends is reported by the first one. */
  #second = false;
  #mode: 'auto' | 'manual' = 'auto';
  #rtpCapabilities: WireObject | undefined;
  #closed = false;

  constructor(options: SubscriptionsOptions) {
    this.#options = options;
    this.following = new Following({
      supported: options.follows,
      receive: (track) => this.#receive(track, true),
      release: (trackId) => options.media.unsubscribe(trackId, 'former'),
    });
  }

  /** Number of received tracks. */
  get size(): number {
    return this.#tracks.size;
  }

  has(trackId: string): boolean {
    return this.#tracks.has(trackId);
  }

  /**
   * The same subscriptions over a second path. Changes apply to both until one of them is closed. `promote`: to be called when the second
   * path is the only one.
   */
  over(media: PeerMedia): { next: Subscriptions; promote: () => void } {
    const next = new Subscriptions({ ...this.#options, media });
    next.announcesTogether = this.announcesTogether;
    next.#second = true;
    next.#mode = this.#mode;
    next.#rtpCapabilities = this.#rtpCapabilities;
    for (const trackId of this.#declined) next.#declined.add(trackId);
    for (const trackId of [...this.#interrupted, ...this.#tracks.keys()]) next.#interrupted.add(trackId);
    this.#next = next;
    const promote = () => {
      next.#second = false;
      next.update();
    };
    return { next, promote };
  }

  /** The peer can receive from now on, or other codecs than before; in auto mode all tracks follow once a transport exists. */
  join(rtpCapabilities: WireObject): void {
    this.#rtpCapabilities = rtpCapabilities;
    this.update();
  }

  /** The receive transport ended. update() subscribes over the next one. `again`: also to what was received in manual mode. */
  transportEnded({ again }: { again: boolean }): void {
    if (again) for (const trackId of this.#tracks.keys()) this.#interrupted.add(trackId);
    this.#forgetAll();
    if (!this.#second) this.#options.data.forget();
  }

  /** A track has other media than before: the peer subscribes again, unless it receives that already. */
  restored(track: Track): void {
    this.#next?.restored(track);
    if (this.#tracks.has(track.id) && this.#generations.get(track.id) !== track.generation) {
      this.drop(track.id);
      this.#interrupted.add(track.id);
    }
    this.update();
  }

  /** The publisher of a track moves: what was received ends later. */
  succeeded(track: Track): void {
    this.#next?.succeeded(track);
    if (this.#tracks.has(track.id)) this.#inBackground(this.following.begin(track));
  }

  setMode(mode: 'auto' | 'manual'): void {
    this.#mode = mode;
    this.#next?.setMode(mode);
    this.update();
  }

  /** Synchronizes the subscriptions with publications, mode and permissions. */
  update(): void {
    if (this.#closed) return;
    this.#next?.update();
    const { allowed, data, published } = this.#options;
    data.enforce();
    if (!allowed()) {
      for (const trackId of [...this.#tracks.keys()]) this.drop(trackId);
      return;
    }
    if (this.#ready && this.#awaitingBackup.size > 0) this.#retry();
    const auto = this.#mode === 'auto';
    if (!this.#ready || (!auto && this.#interrupted.size === 0)) return;
    for (const track of published())
      if (auto ? !this.#declined.has(track.id) : this.#interrupted.has(track.id)) this.#inBackground(this.#subscribe(track));
    if (auto && !this.#second) data.update();
  }

  /** Ends subscriptions that publishers no longer permit, and begins those that they permit now. */
  enforce(): void {
    const permitted = new Set([...this.#options.published()].map(({ id }) => id));
    for (const trackId of [...this.#tracks.keys()]) if (!permitted.has(trackId)) this.drop(trackId);
    this.update();
  }

  /** @throws ServiceError `track_not_found`, `forbidden`, `conflict` (before join or without a receive transport). */
  async subscribe(trackId: string): Promise<void> {
    if (!this.#options.allowed()) throw new ServiceError('forbidden', 'This peer is not permitted to subscribe');
    if (!this.#ready) throw new ServiceError('conflict', 'Subscribing requires join and a transport of direction recv first');
    const track = [...this.#options.published()].find((each) => each.id === trackId);
    if (!track) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    this.#declined.delete(trackId);
    this.#next?.subscribe(trackId).catch((error: unknown) => this.#failed(error));
    await this.#subscribe(track);
    this.#announce();
  }

  unsubscribe(trackId: string): void {
    if (!this.#interrupted.delete(trackId) && !this.#second) this.#require(trackId);
    this.#next?.unsubscribe(trackId);
    this.#declined.add(trackId);
    this.#forget(trackId);
    this.#options.media.unsubscribe(trackId);
  }

  /** Ends the subscription of a track that ended or is no longer permitted, and notifies the peer. */
  drop(trackId: string): void {
    this.#next?.drop(trackId);
    this.#declined.delete(trackId);
    this.#interrupted.delete(trackId);
    if (!this.#forget(trackId)) return;
    this.#options.media.unsubscribe(trackId);
    if (!this.#second) this.#options.send({ event: 'trackUnsubscribed', data: { trackId } });
  }

  async ready(trackId: string): Promise<void> {
    this.#require(trackId);
    await this.#resume(trackId);
  }

  /** Tracks that are no longer subscribed are skipped. */
  async allReady(trackIds: readonly string[]): Promise<void> {
    await Promise.all(trackIds.map((trackId) => this.#resume(trackId).catch((error: unknown) => this.#failed(error))));
  }

  async prefer(trackId: string, preference: { layers: Layers } | { priority: number }): Promise<void> {
    this.#require(trackId);
    if (this.#next?.has(trackId)) this.#inBackground(this.#next.prefer(trackId, preference));
    const { media } = this.#options;
    if ('layers' in preference) await media.setPreferredLayers(trackId, preference.layers);
    else await media.setPriority(trackId, preference.priority);
  }

  /** The session ended; the peer closes its media. */
  close(): void {
    this.#closed = true;
    this.#forgetAll();
  }

  get #ready(): boolean {
    return this.#rtpCapabilities !== undefined && this.#options.media.hasTransport('recv');
  }

  #require(trackId: string): void {
    if (!this.#tracks.has(trackId)) throw new ServiceError('track_not_found', `Track ${trackId} is not subscribed`);
  }

  #subscribe(track: Track): Promise<void> {
    return inFlight(this.#tracks, track.id, () => this.#receive(track, false));
  }

  /** `replaces`: what is received of the track already. */
  async #receive(track: Track, replaces: boolean): Promise<void> {
    this.#pending += 1;
    try {
      const { media, send } = this.#options;
      const { generation } = track;
      this.#generations.set(track.id, generation);
      const subscription = await media.subscribe(track.id, this.#rtpCapabilities ?? {}, generation);
      if (!this.#tracks.has(track.id)) return;
      this.#interrupted.delete(track.id);
      const named = { ...track.origin, trackId: track.id };
      if (subscription) this.#gather(track, { ...named, ...subscription, ...(replaces && { replaces: true as const }) });
      else if (track.backup?.published === false) this.#await(track.id, track.backup);
      else if (!this.#second) send({ event: 'trackNotSupported', data: { ...named, encoding: track.encoding } });
    } finally {
      this.#pending -= 1;
      if (this.#pending === 0) this.#announce();
    }
  }

  #await(trackId: string, { request }: Backup): void {
    this.#awaitingBackup.add(trackId);
    request();
  }

  /** Subscribes to tracks that are published in another codec now. */
  #retry(): void {
    for (const track of this.#options.published()) {
      if (!track.backup?.published || !this.#awaitingBackup.has(track.id)) continue;
      this.#forget(track.id);
      this.#inBackground(this.#subscribe(track));
    }
  }

  #gather(track: Track, subscription: SubscribedTrack): void {
    this.#unready.set(track.id, track);
    this.#unannounced.push(subscription);
    this.#gathering ??= new Timer(gatherTime, () => this.#announce());
  }

  #announce(): void {
    this.#gathering?.stop();
    this.#gathering = undefined;
    const subscriptions = this.#unannounced;
    this.#unannounced = [];
    const { send } = this.#options;
    if (this.announcesTogether) {
      if (subscriptions.length > 0) send({ event: 'tracksSubscribed', data: { tracks: subscriptions } });
      return;
    }
    for (const subscription of subscriptions) send({ event: 'trackSubscribed', data: subscription });
  }

  async #resume(trackId: string): Promise<void> {
    const track = this.#unready.get(trackId);
    if (!track) return;
    this.#unready.delete(trackId);
    await this.#options.media.setSubscriptionPaused(trackId, false);
    this.#options.received(track);
  }

  /** @returns true if the track was subscribed */
  #forget(trackId: string): boolean {
    this.#awaitingBackup.delete(trackId);
    this.#unready.delete(trackId);
    this.#generations.delete(trackId);
    this.following.forget(trackId);
    this.#unannounced = this.#unannounced.filter((each) => each.trackId !== trackId);
    return this.#tracks.delete(trackId);
  }

  #forgetAll(): void {
    this.#gathering?.stop();
    this.#gathering = undefined;
    this.#unannounced = [];
    this.#unready.clear();
    this.#awaitingBackup.clear();
    for (const trackId of this.#tracks.keys()) this.following.forget(trackId);
    this.#generations.clear();
    this.#tracks.clear();
  }

  /** A track that ends while it is being subscribed is no failure; anything else is logged. */
  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => this.#failed(error));
  }

  #failed(error: unknown): void {
    if (!this.#closed) this.#options.log.debug({ err: error }, 'could not subscribe to track');
  }
}

/** All concurrent callers share one promise until it fails. */
function inFlight(map: Map<string, Promise<void>>, key: string, work: () => Promise<void>): Promise<void> {
  const running = map.get(key);
  if (running) return running;
  const promise: Promise<void> = work().catch((error: unknown) => {
    if (map.get(key) === promise) map.delete(key);
    throw error;
  });
  map.set(key, promise);
  return promise;
}
