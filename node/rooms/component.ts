// A component of a room: its tracks as everybody sees them, and its runner, which ends once: finished, crashed or removed.
import { ServiceError } from '../common/errors.ts';
import type { Log } from '../common/log.ts';
import { newId } from './ids.ts';
import type { ComponentHost, ComponentRunner, ComponentSpec, RoomIdentity, RoomMedia, RtpEgress, RtpIngress } from './interfaces.ts';
import type { PhoneCallRunner } from './phone-calls.ts';
import type { PublicationChange } from './publications.ts';
import { maxOrigins } from './shapes/component-options.ts';
import type { RoomEventDetail } from './shapes/events.ts';
import type { PeerEvent, RemoteComponent } from './shapes/peer-events.ts';
import type { PublishedTrackStats } from './shapes/stats.ts';
import type { ComponentView, TrackView } from './shapes/views.ts';
import { Track } from './track.ts';

/** What a component may use of its room: functions, never the room itself. */
export type ComponentContext = {
  log: Log;
  room: RoomIdentity;
  media: RoomMedia;
  emit: (detail: RoomEventDetail) => void;
  /** Tells all connected peers of the room. */
  broadcast: (event: PeerEvent) => void;
  /** What this component publishes changed: the peers' subscriptions follow. */
  offerChanged: (change: PublicationChange) => void;
  /** What others publish in the room. */
  published: () => Iterable<Track>;
  nameOf: ComponentHost['nameOf'];
  /** Takes the component out of the room's list. */
  forget: (componentId: string) => void;
};

export class Component {
  readonly id = newId();
  readonly externalId: string | null;
  readonly #prepared: ComponentSpec;
  readonly #room: ComponentContext;
  readonly #log: Log;
  readonly #tracks = new Map<string, Track>();
  readonly #input: RtpIngress;
  readonly #outputs = new Set<RtpEgress>();
  readonly #runner: ComponentRunner;
  /** Peers and components that it was told to receive (manual mode). */
  readonly #origins = new Set<string>();
  #properties: ComponentView['properties'];
  #started = false;
  #ended = false;
  /** Its end was told: nothing is told of it any more. */
  #over = false;
  #closed: Promise<void> | undefined;

  constructor(prepared: ComponentSpec, externalId: string | null, room: ComponentContext) {
    this.externalId = externalId;
    this.#prepared = prepared;
    this.#properties = prepared.properties;
    this.#receive(prepared.origins ?? []);
    this.#room = room;
    this.#log = room.log.child({ component: this.id, type: prepared.type });
    this.#input = room.media.openInput();
    this.#runner = prepared.open({
      log: this.#log,
      componentId: this.id,
      room: room.room,
      connect: (from) => this.#input.connect(from),
      publish: (track) => this.#publish(track),
      unpublish: (trackId) => {
        if (this.#tracks.has(trackId)) this.removeTrack(trackId);
      },
      openOutput: () => this.#openOutput(),
      nameOf: room.nameOf,
      showProperties: (change) => {
        this.#properties = { ...this.#properties, ...change };
      },
      playable: () => this.#playable(),
      callEvent: (event) => {
        if (!this.#over) this.#room.emit({ componentId: this.id, ...event });
      },
      trackDropped: (trackId, reason) => this.#trackDropped(trackId, reason),
      finished: () => void this.remove('finished'),
      crashed: (reason) => this.crash(reason),
    });
  }

  get type(): ComponentView['type'] {
    return this.#prepared.type;
  }

  get tracks(): Iterable<Track> {
    return this.#tracks.values();
  }

