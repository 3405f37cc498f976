// EPMD service: registers this node at the EPMD of the host, becomes the EPMD if there is none, and repeats that after a loss.
import { randomInt } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Log } from '../../../common/log.ts';
import { isSystemError } from '../listen.ts';
import { WireError } from '../wire-error.ts';
import { listNodes, NameTakenError, type Registration, registerNode } from './epmd-client.ts';
import { EpmdServer } from './epmd-server.ts';

export const defaultEpmdPort = 4369;

export type EpmdServiceOptions = {
  /** Address on which to serve EPMD if necessary; null: all addresses. */
  ip: string | null;
  port?: number;
  /** The node to register; null: none, only serve EPMD for other nodes. */
  node: { name: string; port: number } | null;
  log: Log;
};

/** Milliseconds. Spreads nodes that lose the same EPMD at the same time. */
const jitter = 200;
const maxWaitMs = 30_000;
/** Interval at which a node without a registration checks whether the port is free. */
const watchInterval = 5000;
const attemptsAtStart = 5;
const loopback = '127.0.0.1';

export class EpmdService {
  readonly #options: EpmdServiceOptions;
  readonly #port: number;
  readonly #log: Log;
  readonly #end = new AbortController();
  #server: EpmdServer | undefined;
  #registration: Registration | undefined;
  #running: Promise<void> | undefined;
  #complained = '';
  #failures = 0;
  #creation = 0;

  private constructor(options: EpmdServiceOptions) {
    this.#options = options;
    this.#port = options.port ?? defaultEpmdPort;
    this.#log = options.log;
  }

  /**
   * Resolves when the node is registered, or when registration is not possible now and continues in the background.
   * @throws NameTakenError if another node of this host has the name
   */
  static async start(options: EpmdServiceOptions): Promise<EpmdService> {
    const service = new EpmdService(options);
    try {
      await service.#begin();
    } catch (error) {
      await service.close();
      throw error;
    }
    service.#running = service.#keep();
    return service;
  }

  /** Identifies this incarnation of the node name. It stays the same even if EPMD assigns others later. */
  get creation(): number {
    return this.#creation;
  }

  get registered(): boolean {
    return this.#registration !== undefined;
  }

  /** True if this process serves EPMD. */
  get serving(): boolean {
    return this.#server !== undefined;
  }

  /** Unregisters the name and stops serving EPMD. Idempotent. */
  async close(): Promise<void> {
    this.#end.abort();
    this.#registration?.close();
    await this.#server?.close();
    this.#server = undefined;
    await this.#running;
  }

  get #home(): { host: string; port: number } {
    return { host: this.#options.ip ?? loopback, port: this.#port };
  }

  async #begin(): Promise<void> {
    for (let attempt = 1; attempt <= attemptsAtStart; attempt += 1) {
      try {
        if (await this.#attempt()) break;
      } catch (error) {
        // The node that has the name may be shutting down, so registration is retried briefly.
        if (!(error instanceof NameTakenError) || attempt === attemptsAtStart) throw error;
      }
      if (this.#complained) break;
      await sleep(randomInt(jitter));
    }
    this.#creation = this.#registration?.creation ?? randomInt(4, 0x7fff_ffff);
  }

  async #keep(): Promise<void> {
    while (!this.#end.signal.aborted) {
      if (this.#registration) {
        await this.#registration.closed;
        this.#registration = undefined;
        if (this.#end.signal.aborted) return;
        this.#log.warn({ port: this.#port }, 'lost connection to EPMD');
        await this.#pause(randomInt(jitter));
      } else await this.#pause(this.#options.node ? this.#backOff() : watchInterval);
      if (this.#end.signal.aborted) return;
      await this.#attempt().catch((error: unknown) => this.#complain('node name is taken at local EPMD', error));
    }
  }

  /** True if the node is registered, or EPMD is served, afterwards. @throws NameTakenError */
  async #attempt(): Promise<boolean> {
    const done = this.#options.node ? await this.#register(this.#options.node) : await this.#serve();
    if (!done) return false;
    this.#failures = 0;
    this.#complained = '';
    return true;
  }

  async #register(node: { name: string; port: number }): Promise<boolean> {
    try {
      this.#registration = await registerNode(this.#home, node);
      if (this.#end.signal.aborted) this.#registration.close();
      this.#log.info({ node: node.name, port: node.port, own: this.serving }, 'registered with EPMD');
      return true;
    } catch (error) {
      if (error instanceof NameTakenError) throw error;
      if (!isSystemError(error, 'ECONNREFUSED')) this.#complainOfPort(error);
      // The previous EPMD is closed or closing. This process replaces it, and the next attempt registers.
      else if (await this.#serve()) return this.#register(node);
      return false;
    }
  }

  async #serve(): Promise<boolean> {
    if (this.#server || this.#end.signal.aborted) return this.#server !== undefined;
    const server = new EpmdServer(this.#log);
    try {
      await server.listen(this.#options.ip, this.#port);
      await this.#serveLoopback(server);
    } catch (error) {
      await server.close();
      if (!isSystemError(error, 'EADDRINUSE')) this.#complain('could not listen as EPMD', error);
      else if (!this.#options.node) await listNodes(this.#home).catch((reason: unknown) => this.#complainOfPort(reason));
      return false;
    }
    if (this.#end.signal.aborted) {
      await server.close();
      return false;
    }
    this.#server = server;
    this.#log.info({ ip: this.#options.ip ?? 'all', port: this.#port }, 'EPMD listening');
    return true;
  }

  /** Erlang nodes on this host connect to EPMD at loopback. If another EPMD listens there, it serves them. */
  async #serveLoopback(server: EpmdServer): Promise<void> {
    const { ip } = this.#options;
    if (ip === null || ip === loopback || ip === '::1') return;
    await server.listen(loopback, this.#port).catch((error: unknown) => {
      this.#log.debug({ err: error }, 'EPMD does not listen on loopback');
    });
  }

  #complainOfPort(error: unknown): void {
    if (error instanceof WireError) this.#complain(`port ${this.#port} is in use by a server that is not EPMD`, error);
    else this.#complain('EPMD did not respond', error);
  }

  /** Logs a problem once until it changes. */
  #complain(what: string, error: unknown): void {
    if (this.#complained === what || this.#end.signal.aborted) return;
    this.#complained = what;
    this.#log.error({ err: error, port: this.#port }, what);
  }

  #backOff(): number {
    this.#failures += 1;
    const most = Math.min(maxWaitMs, jitter * 2 ** this.#failures);
    return most / 2 + Math.random() * (most / 2);
  }

  async #pause(time: number): Promise<void> {
    await sleep(time, undefined, { signal: this.#end.signal, ref: false }).catch(() => {});
  }
}
