// Tracks of a room over its legs: each is at the leg of its publisher, and piped to another leg while it has a receiver there.
import type { DataProducer, Producer } from 'mediasoup/types';
import { Timer } from '../../common/timer.ts';
import { Demand, type Interest } from '../receivers/demand.ts';
import type { Leg } from './leg.ts';
import { Pipe, type PipedTrack } from './pipe.ts';

/** Time in milliseconds that a track stays piped after its last receiver, so that one who returns costs nothing. */
const lingerMs = 2_000;

type Source = Producer | DataProducer;
/** `piped`: to other legs; `backup`: id of the same track in another codec. */
type Home<Made extends Source> = { made: Made; leg: Leg; demand: Demand; piped: Set<PipedTrack>; backup?: string | undefined };
/** `needed`: called when its demand changes, except for what has a successor. `backupOf`: the track that it is in another codec. */
type AddOptions = { needed?: (layer: number | undefined) => void; backupOf?: string | undefined };
/** One receiver of a track, which it can receive until `release`. `made`: the track at the leg of its publisher. */
export type TrackHold<Made> = { readonly made: Made; readonly interest: Interest; readonly release: () => void };
/** The events of both kinds of tracks have no common type. */
type Closing = { once(event: 'close', listener: () => void): unknown };

/** All published tracks, or data tracks, of a room. `unknownError`: the error for an unknown track. */
export class RoomTracks<Made extends Source> {
  readonly #homes = new Map<string, Home<Made>>();
  readonly #unknownError: (trackId: string) => Error;

  constructor(unknownError: (trackId: string) => Error) {
    this.#unknownError = unknownError;
  }

  get size(): number {
    return this.#homes.size;
  }

  get(trackId: string): Home<Made> | undefined {
    return this.#homes.get(trackId);
  }

  /** @throws Error if there is no such track */
  find(trackId: string): Home<Made> {
    const home = this.#homes.get(trackId);
    if (!home) throw this.#unknownError(trackId);
    return home;
  }

  /**
   * Adds a track, or what is its successor from now on: the publisher moves, and what was published before is used again if this ends first.
   */
  add(trackId: string, { made, leg }: Pick<Home<Made>, 'made' | 'leg'>, { needed, backupOf }: AddOptions): void {
    const before = this.#homes.get(trackId);
    const isCurrent = () => this.#homes.get(trackId) === home;
    const demand = new Demand((layer) => {
      if (isCurrent()) needed?.(layer);
    });
    const home: Home<Made> = { made, leg, demand, piped: new Set() };
    this.#homes.set(trackId, home);
    const other = backupOf === undefined ? undefined : this.#homes.get(backupOf);
    if (other) other.backup = trackId;
    const observer: Closing = made.observer;
    observer.once('close', () => {
      demand.end();
      if (!isCurrent()) return;
      this.#homes.delete(trackId);
      if (before && !before.made.closed) this.#homes.set(trackId, before);
    });
  }
}

/** The tracks of a room for those who publish and receive at one leg. */
export class LegTracks<Made extends Source> {
  readonly #leg: Leg;
  readonly #room: RoomTracks<Made>;
  readonly #data: boolean;
  readonly #pipes = new Map<Leg, Promise<Pipe>>();
  /** By the id of the producer. */
  readonly #held = new Map<string, HeldTrack>();

  /** `data`: they are data tracks. */
  constructor(leg: Leg, room: RoomTracks<Made>, { data }: { data: boolean }) {
    this.#leg = leg;
    this.#room = room;
    this.#data = data;
  }

  has(trackId: string): boolean {
    return this.#room.get(trackId) !== undefined;
  }

  /** The track at the leg of its publisher. */
  get(trackId: string): Made | undefined {
    return this.#room.get(trackId)?.made;
  }

