// Gossip discovery: dials the nodes that connected nodes advertise, with every strategy.
import type { Log } from '../../common/log.ts';
import { fitsMode, type NameMode, splitNodeName } from '../erlang/node-names.ts';
import { Redialer, type RedialerOptions } from './redialer.ts';

/** Maximum number of advertised nodes that are remembered. */
const maxLearned = 1_000;
/** About half a minute with backoff. A node that is advertised again after that is retried. */
const tries = 7;

export type GossipDiscoveryOptions = Omit<RedialerOptions, 'onFailure'> & { mode: NameMode; log: Log };

export class GossipDiscovery {
  readonly #options: GossipDiscoveryOptions;
  readonly #redialer: Redialer;
  #full = false;

  constructor(options: GossipDiscoveryOptions) {
    const { log } = options;
    this.#options = options;
    this.#redialer = new Redialer({
      ...options,
      onFailure: (node, failures) => {
        if (failures === tries) log.info({ node }, 'advertised node unreachable');
        else log.debug({ node, failures }, 'advertised node unreachable, retrying');
      },
    });
  }

  /**
   * Another node sent the nodes it is connected to; the names are untrusted. Call it for each such message, because it restarts retries
   * that have ended.
   */
  learn(from: string, names: readonly string[]): void {
    const { connector, log, mode } = this.#options;
    const known = new Set([connector.self, from, ...connector.nodes()]);
    for (const name of names.slice(0, maxLearned)) {
      if (known.has(name)) continue;
      const host = splitNodeName(name)?.host;
      if (host === undefined || !fitsMode(mode, host)) {
        log.debug({ from, name: name.slice(0, 255) }, 'ignored advertised node with invalid name');
        continue;
      }
      if (!this.#redialer.has(name) && !this.#hasRoom(from)) return;
      this.#redialer.addTarget(name, { tries });
    }
  }

  /** The connection to a node was lost. */
  down(name: string): void {
    this.#redialer.down(name);
  }

  close(): void {
    this.#redialer.close();
  }

  #hasRoom(from: string): boolean {
    const full = this.#redialer.size >= maxLearned;
    if (full && !this.#full) this.#options.log.warn({ from, limit: maxLearned }, 'too many advertised nodes, ignoring the rest');
    this.#full = full;
    return !full;
  }
}