  view(): ComponentView {
    const properties = this.#properties;
    return {
      id: this.id,
      type: this.type,
      externalId: this.externalId,
      properties,
      tracks: [...this.#tracks.values()].map((track) => track.view()),
    };
  }

  /** As peers see it. */
  remoteView(): RemoteComponent {
    const tracks = [...this.#tracks.values()].map((track) => this.#remoteTrack(track));
    return { id: this.id, type: this.type, state: this.#started ? 'running' : 'starting', tracks };
  }

  /** Announces it and sets it to work. Where that fails it crashes. @throws ServiceError */
  async start(): Promise<void> {
    this.#log.info('component added');
    this.#room.emit({ type: 'ComponentAdded', componentId: this.id });
    this.#room.broadcast({ event: 'componentAdded', data: { component: this.remoteView() } });
    try {
      await this.#runner.start();
      this.#started = true;
      if (!this.#ended) this.#room.broadcast({ event: 'componentUpdated', data: { componentId: this.id, state: 'running' } });
      this.offerChanged();
    } catch (error) {
      this.crash(error instanceof ServiceError ? error.message : 'It could not be started');
      throw error;
    }
  }

  /** @throws ServiceError `bad_request` where it makes none */
  get calls(): PhoneCallRunner {
    const { calls } = this.#runner;
    if (!calls) throw new ServiceError('bad_request', `Component ${this.id} makes no phone calls: it is of type ${this.type}`);
    return calls;
  }

  /** From here it also receives what these peers and components publish, now and later. @throws ServiceError `bad_request` */
  subscribe(origins: readonly string[]): void {
    const { type, subscribeMode } = this.#prepared;
    if (subscribeMode === undefined) throw new ServiceError('bad_request', `Components of type ${type} receive no tracks`);
    if (subscribeMode !== 'manual') {
      throw new ServiceError('bad_request', `Component ${this.id} receives all tracks: its option subscribeMode is not manual`);
    }
    const all = new Set([...this.#origins, ...origins]);
    if (all.size > maxOrigins) throw new ServiceError('bad_request', `A component receives at most ${maxOrigins} origins`);
    this.#receive(origins);
    this.offerChanged();
  }

  #receive(origins: readonly string[]): void {
    for (const origin of origins) this.#origins.add(origin);
    if (this.#origins.size > 0) this.#properties = { ...this.#properties, origins: [...this.#origins] };
  }

  /** Tracks of the room came or went. */
  offerChanged(): void {
    const { subscribeMode } = this.#prepared;
    if (!this.#started || this.#ended || subscribeMode === undefined) return;
    const tracks = [...this.#room.published()].filter(({ origin }) => {
      const id = 'peerId' in origin ? origin.peerId : origin.componentId;
      return id !== this.id && (subscribeMode === 'auto' || this.#origins.has(id));
    });
    this.#runner.receive?.(tracks.map(({ id, origin, kind, encoding, metadata }) => ({ id, origin, kind, encoding, metadata })));
  }

  /** Moderation: ends a track; the component goes on. */
  removeTrack(trackId: string): void {
    const track = this.#require(trackId);
    this.#tracks.delete(trackId);
    this.#log.info({ track: trackId }, 'track removed');
    this.#room.emit({ type: 'TrackRemoved', componentId: this.id, track: track.view() });
    this.#room.offerChanged({ added: false, trackId });
    this.#room.broadcast({ event: 'trackRemoved', data: { componentId: this.id, trackId } });
    this.#input.unpublish(trackId);
  }

  async setMuted(trackId: string, muted: boolean): Promise<void> {
    const track = this.#require(trackId);
    if (track.muted === muted) return;
    track.muted = muted;
    await this.#input.setPaused(trackId, track.silent);
    this.#room.broadcast({ event: muted ? 'trackPaused' : 'trackResumed', data: { trackId, by: 'server' } });
  }

  /** What is measured of the tracks that it publishes; none once it has ended. */
  async figures(): Promise<PublishedTrackStats[]> {
    try {
      return await this.#input.figures();
    } catch (error) {
      if (this.#closed) return [];
      throw error;
    }
  }

  /** Takes the component out of its room; resolves when nothing of it is left. Idempotent. */
  remove(reason: string): Promise<void> {
    return this.#end(() => {
      this.#log.info({ reason }, 'component removed');
      this.#room.emit({ type: 'ComponentRemoved', componentId: this.id, reason });
    });
  }

  /** Something of it failed for good. Idempotent. */
  crash(reason: string): void {
    void this.#end(() => {
      this.#log.error({ reason }, 'component crashed');
      this.#room.emit({ type: 'ComponentCrashed', componentId: this.id, reason });
    });
  }

  /** The room crashed: RoomCrashed says the rest. */
  roomCrashed(): void {
    void this.#end(() => {});
  }

  async #publish({ kind, rtpParameters, metadata }: Parameters<ComponentHost['publish']>[0]): Promise<string> {
    const trackId = newId();
    const { encoding, simulcast } = await this.#input.publish({ trackId, kind, rtpParameters });
    // The input was closed with the component, and the track with it.
    if (this.#ended) throw new ServiceError('component_not_found', `Component ${this.id} does not exist`);
    const track = new Track({ id: trackId, origin: { componentId: this.id }, kind, metadata, encoding, simulcast, paused: false });
    this.#tracks.set(trackId, track);
    this.#log.info({ track: trackId, kind, encoding }, 'track added');
    this.#room.emit({ type: 'TrackAdded', componentId: this.id, track: track.view() });
    this.#room.broadcast({ event: 'trackAdded', data: { componentId: this.id, track: this.#remoteTrack(track) } });
    this.#room.offerChanged({ added: true, trackId });
    return trackId;
  }

  /** Its own metadata may name who is on the phone. */
  #remoteTrack(track: Track): TrackView {
    return { ...track.view(), metadata: { source: this.type } };
  }

  /** Of a track that is gone meanwhile nobody is told. */
  #trackDropped(trackId: string, reason: string): void {
    this.#log.warn({ track: trackId, reason }, 'a component goes on without a track');
    const track = [...this.#room.published()].find(({ id }) => id === trackId);
    if (track && !this.#over) this.#room.emit({ type: 'ComponentTrackDropped', componentId: this.id, track: track.view(), reason });
  }

  #playable(): void {
    if (this.#ended || this.#properties.playable === true) return;
    this.#properties = { ...this.#properties, playable: true };
    this.#log.info('stream is playable');
    this.#room.emit({ type: 'HlsPlayable', componentId: this.id });
  }

  #openOutput(): RtpEgress {
    if (this.#ended) throw new ServiceError('component_not_found', `Component ${this.id} does not exist`);
    const output = this.#room.media.openOutput();
    this.#outputs.add(output);
    return output;
  }

  #require(trackId: string): Track {
    const track = this.#tracks.get(trackId);
    if (!track) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    return track;
  }

  #end(announce: () => void): Promise<void> {
    if (this.#closed) return this.#closed;
    this.#ended = true;
    this.#closed = this.#runner.close().catch((error: unknown) => this.#log.warn({ err: error }, 'a component did not end in order'));
    for (const trackId of [...this.#tracks.keys()]) this.removeTrack(trackId);
    this.#input.close();
    for (const output of this.#outputs) output.close();
    this.#room.forget(this.id);
    announce();
    this.#over = true;
    this.#room.broadcast({ event: 'componentRemoved', data: { componentId: this.id } });
    return this.#closed;
  }
}
