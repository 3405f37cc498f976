// Transitivity, whatever the strategy: whom a connected node knows, this one gets to know.
import type { Log } from '../../common/log.ts';
import { fitsMode, type NameMode, splitNodeName } from '../erlang/node-names.ts';
import { Redialer, type RedialerOptions } from './redialer.ts';

/** Nodes that are remembered because others told of them. */
const maxLearned = 1_000;
/** With back-off about half a minute; who is still told of after that is tried anew. */
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
        if (failures === tries) log.info({ node }, 'a node that another node knows cannot be reached');
        else log.debug({ node, failures }, 'a node that another node knows cannot be reached yet');
      },
    });
  }

  /** Another node says whom it knows; names may be anything. To be called on every word of it: what was given up is tried anew. */
  learn(from: string, names: readonly string[]): void {
    const { connector, log, mode } = this.#options;
    const known = new Set([connector.self, from, ...connector.nodes()]);
    for (const name of names.slice(0, maxLearned)) {
      if (known.has(name)) continue;
      const host = splitNodeName(name)?.host;
      if (host === undefined || !fitsMode(mode, host)) {
        log.debug({ from, name: name.slice(0, 255) }, 'another node knows somebody by a name that is none here');
        continue;
      }
      if (!this.#redialer.has(name) && !this.#hasRoom(from)) return;
      this.#redialer.addTarget(name, { tries });
    }
  }

  /** The connection to a node is gone. */
  down(name: string): void {
    this.#redialer.down(name);
  }

  close(): void {
    this.#redialer.close();
  }

  #hasRoom(from: string): boolean {
    const full = this.#redialer.size >= maxLearned;
    if (full && !this.#full) this.#options.log.warn({ from, limit: maxLearned }, 'more nodes are told of than are remembered');
    this.#full = full;
    return !full;
  }
}
