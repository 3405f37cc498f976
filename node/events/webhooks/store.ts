// What webhooks keep on disk: the spool of what waits and the dead letters, in a folder of this node's own.
import type { Log } from '../../common/log.ts';
import { DeadLetters } from './dead-letters.ts';
import type { Delivery } from './delivery.ts';
import { OrphanedSpools, type OrphanedSpoolsOptions } from './orphaned-spools.ts';
import { Spool, type SpoolOptions } from './spool.ts';
import { SpoolFolder } from './spool-folder.ts';

export type StoreOptions = {
  log: Log;
  /** Folder of all nodes that share a resources directory. */
  base: string;
  /** Name of this node. */
  name: string;
  deadLetterBytes?: number;
} & Pick<SpoolOptions, 'segmentBytes' | 'retryDelay'>;

export class WebhookStore {
  readonly spool: Spool;
  readonly dead: DeadLetters;
  /** What waited when the node ended, oldest first, and the highest number that was given. */
  readonly recovered: { pending: readonly Delivery[]; last: number };
  readonly #folder: SpoolFolder;
  readonly #options: StoreOptions;
  #left: OrphanedSpools | undefined;

  private constructor(folder: SpoolFolder, options: StoreOptions) {
    const { spool, ...recovered } = Spool.open(folder.path, options);
    this.spool = spool;
    this.recovered = recovered;
    this.dead = new DeadLetters(folder.path, { log: options.log, maxBytes: options.deadLetterBytes });
    this.#folder = folder;
    this.#options = options;
  }

  /** @returns undefined where the folder cannot be used, which is logged: media must not depend on it. */
  static async open(options: StoreOptions): Promise<WebhookStore | undefined> {
    let folder: SpoolFolder | undefined;
    try {
      folder = await SpoolFolder.take(options.base, options.name);
      return new WebhookStore(folder, options);
    } catch (error) {
      options.log.error({ err: error, folder: options.base }, 'the webhook spool cannot be used: webhooks are delivered from memory only');
      await folder?.close();
      return undefined;
    }
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** Takes over what nodes of other names left beside this folder, now and from time to time. */
  takeOver(take: OrphanedSpoolsOptions['take']): void {
    const { log, base } = this.#options;
    this.#left ??= new OrphanedSpools({ log, base, own: this.folder, take });
    this.#left.start();
  }

  async close(): Promise<void> {
    await this.#left?.close();
    await this.spool.close();
    await this.#folder.close();
  }
}
