// Webhook store: the spool of pending deliveries and the dead letters, in a folder of this node.
import type { Log } from '../../common/log.ts';
import { DeadLetters } from './dead-letters.ts';
import type { Delivery } from './delivery.ts';
import { OrphanedSpools, type OrphanedSpoolsOptions } from './orphaned-spools.ts';
import { Spool, type SpoolOptions } from './spool.ts';
import { SpoolFolder } from './spool-folder.ts';

export type StoreOptions = {
  log: Log;
  /** Parent folder for all nodes that share a resources directory. */
  base: string;
  /** Name of this node. */
  name: string;
  deadLetterBytes?: number;
} & Pick<SpoolOptions, 'segmentBytes' | 'retryDelay'>;

export class WebhookStore {
  readonly spool: Spool;
  readonly dead: DeadLetters;
  /** Deliveries that were pending at the end of the previous run, oldest first, and the highest number used. */
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

  /** @returns undefined if the folder is not usable, which is logged: media must not depend on it. */
  static async open(options: StoreOptions): Promise<WebhookStore | undefined> {
    let folder: SpoolFolder | undefined;
    try {
      folder = await SpoolFolder.take(options.base, options.name);
      return new WebhookStore(folder, options);
    } catch (error) {
      options.log.error({ err: error, folder: options.base }, 'could not open webhook spool, delivering from memory');
      await folder?.close();
      return undefined;
    }
  }

  get folder(): string {
    return this.#folder.path;
  }

  /** Takes over spools of other nodes in the parent folder, now and at intervals. */
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
