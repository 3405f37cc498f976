// Process supervisor: starts the process of a component, restarts it after a crash, and fails after too many crashes.
import { ServiceError } from '../../../api/errors.ts';
import { LossBudget } from '../../common/loss-budget.ts';
import type { ComponentHost, ComponentRunner, SubscribableTrack } from '../../rooms/interfaces.ts';
import { DroppedTracks, type TrackLimits } from './dropped-tracks.ts';

/** Restarts within ten minutes. */
const maxRestarts = 3;

/** One process, which is not reused after it ends. It reports an unrequested end as a crash, at most once. */
export type SupervisedProcess = {
  readonly pid: number | undefined;
  /** Resolves when tracks can be added. @throws ServiceError */
  start(): Promise<void>;
  receive(tracks: readonly SubscribableTrack[]): void;
  /** Idempotent; never rejects. */
  close(): Promise<void>;
};

export type ProcessCallbacks = {
  /** It crashed while it processed these tracks. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
  /** It dropped a track that failed or nearly crashed it. */
  onTrackBroken: (trackId: string, reason: string) => void;
  /** Its work failed for a reason that a restart would not fix. */
  onFailed: (reason: string) => void;
};

/** `Work`: state that all its processes share, one after the other. */
export type ProcessSupervisorOptions<Process extends SupervisedProcess, Work> = {
  host: Pick<ComponentHost, 'log' | 'crashed' | 'trackDropped'>;
  /** Name in logs and reasons, for example `recorder`. */
  name: string;
  /** Fields of each log line. */
  facts: (work: Work) => Record<string, unknown>;
  /** Called once. @throws ServiceError */
  begin: () => Promise<Work>;
  /** `careful`: process one track at a time if possible, so that a crash identifies its track. */
  make: (work: Work, callbacks: ProcessCallbacks, careful: boolean) => Process;
  /** A process has crashed, possibly during close(). Never throws. @returns a promise that the restart waits for */
  onCrashed: (work: Work) => Promise<void> | undefined;
  /** The last process has ended, after close(). Never rejects. */
  onClosed?: (work: Work) => Promise<void>;
  /** True if a drain waits for it; never if omitted. */
  busy?: (work: Work, tracks: readonly SubscribableTrack[]) => boolean;
  /** True if a failed restart counts as another crash, instead of ending the component. */
  persistent?: boolean;
  limits: TrackLimits;
};

export class ProcessSupervisor<Process extends SupervisedProcess, Work> implements ComponentRunner {
  readonly #options: ProcessSupervisorOptions<Process, Work>;
  readonly #restarts = new LossBudget(maxRestarts);
  readonly #dropped: DroppedTracks;
  /** Tracks whose rejection has been reported. */
  readonly #announced = new Set<string>();
  /** Tracks of which one may have caused the last crash. */
  #suspects: readonly string[] = [];
  #work: Work | undefined;
  #process: Process | undefined;
  #tracks: readonly SubscribableTrack[] = [];
  #starting: Promise<void> | undefined;
  #closing = false;
  #closed: Promise<void> | undefined;

  constructor(options: ProcessSupervisorOptions<Process, Work>) {
    this.#options = options;
    this.#dropped = new DroppedTracks(options.limits);
  }

  /** The running process; in onCrashed the crashed one. */
  get current(): Process | undefined {
    return this.#process;
  }

  get busy(): number {
    return this.#work !== undefined && this.#options.busy?.(this.#work, this.#tracks) === true ? 1 : 0;
  }

  get closing(): boolean {
    return this.#closing;
  }

  /** Resolves when it is running. @throws ServiceError */
  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  receive(tracks: readonly SubscribableTrack[]): void {
    this.#tracks = tracks;
    const { taken, others } = this.#dropped.choose(tracks);
    for (const { id } of others) {
      if (this.#announced.has(id)) continue;
      this.#announced.add(id);
      this.#options.host.trackDropped(id, `The ${this.#options.name} accepts no more tracks`);
    }
    for (const id of this.#announced) if (!tracks.some((track) => track.id === id)) this.#announced.delete(id);
    this.#process?.receive(taken);
  }

  /** Resolves when the process has ended and its work is finished. Idempotent; never rejects. */
  close(): Promise<void> {
    this.#closing = true;
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#process?.close();
    if (this.#work !== undefined) await this.#options.onClosed?.(this.#work);
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
      // A crash during start() rejects start().
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

  /** The track that caused the crash, if known; it is dropped. */
  #blame(tracks: readonly string[], reason: string): string | undefined {
    const both = tracks.filter((track) => this.#suspects.includes(track));
    this.#suspects = both.length > 0 ? both : tracks;
    const [culprit, ...others] = this.#suspects;
    if (culprit === undefined || others.length > 0) return undefined;
    this.#suspects = [];
    this.#drop(culprit, `Track crashed the ${this.#options.name}: ${reason}`);
    return culprit;
  }

  #crashed(work: Work, reason: string, tracks: readonly string[]): void {
    const { host, name, facts, onCrashed } = this.#options;
    const ready = onCrashed(work);
    this.#process = undefined;
    if (this.#closing) return;
    const culprit = this.#blame(tracks, reason);
    // A crash with a known track does not count, because that track is dropped.
    if (culprit === undefined && !this.#restarts.take(performance.now())) {
      host.log.error({ ...facts(work), reason }, `${name} crashed too often`);
      this.#giveUp(`The ${name} crashed too often: ${reason}`);
      return;
    }
    host.log.warn({ ...facts(work), reason, track: culprit }, `${name} crashed, restarting`);
    this.#starting = this.#restart(work, ready);
  }

  /** Never rejects. */
  async #restart(work: Work, ready: Promise<void> | undefined): Promise<void> {
    const { name, persistent } = this.#options;
    try {
      await ready;
      await this.#launch(work);
    } catch (error) {
      const problem = error instanceof ServiceError ? error.message : `Could not start the ${name}`;
      if (!persistent || this.#closing) {
        this.#giveUp(problem);
        return;
      }
      // The process may still run, and use a port that the next one needs.
      await this.#process?.close();
      this.#crashed(work, problem, []);
    }
  }

  #giveUp(reason: string): void {
    if (!this.#closing) this.#options.host.crashed(reason);
  }
}
