// Static discovery: dials every node of NODES_LIST with backoff until it is connected, without a limit of attempts.
import type { Log } from '../../common/log.ts';
import { Redialer, type RedialerOptions } from './redialer.ts';

export type StaticDiscoveryOptions = Omit<RedialerOptions, 'onFailure'> & { nodes: readonly string[]; log: Log };

export class StaticDiscovery {
  readonly #redialer: Redialer;

  constructor({ nodes, log, ...options }: StaticDiscoveryOptions) {
    this.#redialer = new Redialer({
      ...options,
      onFailure: (node, failures) => {
        if (failures === 1) log.info({ node }, 'configured node unreachable, retrying');
        else log.debug({ node, failures }, 'configured node unreachable');
      },
    });
    for (const node of nodes) if (node !== options.connector.self) this.#redialer.addTarget(node);
  }

  /** True if every listed node was dialed. */
  get dialed(): boolean {
    return !this.#redialer.dialing;
  }

  /** The connection to a node was lost. */
  down(name: string): void {
    this.#redialer.down(name);
  }

  close(): void {
    this.#redialer.close();
  }
}
