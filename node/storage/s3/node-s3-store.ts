// S3 store of the node: recreated when its configuration changes.
import { isDeepStrictEqual } from 'node:util';
import type { S3Target } from '../../../api/component/s3-target.ts';
import { S3Store, type S3StoreOptions } from './s3-store.ts';

export class NodeS3Store {
  readonly #place: () => S3Target | null;
  readonly #options: S3StoreOptions;
  #made: { place: S3Target; store: S3Store } | undefined;

  /** `place`: returns the current configuration. */
  constructor(place: () => S3Target | null, options: S3StoreOptions) {
    this.#place = place;
    this.#options = options;
  }

  /** @returns undefined if no storage is configured. */
  current(): S3Store | undefined {
    const place = this.#place();
    if (place === null) return undefined;
    // Requests in progress use the old store. Its idle sockets close automatically.
    if (!this.#made || !isDeepStrictEqual(this.#made.place, place)) this.#made = { place, store: new S3Store(place, this.#options) };
    return this.#made.store;
  }

  close(): void {
    this.#made?.store.close();
  }
}
