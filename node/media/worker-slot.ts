// A place for a worker: keeps one running on its port, knows the rooms on it, and replaces it when it dies.
import type { Log } from '../log.ts';
import { BackOff } from './back-off.ts';
import { type MediaTraffic, TrafficMeter } from './traffic-meter.ts';
import { WorkerProcess } from './worker-process.ts';

/** Milliseconds between Ctrl-C, which reaches workers as well, and the close() that it leads to. */
const orderlyGrace = 500;

export type SlotOptions = { index: number; log: Log; listenIp: string; workerBin: string | undefined };
export type SlotState = 'starting' | 'running' | 'restarting' | 'closed';
/** `restarts`: how often a worker that died was replaced. */
export type SlotView = {
  pid: number | undefined;
  port: number | undefined;
  rooms: number;
  forwardedTracks: number;
  restarts: number;
  state: SlotState;
};

/** What a room holds of the worker that it is on. */
export type Place = {
  worker: WorkerProcess;
  /** Counts tracks that the worker forwards for the room. */
  countForwarded: (change: 1 | -1) => void;
  /** Gives the place back. Idempotent. */
  leave: () => void;
};

export class WorkerSlot {
  readonly #options: SlotOptions;
  readonly #log: Log;
  readonly #backOff = new BackOff();
  /** Rooms on the worker that runs now, by what to call when it dies. */
  readonly #rooms = new Set<() => void>();
  readonly #traffic = new TrafficMeter();
  #forwarded = 0;
  #restarts = 0;
  #state: SlotState = 'starting';
  #worker: WorkerProcess | undefined;
  #port: number | undefined;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #restart: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.#log = options.log.child({ worker: options.index });
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  get forwardedTracks(): number {
    return this.#forwarded;
  }

  get rooms(): number {
    return this.#rooms.size;
  }

  view(): SlotView {
    return {
      pid: this.#worker?.pid,
      port: this.#port,
      rooms: this.rooms,
      forwardedTracks: this.#forwarded,
      restarts: this.#restarts,
      state: this.#state,
    };
  }

  /** What went over its workers. Never rejects, and takes 2 s at most. */
  traffic(): Promise<MediaTraffic> {
    return this.#traffic.read();
  }

  /** Rooms with media as the worker itself counts them; 0 while none runs. */
  async countRouters(): Promise<number> {
    return (await this.#worker?.countRouters()) ?? 0;
  }

  /** Starts the process; it takes rooms once it listens. @throws Error */
  async start(): Promise<void> {
    const worker = await WorkerProcess.start({ log: this.#log, workerBin: this.#options.workerBin, traffic: this.#traffic });
    if (this.#state === 'closed') {
      await worker.end();
      return;
    }
    this.#worker = worker;
    worker.onDied((orderly) => this.#died(worker, orderly));
  }

  /** Binds the port, from now on this slot's own. @throws Error where it is taken. */
  async listen(port: number): Promise<void> {
    if (!this.#worker) throw new Error('The media worker does not run.');
    await this.#worker.listen(this.#options.listenIp, port);
    if (this.#state === 'closed') return;
    this.#port = port;
    this.#startedAt = Date.now();
    this.#state = 'running';
    this.#log.debug({ pid: this.#worker.pid, port }, 'media worker listens');
  }

  /** Gives the port back: another block is tried. */
  unlisten(): void {
    this.#worker?.unlisten();
    this.#port = undefined;
    if (this.#state === 'running') this.#state = 'starting';
  }

  /** A place on the running worker. `onDied` is called at most once, and not after leave(). @throws Error where none runs. */
  take(onDied: () => void): Place {
    const worker = this.#worker;
    if (!worker || !this.isRunning) throw new Error('The media worker does not run.');
    const room = () => onDied();
    this.#rooms.add(room);
    const isHere = () => this.#worker === worker;
    return {
      worker,
      countForwarded: (change) => {
        if (isHere()) this.#forwarded += change;
      },
      leave: () => {
        this.#rooms.delete(room);
      },
    };
  }

  /** Ends the worker for good, also one that is being restarted. Resolves when no process is left. Idempotent. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#state = 'closed';
    clearTimeout(this.#timer);
    this.#rooms.clear();
    await this.#worker?.end();
    await this.#restart;
  }

  #died(worker: WorkerProcess, orderly: boolean): void {
    if (this.#worker !== worker || this.#state === 'closed') return;
    this.#worker = undefined;
    // Before it listened: whoever waits for that gets the error and deals with it.
    const port = this.#port;
    if (this.#state !== 'running' || port === undefined) return;
    const lifetime = Date.now() - this.#startedAt;
    this.#state = 'restarting';
    this.#forwarded = 0;
    // Whoever stopped the worker along with us closes us next: then its rooms did not crash.
    if (orderly) this.#timer = setTimeout(() => this.#lose(worker, port, lifetime), orderlyGrace);
    else this.#lose(worker, port, lifetime);
  }

  /** Tells the rooms of a worker that died, and gets another one. */
  #lose(worker: WorkerProcess, port: number, lifetime: number): void {
    const rooms = [...this.#rooms];
    this.#rooms.clear();
    this.#log.error({ pid: worker.pid, port, rooms: rooms.length }, 'media worker died');
    for (const crash of rooms) {
      try {
        crash();
      } catch (error) {
        this.#log.error({ err: error }, 'a room failed to handle the death of its media worker');
      }
    }
    this.#restartAfter(this.#backOff.delayAfter(lifetime), port);
  }

  #restartAfter(delay: number, port: number): void {
    if (this.#state === 'closed') return;
    this.#timer = setTimeout(() => {
      this.#restart = this.#restartOn(port);
    }, delay);
  }

  async #restartOn(port: number): Promise<void> {
    try {
      await this.start();
      if (this.#state === 'closed') return;
      await this.listen(port);
      this.#restarts += 1;
      this.#log.info({ pid: this.#worker?.pid, port }, 'media worker is back');
    } catch (error) {
      const failed = this.#worker;
      this.#worker = undefined;
      await failed?.end();
      if (this.#state === 'closed') return;
      const delay = this.#backOff.delayAfter(0);
      this.#log.error({ err: error, port, delay }, 'media worker could not be started again');
      this.#restartAfter(delay, port);
    }
  }
}
