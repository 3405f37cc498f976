// Keeps a process at work for a component: starts it, goes on with another where it crashes, and gives up where that happens again and again.
import { ServiceError } from '../../common/errors.ts';
import type { ComponentHost, SubscribableTrack } from '../../rooms/interfaces.ts';
import { DroppedTracks, type TrackLimits } from './dropped-tracks.ts';
import { RestartBudget } from './restarts.ts';

/** One process, given up as a whole when it ends. It calls back as a crash only what nobody asked for, at most once. */
export type SupervisedProcess = {
  readonly pid: number | undefined;
  /** Resolves when tracks can come. @throws ServiceError */
  start(): Promise<void>;
  receive(tracks: readonly SubscribableTrack[]): void;
  /** Idempotent; never fails. */
  close(): Promise<void>;
};

export type ProcessCallbacks = {
  /** It ended without being told to, while it was at work on these tracks. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
  /** A track broke it, or nearly: it goes on without. */
  onTrackBroken: (trackId: string, reason: string) => void;
  /** What it works on is over for this reason, and another process would not do better. */
  onFailed: (reason: string) => void;
};

/** `Work`: what all its processes work on, one after the other. */
export type ProcessSupervisorOptions<Process extends SupervisedProcess, Work> = {
  host: Pick<ComponentHost, 'log' | 'crashed' | 'trackDropped'>;
  /** What it is called in the log and in reasons, e.g. `recorder`. */
  name: string;
  /** Of each line of the log. */
  facts: (work: Work) => Record<string, unknown>;
  /** Called once. @throws ServiceError */
  begin: () => Promise<Work>;
  /** `careful`: it is to work on one track at a time where it can, so that its end says which one broke it. */
  make: (work: Work, callbacks: ProcessCallbacks, careful: boolean) => Process;
  /** One is lost, also while this is being closed. Never fails. @returns what the next one has to wait for */
  onCrashed: (work: Work) => Promise<void> | undefined;
  /** Whether one that cannot be started again is one more crash, not the end. */
  persistent?: boolean;
  limits: TrackLimits;
};

export class ProcessSupervisor<Process extends SupervisedProcess, Work> {
  readonly #options: ProcessSupervisorOptions<Process, Work>;
  readonly #restarts = new RestartBudget();
  readonly #dropped: DroppedTracks;
  /** Of whom was told that there are too many. */
  readonly #told = new Set<string>();
  /** Of which one broke the process before, as far as is known. */
  #suspects: readonly string[] = [];
  #work: Work | undefined;
  #process: Process | undefined;
  #tracks: readonly SubscribableTrack[] = [];
  #starting: Promise<void> | undefined;
  #closing = false;

  constructor(options: ProcessSupervisorOptions<Process, Work>) {
    this.#options = options;
    this.#dropped = new DroppedTracks(options.limits);
  }

  /** The one at work; in onCrashed the one that is lost. */
  get current(): Process | undefined {
    return this.#process;
  }

  /** Undefined before it has begun. */
  get work(): Work | undefined {
    return this.#work;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** Resolves when it is at work. @throws ServiceError */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  receive(tracks: readonly SubscribableTrack[]): void {
    this.#tracks = tracks;
    const { taken, others } = this.#dropped.choose(tracks);
    for (const { id } of others) {
      if (this.#told.has(id)) continue;
      this.#told.add(id);
      this.#options.host.trackDropped(id, `The ${this.#options.name} takes no more tracks`);
    }
    for (const id of this.#told) if (!tracks.some((track) => track.id === id)) this.#told.delete(id);
    this.#process?.receive(taken);
  }

  /** Resolves when it is gone. Never fails. */
  async close(): Promise<void> {
    this.#closing = true;
    await this.#starting?.catch(() => {});
    await this.#process?.close();
  }

  async #start(): Promise<void> {
    this.#work = await this.#options.begin();
    await this.#launch(this.#work);
  }

  async #launch(work: Work): Promise<void> {
    if (this.#closing) throw new ServiceError('component_not_found', 'The component was removed');
    const { host, name, facts, make } = this.#options;
    let started = false;
    const callbacks: ProcessCallbacks = {
      // Before it has started, start() says so.
      onCrashed: (reason, tracks) => {
        if (started) this.#crashed(work, reason, tracks);
      },
      onTrackBroken: (trackId, reason) => {
        this.#drop(trackId, reason);
        this.receive(this.#tracks);
      },
      onFailed: (reason) => {
        if (started) this.#giveUp(reason);
      },
    };
    const process = make(work, callbacks, this.#suspects.length > 0);
    this.#process = process;
    await process.start();
    started = true;
    host.log.info({ ...facts(work), pid: process.pid }, `${name} started`);
    this.receive(this.#tracks);
  }

  #drop(trackId: string, reason: string): void {
    const track = this.#tracks.find(({ id }) => id === trackId);
    if (track) this.#dropped.drop(track);
    this.#options.host.trackDropped(trackId, reason);
  }

  /** The track that broke the process, where that is known; it is dropped. */
  #blame(tracks: readonly string[], reason: string): string | undefined {
    const both = tracks.filter((track) => this.#suspects.includes(track));
    this.#suspects = both.length > 0 ? both : tracks;
    const [culprit, ...others] = this.#suspects;
    if (culprit === undefined || others.length > 0) return undefined;
    this.#suspects = [];
    this.#drop(culprit, `It broke the ${this.#options.name}: ${reason}`);
    return culprit;
  }

  #crashed(work: Work, reason: string, tracks: readonly string[]): void {
    const { host, name, facts, onCrashed } = this.#options;
    const ready = onCrashed(work);
    this.#process = undefined;
    if (this.#closing) return;
    const culprit = this.#blame(tracks, reason);
    // Who broke it does not break it again: the others have their restarts.
    if (culprit === undefined && !this.#restarts.take(performance.now())) {
      host.log.error({ ...facts(work), reason }, `the ${name} crashed again`);
      this.#giveUp(`The ${name} crashed too often: ${reason}`);
      return;
    }
    host.log.warn({ ...facts(work), reason, track: culprit }, `the ${name} crashed: started again`);
    this.#starting = this.#restart(work, ready);
  }

  /** Never fails. */
  async #restart(work: Work, ready: Promise<void> | undefined): Promise<void> {
    const { name, persistent } = this.#options;
    try {
      await ready;
      await this.#launch(work);
    } catch (error) {
      const problem = error instanceof ServiceError ? error.message : `The ${name} could not be started`;
      if (persistent && !this.#closing) this.#crashed(work, problem, []);
      else this.#giveUp(problem);
    }
  }

  #giveUp(reason: string): void {
    if (!this.#closing) this.#options.host.crashed(reason);
  }
}
