// Quarantine: additional media workers for suspect rooms, started while there are suspects and stopped afterwards.
import type { Log } from '../../common/log.ts';
import { withoutRequestContext } from '../../common/request-context.ts';
import { Timer } from '../../common/timer.ts';
import { findFreePortRange } from './free-ports.ts';
import type { Suspects } from './suspects.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** Maximum number of workers; more suspects share them. */
export const maxExtraWorkers = 4;

export type QuarantineOptions = {
  log: Log;
  suspects: Suspects;
  listenIp: string;
  /** Lower ports are reserved for the regular workers, also while one of them is dead. */
  firstPort: number;
  /** Maximum number of workers; 0 if the ports are configured, because there are no spare ports. */
  most: number;
  /** Creates the n-th slot, not yet started. */
  slot: (index: number) => WorkerSlot;
};

export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #slots: WorkerSlot[] = [];
  readonly #ending = new Set<Promise<void>>();
  #wanted = 0;
  #growing: Promise<void> | undefined;
  /** A worker could not be started: rooms do not wait for another one until there are new suspects. */
  #failed = false;
  #crashed = false;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Started workers, oldest first. */
  get slots(): readonly WorkerSlot[] {
    return this.#slots;
  }

  /** True if another worker is starting or can be requested with wantMore(). */
  get canGrow(): boolean {
    return this.#growing !== undefined || (this.#slots.length < this.#options.most && !this.#failed);
  }

  /** Rooms crashed: starts workers for new suspects, which will soon be recreated. */
  roomsCrashed(): void {
    if (this.#crashed) return;
    this.#crashed = true;
    // Once for all rooms of a worker, which crash in the same turn.
    queueMicrotask(() => {
      this.#crashed = false;
      this.#failed = false;
      this.#wanted = Math.max(this.#wanted, this.#options.suspects.view().count);
      this.settle();
    });
  }

  /** No worker was available for a suspect. */
  wantMore(): void {
    this.#wanted = Math.max(this.#wanted, this.#slots.length + 1);
    this.settle();
  }

  /** Starts required workers and stops unused ones. Call it after rooms have ended. */
  settle(): void {
    if (this.#closed) return;
    const { count, over } = this.#options.suspects.view();
    this.#timer?.stop();
    if (count > 0) {
      this.#timer = new Timer(over, () => this.settle());
      if (this.#slots.length < Math.min(this.#wanted, this.#options.most) && !this.#failed)
        this.#growing ??= withoutRequestContext(() => this.#grow());
      return;
    }
    this.#wanted = 0;
    for (let last = this.#slots.at(-1); last?.rooms === 0; last = this.#slots.at(-1)) {
      this.#slots.pop();
      const ended = last.close().finally(() => this.#ending.delete(ended));
      this.#ending.add(ended);
    }
  }

  /** Resolves when all processes have ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#timer?.stop();
    await this.#growing;
    await Promise.all([...this.#slots.map((slot) => slot.close()), ...this.#ending]);
  }

  async #grow(): Promise<void> {
    const { log, listenIp, firstPort, slot: make } = this.#options;
    const slot = make(this.#slots.length);
    try {
      await slot.start();
      const from = Math.max(firstPort, ...this.#slots.map(({ port = 0 }) => port + 1));
      const port = await findFreePortRange(listenIp, 1, from);
      if (port === undefined) throw new Error('No free port');
      await slot.listen(port);
      this.#slots.push(slot);
      log.warn({ port }, 'quarantine worker started');
    } catch (error) {
      this.#failed = true;
      log.error({ err: error }, 'could not start quarantine worker');
      await slot.close();
    }
    this.#growing = undefined;
    this.settle();
  }
}
