// Media node: starts its features, and ends them.
import { Closers, Ending } from './common/end-of-node.ts';
import type { Config } from './config.ts';
import { type NodeOptions, type NodeParts, startParts } from './node.ts';

export class MediaNode {
  readonly parts: NodeParts;
  readonly #config: Config;
  readonly #closers: Closers;
  #closed: Promise<void> | undefined;

  private constructor(parts: NodeParts, config: Config, closers: Closers) {
    this.parts = parts;
    this.#config = config;
    this.#closers = closers;
  }

  /** Resolves when all servers listen. @throws Error with a readable message; everything is stopped then */
  static async start(options: NodeOptions): Promise<MediaNode> {
    const closers = new Closers();
    try {
      return new MediaNode(await startParts(options, closers), options.config, closers);
    } catch (error) {
      await closers.run(new Ending(0, true));
      throw error;
    }
  }

  /** Ends the node. Idempotent: all callers share one end. `drainTimeout`: milliseconds in which rooms may end. */
  close(drainTimeout: number = this.#config.drainTimeout): Promise<void> {
    this.#closed ??= this.#closers.run(new Ending(drainTimeout)).then(() => this.parts.log.info('node ended'));
    return this.#closed;
  }

  /** SVC_HOST with the actual port. */
  get host(): string {
    return this.parts.address.host;
  }

  /** `<nodename>@<host>`. */
  get name(): string {
    return this.parts.name;
  }

  /** URL of the node as seen from this host. */
  get url(): string {
    const wildcard = this.#config.ip === '0.0.0.0' || this.#config.ip === '::';
    return `${this.#config.tls ? 'https' : 'http'}://${wildcard ? this.host : this.parts.http.address}`;
  }

  /** Maximum milliseconds that the end waits for rooms and load balancers. */
  get maxWait(): number {
    return Math.max(this.#config.drainTimeout, this.#config.shutdownDelay);
  }
}
