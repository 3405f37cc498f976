// Worker slot: keeps one media worker running on its port, tracks its rooms, and replaces it when it dies.
import type { Log } from '../../common/log.ts';
import type { PipeMeter } from '../legs/pipe-meter.ts';
import type { PeerTraffic } from '../stat-totals.ts';
import { BackOff } from './back-off.ts';
import { crashReason, type WorkerDeath } from './worker-death.ts';
import { WorkerProcess, type WorkerSending } from './worker-process.ts';

/** Maximum time between Ctrl-C, which also reaches workers, and the resulting close(), in milliseconds. */
const orderlyGrace = 500;

/** `extra`: a quarantine worker. `traffic` counts bytes over its workers. */
export type SlotOptions = {
  index: number;
  log: Log;
  listenIp: string;
  workerBin: string | undefined;
  sending: WorkerSending | undefined;
  traffic: PeerTraffic;
  pipes: PipeMeter;
  extra?: boolean;
};
export type SlotState = 'starting' | 'running' | 'restarting' | 'closed';
/** `restarts`: number of replaced dead workers. `hangs`: number of workers killed because they were unresponsive. */
export type SlotView = {
  pid: number | undefined;
  port: number | undefined;
  rooms: number;
  forwardedTracks: number;
  restarts: number;
  hangs: number;
  state: SlotState;
};

/** A room as seen by its worker. */
export type SlotRoom = {
  roomId: string;
  /** Undefined if it has no router. */
  routerId: () => string | undefined;
  /** The worker died. */
  crash: (reason: string) => void;
};

/** A room's access to its worker. */
export type WorkerAssignment = {
  /** Index of the worker, as in metrics. */
  index: number;
  worker: WorkerProcess;
  /** Tracks that the worker forwards for all rooms. */
  forwardedTracks: () => number;
  /** Counts tracks that the worker forwards for the room. */
  countForwarded: (change: 1 | -1) => void;
  /** Releases the assignment. Idempotent. */
  release: () => void;
};

export class WorkerSlot {
  readonly #options: SlotOptions;
  readonly #log: Log;
  readonly #backOff = new BackOff();
  /** Rooms on the current worker. */
  readonly #rooms = new Set<SlotRoom>();
  readonly extra: boolean;
  readonly index: number;
  #forwarded = 0;
  #restarts = 0;
  #hangs = 0;
  #state: SlotState = 'starting';
  #worker: WorkerProcess | undefined;
  #port: number | undefined;
  #startedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #restart: Promise<void> | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SlotOptions) {
    this.#options = options;
    this.extra = options.extra === true;
    this.index = options.index;
    this.#log = options.log.child({ worker: options.index });
  }

  get isRunning(): boolean {
    return this.#state === 'running';
  }

  /** Port of the slot, also while its worker is dead. */
  get port(): number | undefined {
    return this.#port;
  }

  get forwardedTracks(): number {
    return this.#forwarded;
  }

  get rooms(): number {
    return this.#rooms.size;
  }

  get roomIds(): string[] {
    return [...this.#rooms].map(({ roomId }) => roomId);
  }

  view(): SlotView {
    return {
      pid: this.#worker?.pid,
      port: this.#port,
      rooms: this.rooms,
      forwardedTracks: this.#forwarded,
      restarts: this.#restarts,
      hangs: this.#hangs,
      state: this.#state,
    };
  }

  /** Number of routers as counted by the worker; 0 while none is running. */
  async countRouters(): Promise<number> {
    return (await this.#worker?.countRouters()) ?? 0;
  }

  /** Starts the process; it accepts rooms after listen(). @throws Error */
  async start(): Promise<void> {
    const { workerBin, sending, traffic, pipes } = this.#options;
    const worker = await WorkerProcess.start({ log: this.#log, workerBin, sending, traffic, pipes });
    if (this.#state === 'closed') {
      await worker.end();
      return;
    }
    this.#worker = worker;
    worker.onDied((death) => this.#died(worker, death));
  }

  /** Binds the port, which belongs to this slot from now on. @throws Error if it is in use. */
  async listen(port: number): Promise<void> {
    if (!this.#worker) throw new Error('The media worker is not running');
    await this.#worker.listen(this.#options.listenIp, port);
    if (this.#state === 'closed') return;
    this.#port = port;
    this.#startedAt = Date.now();
    this.#state = 'running';
    this.#log.debug({ pid: this.#worker.pid, port }, 'media worker listening');
  }

  /** Releases the port: the caller tries another block. */
  unlisten(): void {
    this.#worker?.unlisten();
    this.#port = undefined;
    if (this.#state === 'running') this.#state = 'starting';
  }

  /**
   * Assigns a room to the running worker. `crash` is called at most once, and never after release().
   * @throws Error if no worker is running
   */
  take(room: SlotRoom): WorkerAssignment {
    const worker = this.#worker;
    if (!worker || !this.isRunning) throw new Error('The media worker is not running');
    this.#rooms.add(room);
    const isHere = () => this.#worker === worker;
    return {
      index: this.index,
      worker,
      forwardedTracks: () => this.#forwarded,
      countForwarded: (change) => {
        if (isHere()) this.#forwarded += change;
      },
      release: () => {
        this.#rooms.delete(room);
      },
    };
  }

  /** Ends the worker permanently, also one that is being restarted. Resolves when all processes have ended. Idempotent. */
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

  #died(worker: WorkerProcess, dying: Promise<WorkerDeath>): void {
    if (this.#worker !== worker || this.#state === 'closed') return;
    this.#worker = undefined;
    // The worker never listened: the caller of listen() gets the error.
    const port = this.#port;
    if (this.#state !== 'running' || port === undefined) return;
    const lifetime = Date.now() - this.#startedAt;
    this.#state = 'restarting';
    this.#forwarded = 0;
    void dying.then((death) => {
      if (this.#state === 'closed') return;
      const lose = () => this.#lose(worker, death, { port, lifetime });
      // If the same signal stopped this process, close() follows: then the rooms did not crash.
      if (death.orderly) this.#timer = setTimeout(lose, orderlyGrace);
      else lose();
    });
  }

  /** Crashes the rooms of a dead worker and schedules a restart. */
  #lose(worker: WorkerProcess, death: WorkerDeath, { port, lifetime }: { port: number; lifetime: number }): void {
    const rooms = [...this.#rooms];
    this.#rooms.clear();
    const { hung, lastPacket } = death;
    if (hung) this.#hangs += 1;
    const last = lastPacket && rooms.find(({ routerId }) => routerId() === lastPacket.routerId)?.roomId;
    this.#log.error(
      { pid: worker.pid, port, rooms: rooms.length, hung, ...(last !== undefined && { lastPacket: last, handling: lastPacket?.handling }) },
      'media worker died',
    );
    for (const room of rooms) {
      try {
        room.crash(crashReason(death, room.routerId()));
      } catch (error) {
        this.#log.error({ err: error }, 'could not crash room of dead media worker');
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
      this.#log.info({ pid: this.#worker?.pid, port }, 'media worker restarted');
    } catch (error) {
      const failed = this.#worker;
      this.#worker = undefined;
      await failed?.end();
      if (this.#state === 'closed') return;
      const delay = this.#backOff.delayAfter(0);
      this.#log.error({ err: error, port, delay }, 'could not restart media worker');
      this.#restartAfter(delay, port);
    }
  }
}
