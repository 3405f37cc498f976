// Secret store: the reflector caches only the metadata of Secrets; their content is requested when a reconcile needs it.
import type { KubeClient } from './client.ts';
import { type KubeObject, keyOf, resources, type Stored } from './objects.ts';
import type { Reflector } from './reflector.ts';

type WithData = KubeObject & { data?: Readonly<Record<string, string>> };

export type SecretStoreOptions<T extends WithData> = {
  /** Its objects may lack their data. */
  metadata: Pick<Reflector<T>, 'get' | 'list' | 'synced'>;
  client: Pick<KubeClient, 'find'>;
  /** Content beyond this is dropped, the least recently read first. */
  maxBytes: number;
};

export class SecretStore<T extends WithData> {
  readonly #options: SecretStoreOptions<T>;
  /** By key, the most recently read last. */
  readonly #content = new Map<string, Stored<T>>();
  readonly #requests = new Map<string, Promise<Stored<T> | undefined>>();
  /** Keys of written Secrets that the watch has not reported yet. */
  readonly #unreported = new Set<string>();
  #bytes = 0;

  constructor(options: SecretStoreOptions<T>) {
    this.#options = options;
  }

  get synced(): boolean {
    return this.#options.metadata.synced;
  }

  /** Bytes of the content in memory. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Metadata of all Secrets. */
  list(): Stored<T>[] {
    return this.#options.metadata.list();
  }

  /** The Secret as read last; undefined if it does not exist or was never read. */
  get(key: string): Stored<T> | undefined {
    return this.#options.metadata.get(key) && this.#content.get(key);
  }

  /** The existing Secrets among these names, with their present content. @throws KubeError if it cannot be read */
  async read(namespace: string, names: readonly string[]): Promise<ReadonlyMap<string, Stored<T>>> {
    const read = async (name: string) => [name, await this.#read(namespace, name)] as const;
    const found = await Promise.all([...new Set(names)].map(read));
    return new Map(found.flatMap(([name, secret]) => (secret ? [[name, secret] as const] : [])));
  }

  /** The response to a write of the operator, so that its content need not be requested. */
  written(secret: Stored<T>): void {
    const key = keyOf(secret);
    this.#keep(key, secret);
    this.#unreported.add(key);
  }

  async #read(namespace: string, name: string): Promise<Stored<T> | undefined> {
    const key = `${namespace}/${name}`;
    const now = this.#options.metadata.get(key);
    const known = this.#content.get(key);
    if (now && known && isCurrent(known, now)) {
      this.#keep(key, known);
      return known;
    }
    if (!now) {
      if (!this.#unreported.has(key)) this.#drop(key);
      return undefined;
    }
    this.#unreported.delete(key);
    // Many Rooms may name one Secret, and are reconciled together when it changes.
    const version = `${key} ${now.metadata.resourceVersion}`;
    const request = this.#requests.get(version) ?? this.#request(namespace, name).finally(() => this.#requests.delete(version));
    this.#requests.set(version, request);
    return request;
  }

  async #request(namespace: string, name: string): Promise<Stored<T> | undefined> {
    const key = `${namespace}/${name}`;
    const found = await this.#options.client.find<T>(resources.secrets, { namespace, name });
    if (found) this.#keep(key, found);
    else this.#drop(key);
    return found;
  }

  #keep(key: string, secret: Stored<T>): void {
    this.#drop(key);
    this.#content.set(key, secret);
    this.#bytes += sizeOf(secret);
    for (const oldest of this.#content.keys()) {
      if (this.#bytes <= this.#options.maxBytes) break;
      this.#drop(oldest);
    }
  }

  #drop(key: string): void {
    const known = this.#content.get(key);
    if (!known) return;
    this.#content.delete(key);
    this.#unreported.delete(key);
    this.#bytes -= sizeOf(known);
  }
}

/** The response to a request may be newer than the watch. */
function isCurrent({ metadata }: Stored, now: Stored): boolean {
  return metadata.uid === now.metadata.uid && BigInt(metadata.resourceVersion) >= BigInt(now.metadata.resourceVersion);
}

function sizeOf({ data = {} }: Stored<WithData>): number {
  return Object.entries(data).reduce((sum, [key, value]) => sum + key.length + value.length, 0);
}
