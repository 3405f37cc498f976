// Component: its tracks as peers see them, and its runner. It ends exactly once: finished, crashed or removed.

import type { ComponentView } from '../../api/component/component.ts';
import { maxOrigins } from '../../api/component/option.ts';
import { ServiceError } from '../../api/errors.ts';
import type { RoomEventDetail, Transcript } from '../../api/events.ts';
import type { RemoteComponent } from '../../api/socket/peer-events.ts';
import type { PublishedTrackStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import type { RoomChange } from './changes/room-change.ts';
import { newId } from './ids.ts';
import type {
  ComponentHost,
  ComponentRunner,
  ComponentSpec,
  ProgrammeTracks,
  RoomIdentity,
  RoomMedia,
  RtpEgress,
  RtpIngress,
} from './interfaces.ts';
import type { PhoneCallRunner } from './phone-calls.ts';
import { Track } from './track.ts';

/** The parts of its room that a component may use: functions, never the room itself. */
export type ComponentContext = {
  log: Log;
  room: RoomIdentity;
  media: RoomMedia;
  /** Announces a change to the room. */
  announce: (change: RoomChange) => void;
  /** Tracks that others publish in the room. */
  published: () => Iterable<Track>;
  nameOf: ComponentHost['nameOf'];
  /** The component, or what it composes, changed. */
  programmeChanged: () => void;
  /** Removes the component from the room's list. */
  forget: (componentId: string) => void;
};

export class Component {
  readonly id = newId();
  readonly externalId: string | null;
  readonly #spec: ComponentSpec;
  readonly #room: ComponentContext;
  readonly #log: Log;
  readonly #tracks = new Map<string, Track>();
  readonly #input: RtpIngress;
  readonly #outputs = new Set<RtpEgress>();
  readonly #runner: ComponentRunner;
  #programmeInput: RtpIngress | undefined;
  #programme: ProgrammeTracks | undefined;
  /** Peers and components to receive from (manual mode). */
  readonly #origins = new Set<string>();
  /** Encrypted tracks of the room that were reported. */
  #leftOut = new Set<string>();
  #properties: ComponentView['properties'];
  #started = false;
  #ended = false;
  /** Its end was announced: no further events are emitted. */
  #over = false;
  #closed: Promise<void> | undefined;

  constructor(spec: ComponentSpec, externalId: string | null, room: ComponentContext) {
    this.externalId = externalId;
    this.#spec = spec;
    this.#properties = spec.properties;
    this.#receive(spec.origins ?? []);
    this.#room = room;
    this.#log = room.log.child({ component: this.id, type: spec.type });
    this.#input = room.media.openInput({
      interrupted: () => this.#eachTrack('trackInterrupted', (track) => track.interrupt()),
      restored: () => this.#eachTrack('trackRestored', (track) => track.restore()),
      failed: (error) => this.#mediaFailed(error),
    });
    this.#runner = spec.open({
      log: this.#log,
      componentId: this.id,
      room: room.room,
      connect: (from) => this.#input.connect(from),
      publish: (track) => this.#publish(track),
      unpublish: (trackId) => {
        if (this.#tracks.has(trackId)) this.removeTrack(trackId);
      },
      openOutput: () => this.#openOutput(),
      openProgramme: () => this.#openProgramme(),
      programmeChanged: (tracks) => {
        this.#programme = tracks;
        if (!this.#ended) this.#room.programmeChanged();
      },
      nameOf: room.nameOf,
      showProperties: (change) => {
        this.#properties = { ...this.#properties, ...change };
      },
      playable: () => this.#playable(),
      callEvent: (event) => {
        if (!this.#over) this.#notifyBackend({ componentId: this.id, ...event });
      },
      trackDropped: (trackId, reason) => this.#trackDropped(trackId, reason),
      finished: () => void this.remove('finished'),
      crashed: (reason) => this.crash(reason),
    });
  }

  get type(): ComponentView['type'] {
    return this.#spec.type;
  }

  get tracks(): Iterable<Track> {
    return this.#tracks.values();
  }

  /** What it composes, while it is sent to players. */
  get programme(): ProgrammeTracks | undefined {
    return this.#ended ? undefined : this.#programme;
  }

  sendProgramme(wanted: boolean): void {
    if (this.#started && !this.#ended) this.#runner.sendProgramme?.(wanted);
  }

  /** Number of live parts that a drain waits for. */
  get busy(): number {
    return this.#started && !this.#ended ? (this.#runner.busy ?? 0) : 0;
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
    const tracks = [...this.#tracks.values()].map((track) => track.remoteView());
    return { id: this.id, type: this.type, state: this.#started ? 'running' : 'starting', tracks };
  }

  /** Announces the component and starts its runner. If that fails, the component crashes. @throws ServiceError */
  async start(): Promise<void> {
    this.#log.info('component added');
    this.#room.announce({ kind: 'componentAdded', component: this.remoteView() });
    try {
      await this.#runner.start();
      this.#started = true;
      if (!this.#ended) this.#room.announce({ kind: 'componentStarted', componentId: this.id });
      this.updateReceived();
      this.#room.programmeChanged();
    } catch (error) {
      this.crash(error instanceof ServiceError ? error.message : 'Component could not be started');
      throw error;
    }
  }

  /** @throws ServiceError `bad_request` if this component type makes no calls */
  get calls(): PhoneCallRunner {
    const { calls } = this.#runner;
    if (!calls) throw new ServiceError('bad_request', `Component ${this.id} makes no phone calls: it is of type ${this.type}`);
    return calls;
  }

  /** From now on also receives what these peers and components publish, now and later. @throws ServiceError `bad_request` */
  subscribe(origins: readonly string[]): void {
    const { type, subscribeMode } = this.#spec;
    if (subscribeMode === undefined) throw new ServiceError('bad_request', `Components of type ${type} receive no tracks`);
    if (subscribeMode !== 'manual') {
      throw new ServiceError('bad_request', `Component ${this.id} receives all tracks: its option subscribeMode is not manual`);
    }
    const all = new Set([...this.#origins, ...origins]);
    if (all.size > maxOrigins) throw new ServiceError('bad_request', `A component receives at most ${maxOrigins} origins`);
    this.#receive(origins);
    this.updateReceived();
  }

  #receive(origins: readonly string[]): void {
    for (const origin of origins) this.#origins.add(origin);
    if (this.#origins.size > 0) this.#properties = { ...this.#properties, origins: [...this.#origins] };
  }

  /** Passes the tracks to receive to the runner: tracks of the room or its origins changed. */
  updateReceived(): void {
    const { subscribeMode, receivedKinds } = this.#spec;
    if (!this.#started || this.#ended || subscribeMode === undefined) return;
    const wanted = [...this.#room.published()].filter(({ origin, kind }) => {
      const id = 'peerId' in origin ? origin.peerId : origin.componentId;
      return id !== this.id && (subscribeMode === 'auto' || this.#origins.has(id)) && (receivedKinds?.includes(kind) ?? true);
    });
    this.#leaveOut(wanted.filter(({ encrypted }) => encrypted));
    const tracks = wanted.filter(({ encrypted, interrupted }) => !encrypted && !interrupted);
    this.#runner.receive?.(tracks.map(({ id, origin, kind, encoding, metadata }) => ({ id, origin, kind, encoding, metadata })));
  }

  /** Captions are of the peers whose tracks the component receives. */
  transcribed({ speakerId, text }: Transcript): void {
    if (!this.#started || this.#ended || !this.#runner.addCaption) return;
    if (this.#spec.subscribeMode === 'manual' && !this.#origins.has(speakerId)) return;
    const encrypted = [...this.#room.published()].some(
      ({ origin, kind, encrypted }) => encrypted && kind === 'audio' && 'peerId' in origin && origin.peerId === speakerId,
    );
    if (!encrypted) this.#runner.addCaption({ text, speaker: this.#room.nameOf(speakerId) });
  }

  /** Moderation: ends a track; the component continues. */
  removeTrack(trackId: string): void {
    const track = this.#require(trackId);
    this.#tracks.delete(trackId);
    this.#log.info({ track: trackId }, 'track removed');
    this.#room.announce({ kind: 'trackRemoved', track, by: 'server' });
    this.#input.unpublish(trackId);
  }

  async setMuted(trackId: string, muted: boolean): Promise<void> {
    const track = this.#require(trackId);
    if (track.muted === muted) return;
    track.muted = muted;
    await this.#input.setPaused(trackId, track.silent);
    this.#room.announce({ kind: muted ? 'trackPaused' : 'trackResumed', track, by: 'server' });
  }

  /** Stats of its published tracks; empty once it has ended. */
  async trackStats(): Promise<PublishedTrackStats[]> {
    try {
      return await this.#input.trackStats();
    } catch (error) {
      if (this.#closed) return [];
      throw error;
    }
  }

  /** Removes the component from its room; resolves when everything is released. Idempotent. */
  remove(reason: string): Promise<void> {
    return this.#end(() => {
      this.#log.info({ reason }, 'component removed');
      this.#room.announce({ kind: 'componentRemoved', componentId: this.id, reason });
    });
  }

  /** The component failed permanently. Idempotent. */
  crash(reason: string): void {
    void this.#end(() => {
      this.#log.error({ reason }, 'component crashed');
      this.#room.announce({ kind: 'componentCrashed', componentId: this.id, reason });
    });
  }

  /** The room crashed: only RoomCrashed is emitted. */
  roomCrashed(): void {
    void this.#end(() => this.#room.announce({ kind: 'componentLost', componentId: this.id }));
  }

  async #publish({ kind, rtpParameters, metadata }: Parameters<ComponentHost['publish']>[0]): Promise<string> {
    const trackId = newId();
    const { encoding, simulcast } = await this.#input.publish({ trackId, kind, rtpParameters });
    // The component ended meanwhile, so its input and this track are closed.
    if (this.#ended) throw new ServiceError('component_not_found', `Component ${this.id} does not exist`);
    const track = new Track({
      id: trackId,
      origin: { componentId: this.id },
      componentType: this.type,
      kind,
      metadata,
      encoding,
      simulcast,
      paused: false,
    });
    this.#tracks.set(trackId, track);
    this.#log.info({ track: trackId, kind, encoding }, 'track added');
    this.#room.announce({ kind: 'trackAdded', track });
    return trackId;
  }

  /** A component has no keys. Each track is reported once. */
  #leaveOut(tracks: readonly Track[]): void {
    const reported = this.#leftOut;
    this.#leftOut = new Set(tracks.map(({ id }) => id));
    for (const { id } of tracks) if (!reported.has(id)) this.#trackDropped(id, 'The track is end-to-end encrypted');
  }

  /** Emits no event if the track has ended meanwhile. */
  #trackDropped(trackId: string, reason: string): void {
    this.#log.warn({ track: trackId, reason }, 'component dropped track');
    const track = [...this.#room.published()].find(({ id }) => id === trackId);
    if (track && !this.#over) this.#notifyBackend({ type: 'ComponentTrackDropped', componentId: this.id, track: track.view(), reason });
  }

  #playable(): void {
    if (this.#ended || this.#properties.playable === true) return;
    this.#properties = { ...this.#properties, playable: true };
    this.#log.info('stream is playable');
    this.#notifyBackend({ type: 'HlsPlayable', componentId: this.id });
  }

  #notifyBackend(event: RoomEventDetail): void {
    this.#room.announce({ kind: 'backendEvent', event });
  }

  #openOutput(): RtpEgress {
    if (this.#ended) throw new ServiceError('component_not_found', `Component ${this.id} does not exist`);
    const output = this.#room.media.openOutput({
      interrupted: () => this.#receiveAgain(),
      restored: () => {},
      failed: (error) => this.#mediaFailed(error),
    });
    this.#outputs.add(output);
    return output;
  }

  #openProgramme(): RtpIngress {
    if (this.#ended) throw new ServiceError('component_not_found', `Component ${this.id} does not exist`);
    this.#programmeInput?.close();
    this.#programmeInput = this.#room.media.openInput({
      interrupted: () => {},
      restored: () => this.#room.programmeChanged(),
      failed: (error) => this.#mediaFailed(error),
    });
    return this.#programmeInput;
  }

  /** Its tracks lost their media, or have it again. */
  #eachTrack(kind: 'trackInterrupted' | 'trackRestored', change: (track: Track) => void): void {
    for (const track of this.#tracks.values()) {
      change(track);
      this.#room.announce({ kind, track });
    }
  }

  /** Its subscriptions ended: the runner gets all tracks again. */
  #receiveAgain(): void {
    if (this.#started && !this.#ended) this.#runner.receive?.([]);
    this.updateReceived();
  }

  #mediaFailed(error: unknown): void {
    this.#log.warn({ err: error }, 'could not restore media of component');
    this.crash('The media of the component was lost');
  }

  #require(trackId: string): Track {
    const track = this.#tracks.get(trackId);
    if (!track) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    return track;
  }

  #end(announce: () => void): Promise<void> {
    if (this.#closed) return this.#closed;
    this.#ended = true;
    this.#closed = this.#runner.close().catch((error: unknown) => this.#log.warn({ err: error }, 'could not close component cleanly'));
    for (const trackId of [...this.#tracks.keys()]) this.removeTrack(trackId);
    this.#input.close();
    this.#programmeInput?.close();
    for (const output of this.#outputs) output.close();
    this.#room.forget(this.id);
    this.#room.programmeChanged();
    announce();
    this.#over = true;
    return this.#closed;
  }
}
