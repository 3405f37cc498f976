// Keeps a process at work for a component: starts it, goes on with another where it crashes, and gives up where that happens again and again.
import { ServiceError } from '../../errors.ts';
import type { ComponentHost, ReceivableTrack } from '../../rooms/ports.ts';
import { RestartBudget } from './restarts.ts';

/** One process, given up as a whole when it ends. It calls back as a crash only what nobody asked for, at most once. */
export type OneProcess = {
  readonly pid: number | undefined;
  /** Resolves when tracks can come. @throws ServiceError */
  start(): Promise<void>;
  receive(tracks: readonly ReceivableTrack[]): void;
  /** Idempotent; never fails. */
  close(): Promise<void>;
};

export type ProcessCallbacks = {
  /** It ended without being told to. */
  onCrashed: (reason: string) => void;
  /** What it works on is over for this reason, and another process would not do better. */
  onFailed: (reason: string) => void;
};

/** `Work`: what all its processes work on, one after the other. */
export type KeptProcessOptions<Process extends OneProcess, Work> = {
  host: Pick<ComponentHost, 'log' | 'crashed'>;
  /** What it is called in the log and in reasons, e.g. `recorder`. */
  name: string;
  /** Of each line of the log. */
  facts: (work: Work) => Record<string, unknown>;
  /** Called once. @throws ServiceError */
  begin: () => Promise<Work>;
  make: (work: Work, callbacks: ProcessCallbacks) => Process;
  /** One is lost, also while this is being closed. Never fails. @returns what the next one has to wait for */
  onCrashed: (work: Work) => Promise<void> | undefined;
  /** Whether one that cannot be started again is one more crash, not the end. */
  persistent?: boolean;
};

export class KeptProcess<Process extends OneProcess, Work> {
  readonly #options: KeptProcessOptions<Process, Work>;
  readonly #restarts = new RestartBudget();
  #work: Work | undefined;
  #process: Process | undefined;
  #tracks: readonly ReceivableTrack[] = [];
  #starting: Promise<void> | undefined;
  #closing = false;

  constructor(options: KeptProcessOptions<Process, Work>) {
    this.#options = options;
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

  receive(tracks: readonly ReceivableTrack[]): void {
    this.#tracks = tracks;
    this.#process?.receive(tracks);
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
    const process = make(work, {
      // Before it has started, start() says so.
      onCrashed: (reason) => {
        if (started) this.#crashed(work, reason);
      },
      onFailed: (reason) => {
        if (started) this.#giveUp(reason);
      },
    });
    this.#process = process;
    await process.start();
    started = true;
    host.log.info({ ...facts(work), pid: process.pid }, `${name} started`);
    process.receive(this.#tracks);
  }

  #crashed(work: Work, reason: string): void {
    const { host, name, facts, onCrashed } = this.#options;
    const ready = onCrashed(work);
    this.#process = undefined;
    if (this.#closing) return;
    if (!this.#restarts.take(performance.now())) {
      host.log.error({ ...facts(work), reason }, `the ${name} crashed again`);
      this.#giveUp(`The ${name} crashed too often: ${reason}`);
      return;
    }
    host.log.warn({ ...facts(work), reason }, `the ${name} crashed: started again`);
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
      if (persistent && !this.#closing) this.#crashed(work, problem);
      else this.#giveUp(problem);
    }
  }

  #giveUp(reason: string): void {
    if (!this.#closing) this.#options.host.crashed(reason);
  }
}
