// NODES_LIST: every listed node is dialled for ever, with back-off, until it is connected.
import type { Log } from '../../common/log.ts';
import { Redialer, type RedialerOptions } from './redialer.ts';

export type StaticDiscoveryOptions = Omit<RedialerOptions, 'onFailure'> & { nodes: readonly string[]; log: Log };

export class StaticDiscovery {
  readonly #redialer: Redialer;

  constructor({ nodes, log, ...options }: StaticDiscoveryOptions) {
    this.#redialer = new Redialer({
      ...options,
      onFailure: (node, failures) => {
        if (failures === 1) log.info({ node }, 'a listed node cannot be reached, it is tried again for ever');
        else log.debug({ node, failures }, 'a listed node cannot be reached');
      },
    });
    for (const node of nodes) if (node !== options.connector.self) this.#redialer.addTarget(node);
  }

  /** Whether every listed node was dialled. */
  get dialed(): boolean {
    return !this.#redialer.dialing;
  }

  /** The connection to a node is gone. */
  down(name: string): void {
    this.#redialer.down(name);
  }

  close(): void {
    this.#redialer.close();
  }
}
