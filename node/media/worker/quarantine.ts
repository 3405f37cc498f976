// Workers beside the node's own for rooms that are suspects: started when there are suspects, ended when there are none.
import type { Log } from '../../common/log.ts';
import { withoutRequestContext } from '../../common/request-id.ts';
import { Timer } from '../../common/timer.ts';
import { findFreePortRange } from './free-ports.ts';
import type { Suspects } from './suspects.ts';
import type { WorkerSlot } from './worker-slot.ts';

/** More suspects than this share. */
export const maxExtraWorkers = 4;

export type QuarantineOptions = {
  log: Log;
  suspects: Suspects;
  listenIp: string;
  /** Ports before are the node's own, also while the worker that has one is dead. */
  firstPort: number;
  /** 0: the node's ports are given, and there are no more. */
  most: number;
  /** Makes a slot that was not started, the n-th. */
  slot: (index: number) => WorkerSlot;
};

export class Quarantine {
  readonly #options: QuarantineOptions;
  readonly #slots: WorkerSlot[] = [];
  readonly #ending = new Set<Promise<void>>();
  #wanted = 0;
  #growing: Promise<void> | undefined;
  /** One could not be started: others are not waited for until there are other suspects. */
  #failed = false;
  #crashed = false;
  #timer: Timer | undefined;
  #closed = false;

  constructor(options: QuarantineOptions) {
    this.#options = options;
  }

  /** Those that were started, the oldest first. */
  get slots(): readonly WorkerSlot[] {
    return this.#slots;
  }

  /** Whether one more is on its way or can be had by wantMore(). */
  get canGrow(): boolean {
    return this.#growing !== undefined || (this.#slots.length < this.#options.most && !this.#failed);
  }

  /** There may be new suspects of this node, who are soon back: workers are started for them. */
  roomsCrashed(): void {
    if (this.#crashed) return;
    this.#crashed = true;
    // Once for all rooms of a worker.
    queueMicrotask(() => {
      this.#crashed = false;
      this.#failed = false;
      this.#wanted = Math.max(this.#wanted, this.#options.suspects.view().count);
      this.settle();
    });
  }

  /** A suspect found no worker. */
  wantMore(): void {
    this.#wanted = Math.max(this.#wanted, this.#slots.length + 1);
    this.settle();
  }

  /** Starts what suspects need and ends what nobody needs. To be called when rooms left. */
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

  /** Resolves when no process is left. */
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
      if (port === undefined) throw new Error('No port is free.');
      await slot.listen(port);
      this.#slots.push(slot);
      log.warn({ port }, 'media worker started for rooms whose worker died again and again');
    } catch (error) {
      this.#failed = true;
      log.error({ err: error }, 'no media worker could be started for rooms whose worker died again and again');
      await slot.close();
    }
    this.#growing = undefined;
    this.settle();
  }
}
