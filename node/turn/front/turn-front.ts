// Front of TURN over TLS behind proxies: supervises the thread that reads PROXY protocol headers, because coturn reads none before TLS.
import { extname, join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';

type Listener = { host: string; port: number };
export type FrontOptions = {
  listen: Listener;
  /** Where coturn accepts TLS. */
  target: Listener;
  maxConnections: number;
  /** Connections of one IPv4 address or one /64 of IPv6. */
  maxPerNetwork: number;
  headerTimeoutMs: number;
};
/** Messages of the thread. `rejected`: a connection without a valid header, or beyond a limit. */
export type FrontMessage = { listening: true } | { failed: string } | { rejected: 'header' | 'network' | 'total' };

/** A company with 256 participants behind one address, each with a connection to send and one to receive. */
export const frontLimits = { maxConnections: 8192, maxPerNetwork: 512, headerTimeoutMs: 10_000 };
/** Compiled in an image. */
const thread = join(import.meta.dirname, `front-thread${extname(import.meta.filename)}`);
const restartDelay = 1_000;
const reportInterval = 10_000;

export class TurnFront {
  readonly #options: FrontOptions;
  readonly #log: Log;
  #worker: Worker | undefined;
  #restart: Timer | undefined;
  #report: Timer | undefined;
  /** Rejected connections since the last log line. */
  readonly #rejected = new Map<string, number>();
  #closed = false;

  private constructor(options: FrontOptions, log: Log) {
    this.#options = options;
    this.#log = log;
  }

  /** Resolves when it is listening. @throws Error with a readable message */
  static async start(options: FrontOptions, log: Log): Promise<TurnFront> {
    const front = new TurnFront(options, log);
    try {
      await front.#run();
    } catch (error) {
      await front.close();
      throw error;
    }
    return front;
  }

  /** Ends its connections. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#restart?.stop();
    this.#report?.stop();
    await this.#worker?.terminate();
  }

  async #run(): Promise<void> {
    const { host, port } = this.#options.listen;
    const worker = new Worker(thread, { workerData: this.#options });
    this.#worker = worker;
    const listening = Promise.withResolvers<void>();
    worker.on('message', (message: FrontMessage) => {
      if ('rejected' in message) this.#count(message.rejected);
      else if ('listening' in message) listening.resolve();
      else listening.reject(new Error(`TURN cannot listen on ${host} port ${port}: ${message.failed}`));
    });
    worker.on('error', (error) => listening.reject(error));
    worker.on('exit', () => {
      listening.reject(new Error('the thread of TURN over TLS ended'));
      this.#ended(worker);
    });
    await listening.promise;
    this.#log.info({ ip: host, port }, 'TURN over TLS listening behind proxies');
  }

  #ended(worker: Worker): void {
    if (this.#closed || this.#worker !== worker) return;
    this.#log.error('TURN thread exited, restarting');
    this.#restart = new Timer(restartDelay, () => {
      if (this.#closed) return;
      this.#run().catch((error: unknown) => this.#log.error({ err: error }, 'could not restart TURN thread'));
    });
  }

  #count(reason: string): void {
    this.#rejected.set(reason, (this.#rejected.get(reason) ?? 0) + 1);
    this.#report ??= new Timer(reportInterval, () => {
      this.#log.warn({ rejected: Object.fromEntries(this.#rejected) }, 'rejected TURN connections');
      this.#rejected.clear();
      this.#report = undefined;
    });
  }
}