  /** A track in each codec that its publisher sends, its first one first, each with its id. */
  codecsOf(trackId: string): [string, Made][] {
    const ids = [trackId, this.#room.get(trackId)?.backup].filter((id) => id !== undefined);
    return ids.flatMap((id) => {
      const made = this.get(id);
      return made ? [[id, made] satisfies [string, Made]] : [];
    });
  }

  /** A track as it is sent to other legs. */
  pipedOf(trackId: string): Iterable<PipedTrack> {
    return this.#room.get(trackId)?.piped ?? [];
  }

  /** Number of tracks that other legs send to this one. */
  get piped(): number {
    return this.#held.size;
  }

  /** Adds a track that was published at this leg; it is removed when it closes. `needed`: called when its demand changes. */
  add(trackId: string, made: Made, options: AddOptions = {}): void {
    this.#room.add(trackId, { made, leg: this.#leg }, options);
  }

  /**
   * Makes a track available to a receiver at this leg until it is released.
   * @throws ServiceError `track_not_found`, `unavailable`
   */
  async hold(trackId: string): Promise<TrackHold<Made>> {
    const home = this.#room.find(trackId);
    const interest = home.demand.add();
    try {
      const release = home.leg === this.#leg ? () => {} : await this.#holdPiped(home);
      const end = () => {
        interest.end();
        release();
      };
      return { made: home.made, interest, release: end };
    } catch (error) {
      interest.end();
      throw error;
    }
  }

  close(): void {
    for (const held of [...this.#held.values()]) held.close();
  }

  #holdPiped({ made, leg, piped }: Home<Made>): Promise<() => void> {
    let held = this.#held.get(made.id);
    if (!held) {
      held = new HeldTrack({ from: leg, made: this.#pipe(leg, made), all: piped, ended: () => this.#ended(made.id, leg) });
      this.#held.set(made.id, held);
    }
    return held.hold();
  }

  async #pipe(from: Leg, made: Made): Promise<PipedTrack> {
    try {
      const pipe = await this.#pipeFrom(from);
      return await pipe.send(made);
    } catch (error) {
      if (!made.closed) this.#leg.worker.pipes.failed();
      throw error;
    }
  }

  #pipeFrom(from: Leg): Promise<Pipe> {
    const known = this.#pipes.get(from);
    if (known) return known;
    const opening = Pipe.open(from, this.#leg, { sctp: this.#data });
    const forget = () => {
      if (this.#pipes.get(from) === opening) this.#pipes.delete(from);
    };
    this.#pipes.set(from, opening);
    opening.then((pipe) => pipe.onClosed(forget), forget);
    return opening;
  }

  /** A pipe ends with its last track. */
  #ended(producerId: string, from: Leg): void {
    this.#held.delete(producerId);
    if ([...this.#held.values()].some((held) => held.from === from)) return;
    const pipe = this.#pipes.get(from);
    this.#pipes.delete(from);
    pipe?.then((open) => open.close()).catch(() => {});
  }
}

/** `all`: the track as it is sent to each other leg. */
type HeldTrackOptions = { from: Leg; made: Promise<PipedTrack>; all: Set<PipedTrack>; ended: () => void };

/** A track of another leg, piped until its last receiver left some time ago. */
class HeldTrack {
  readonly from: Leg;
  readonly #options: HeldTrackOptions;
  #piped: PipedTrack | undefined;
  #holders = 0;
  #linger: Timer | undefined;
  #ended = false;

  constructor(options: HeldTrackOptions) {
    this.from = options.from;
    this.#options = options;
    options.made.then(
      (piped) => {
        this.#piped = piped;
        if (this.#ended) {
          piped.close();
          return;
        }
        options.all.add(piped);
        piped.onClosed(() => this.close());
      },
      () => this.close(),
    );
  }

  async hold(): Promise<() => void> {
    this.#holders += 1;
    this.#linger?.stop();
    try {
      await this.#options.made;
    } catch (error) {
      this.#holders -= 1;
      throw error;
    }
    let held = true;
    return () => {
      if (!held) return;
      held = false;
      this.#holders -= 1;
      if (this.#holders === 0 && !this.#ended) this.#linger = new Timer(lingerMs, () => this.close());
    };
  }

  /** Idempotent. */
  close(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#linger?.stop();
    if (this.#piped) {
      this.#options.all.delete(this.#piped);
      this.#piped.close();
    }
    this.#options.ended();
  }
}
