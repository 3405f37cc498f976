// Informer: caches all objects of one kind, for the Kubernetes components that the kit simulates.
import { setTimeout as sleep } from 'node:timers/promises';
import type { JsonClient } from './https-json.ts';
import type { ApiObject } from './pods/pod-spec.ts';

type Page<T> = { metadata: { resourceVersion: string }; items: T[] };
type WatchEvent<T> = { type: string; object: T };

const retryDelay = 200;

export class Informer<T extends ApiObject> {
  readonly #client: JsonClient;
  readonly #path: string;
  readonly #changed: (now: T | undefined, before: T | undefined) => void;
  readonly #objects = new Map<string, T>();
  readonly #end = new AbortController();
  readonly #filled = Promise.withResolvers<void>();
  #run: Promise<void> | undefined;

  /** @param path of the list in the API; `changed` is called for every added, changed or deleted object */
  constructor(client: JsonClient, path: string, changed: (now: T | undefined, before: T | undefined) => void) {
    this.#client = client;
    this.#path = path;
    this.#changed = changed;
  }

  get all(): T[] {
    return [...this.#objects.values()];
  }

  get(name: string, namespace?: string): T | undefined {
    return this.#objects.get(`${namespace ?? ''}/${name}`);
  }

  /** Resolves when all existing objects are cached. */
  start(): Promise<void> {
    this.#run ??= this.#follow();
    return this.#filled.promise;
  }

  async close(): Promise<void> {
    this.#end.abort();
    await this.#run;
  }

  async #follow(): Promise<void> {
    const { signal } = this.#end;
    while (!signal.aborted) {
      try {
        let version = await this.#list();
        this.#filled.resolve();
        while (!signal.aborted) version = await this.#watch(version, signal);
      } catch {
        await sleep(retryDelay, undefined, { signal }).catch(() => {});
      }
    }
  }

  async #list(): Promise<string> {
    const { status, body } = await this.#client.call(this.#path);
    if (status !== 200) throw new Error(`list: ${status}`);
    const page = body as Page<T>;
    const there = new Set(page.items.map(keyOf));
    for (const object of page.items) this.#take(object);
    for (const key of [...this.#objects.keys()]) if (!there.has(key)) this.#drop(key);
    return page.metadata.resourceVersion;
  }

  /** @returns the version to resume from. @throws if a new list is needed */
  async #watch(from: string, signal: AbortSignal): Promise<string> {
    let version = from;
    const status = await this.#client.lines(`${this.#path}?watch=true&allowWatchBookmarks=true&resourceVersion=${from}`, signal, (line) => {
      const { type, object } = line as WatchEvent<T>;
      if (type === 'ERROR') throw new Error('the watch has ended');
      version = object.metadata.resourceVersion;
      if (type === 'DELETED') this.#drop(keyOf(object), object);
      else if (type !== 'BOOKMARK') this.#take(object);
    });
    if (status !== 200) throw new Error(`watch: ${status}`);
    return version;
  }

  #take(object: T): void {
    const before = this.#objects.get(keyOf(object));
    if (before?.metadata.resourceVersion === object.metadata.resourceVersion) return;
    this.#objects.set(keyOf(object), object);
    this.#changed(object, before);
  }

  #drop(key: string, last?: T): void {
    const before = last ?? this.#objects.get(key);
    if (this.#objects.delete(key)) this.#changed(undefined, before);
  }
}

function keyOf({ metadata }: ApiObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name}`;
}
