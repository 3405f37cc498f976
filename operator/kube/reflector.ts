// A copy of all objects of one kind, kept by list and watch, whatever happens to the connection.
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';
import { sleep } from './http/deadline.ts';
import { isUnreachable, KubeError, wasNeverSent } from './http/kube-error.ts';
import { type KubeObject, keyOf, type Resource, type Stored } from './objects.ts';
import type { ReflectorObserver, WatchEnd } from './observer.ts';
import { type Indexes, Store } from './store.ts';

export type ReflectorOptions<T extends KubeObject> = {
  client: Pick<KubeClient, 'scoped'>;
  resource: Resource;
  /** None: all of them. */
  namespaces: readonly string[];
  labelSelector?: string;
  fieldSelector?: string;
  log: Log;
  /** Also called by a resync, with the same object twice. Must only put keys into queues; what it throws is logged. */
  onChange: (object: Stored<T>, old?: Stored<T>) => void;
  onDelete: (object: Stored<T>) => void;
  /** Names of values to look objects up by: see `where`. */
  indexes?: Indexes<T>;
  /** Default 90 s: more than the 60 s between the API server's bookmarks. */
  idleMs?: number;
  /** Without it there is no resync. */
  resyncMs?: number;
  random?: () => number;
  metrics?: ReflectorObserver;
};

/** As client-go's: first and longest wait, before jitter. */
const firstBackOffMs = 800;
const maxBackoffMs = 30_000;
/** Where the API server does answer, changes are not kept waiting so long. */
const maxCutBackoffMs = 5000;
/** A watch that lasted so long was a good one. */
const goodWatchMs = 5000;
/** Failures in a row at one resource version, after which everything is listed anew. */
const maxFailures = 3;

type Scope = { namespace: string | undefined; resourceVersion: string; listedAt: number; backOffMs: number; failures: number };

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #store: Store<T>;
  readonly #namespaces: readonly (string | undefined)[];
  readonly #unlisted: Set<string | undefined>;
  readonly #waiting = new Set<() => void>();
  readonly #random: () => number;
  #lastActivity = performance.now();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#store = new Store<T>(options.indexes ?? {});
    const { namespaced } = options.resource;
    this.#namespaces = namespaced && options.namespaces.length > 0 ? [...new Set(options.namespaces)] : [undefined];
    this.#unlisted = new Set(this.#namespaces);
    this.#random = options.random ?? Math.random;
  }

  /** Whether everything was listed once. */
  get synced(): boolean {
    return this.#unlisted.size === 0;
  }

  get size(): number {
    return this.#store.size;
  }

  /** Milliseconds since the API server last said something, a bookmark at least each minute. */
  get silence(): number {
    return performance.now() - this.#lastActivity;
  }

  /** Until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const fresh = { resourceVersion: '', listedAt: 0, backOffMs: firstBackOffMs, failures: 0 };
    const scopes = this.#namespaces.map((namespace) => ({ namespace, ...fresh }));
    await Promise.all([...scopes.map((scope) => this.#follow(scope, signal)), this.#resync(signal)]);
  }

  /** Resolves once everything was listed; rejects with the signal's reason. */
  whenSynced(signal: AbortSignal): Promise<void> {
    if (this.synced) return Promise.resolve();
    if (signal.aborted) return Promise.reject(signal.reason);
    return new Promise((resolve, reject) => {
      const finish = (settle: () => void) => () => {
        this.#waiting.delete(done);
        signal.removeEventListener('abort', stop);
        settle();
      };
      const done = finish(resolve);
      const stop = finish(() => reject(signal.reason));
      this.#waiting.add(done);
      signal.addEventListener('abort', stop);
    });
  }

  /** By `namespace/name`, as keyOf gives it. */
  get(key: string): Stored<T> | undefined {
    return this.#store.get(key);
  }

  list(): Stored<T>[] {
    return this.#store.list();
  }

  /** Those to which that index gives that value. @throws TypeError for an index that there is not */
  where(index: string, value: string): Stored<T>[] {
    return this.#store.where(index, value);
  }

  async #follow(scope: Scope, signal: AbortSignal): Promise<void> {
    const client = this.#options.client.scoped({ signal });
    while (!signal.aborted) {
      const began = performance.now();
      let end: WatchEnd = 'closed';
      let askedMs = 0;
      try {
        if (scope.resourceVersion === '') await this.#relist(client, scope);
        await this.#watch(client, scope);
      } catch (error) {
        if (signal.aborted) return;
        end = this.#failed(scope, error);
        askedMs = error instanceof KubeError ? (error.retryAfterMs ?? 0) : 0;
      }
      this.#options.metrics?.watchEnded(this.#options.resource.plural, end);
      const wait = Math.max(this.#backOff(scope, end, performance.now() - began), Math.min(askedMs, maxBackoffMs));
      // What is back after an outage begins with short waits again.
      if (wait > 0 && (await this.#pause(client, wait, signal))) scope.backOffMs = firstBackOffMs;
    }
  }

  async #watch(client: KubeClient, scope: Scope): Promise<void> {
    const { namespace, resourceVersion } = scope;
    const { resource, labelSelector, fieldSelector, idleMs = 90_000, log } = this.#options;
    await client.watch(resource, { namespace, resourceVersion, labelSelector, fieldSelector, idleMs }, (event) => {
      if (scope.failures > 0) log.info({ resource: resource.plural, namespace, failures: scope.failures }, 'a watch is back');
      scope.failures = 0;
      scope.backOffMs = firstBackOffMs;
      this.#take(scope, event.type, event.object as Stored<T>);
    });
  }

  /** How long to wait before the next watch: nothing after one that lasted, ever longer while they do not. */
  #backOff(scope: Scope, end: WatchEnd, lasted: number): number {
    const good = lasted > goodWatchMs && end !== 'failed';
    if (good || end === 'stalled') {
      scope.backOffMs = firstBackOffMs;
      return 0;
    }
    // The first time the list is behind it is made anew at once.
    if (end === 'expired' && performance.now() - scope.listedAt > goodWatchMs) return 0;
    const most = end === 'failed' ? maxBackoffMs : maxCutBackoffMs;
    const wait = Math.min(scope.backOffMs * (1 + this.#random()), most);
    scope.backOffMs = Math.min(scope.backOffMs * 2, maxBackoffMs);
    return wait;
  }

  /** Says whether it was cut short, as another call found the API server back. */
  async #pause(client: KubeClient, ms: number, signal: AbortSignal): Promise<boolean> {
    const short = new AbortController();
    let back = false;
    const abort = () => short.abort();
    const stop = client.onReachable(() => {
      back = true;
      abort();
    });
    signal.addEventListener('abort', abort);
    if (!signal.aborted) await sleep(ms, short.signal);
    signal.removeEventListener('abort', abort);
    stop();
    return back;
  }

  #failed(scope: Scope, error: unknown): WatchEnd {
    const { log, resource } = this.#options;
    const said = { resource: resource.plural, namespace: scope.namespace, error: error instanceof Error ? error.message : String(error) };
    const { status, reason } = error instanceof KubeError ? error : { status: 0, reason: 'BadAnswer' };
    if (status === 410) {
      log.info(said, 'a watch is behind what the API server still knows: everything is listed anew');
      scope.resourceVersion = '';
      return 'expired';
    }
    if (reason === 'Stalled') {
      log.warn(said, 'a watch has stalled and is begun anew');
      return 'stalled';
    }
    scope.failures += 1;
    log[scope.failures === 1 ? 'warn' : 'debug']({ ...said, failures: scope.failures }, 'a watch broke off');
    if (isUnreachable(error) || status === 429) return wasNeverSent(error) ? 'failed' : 'cut';
    // What cannot be read stays where it is: a list goes around it.
    if (scope.failures >= maxFailures) scope.resourceVersion = '';
    return 'failed';
  }

  async #relist(client: KubeClient, scope: Scope): Promise<void> {
    const { resource, labelSelector, fieldSelector, metrics } = this.#options;
    const { namespace } = scope;
    const { items, resourceVersion } = await client.list<T>(resource, { namespace, labelSelector, fieldSelector });
    this.#lastActivity = performance.now();
    const seen = new Set(items.map(keyOf));
    for (const object of this.#store.list()) {
      const mine = namespace === undefined || object.metadata.namespace === namespace;
      if (mine && !seen.has(keyOf(object))) this.#delete(object);
    }
    for (const object of items) {
      const old = this.#store.get(keyOf(object));
      if (old?.metadata.resourceVersion !== object.metadata.resourceVersion) this.#change(object);
    }
    scope.resourceVersion = resourceVersion;
    scope.listedAt = performance.now();
    metrics?.listed(resource.plural, items.length);
    this.#unlisted.delete(namespace);
    if (this.synced) for (const done of [...this.#waiting]) done();
  }

  #take(scope: Scope, type: string, object: Stored<T>): void {
    this.#lastActivity = performance.now();
    if (type === 'DELETED') this.#delete(object);
    else if (type !== 'BOOKMARK') this.#change(object);
    scope.resourceVersion = object.metadata.resourceVersion;
  }

  #change(object: Stored<T>): void {
    // Who set which field is nothing to us, and as long as the object itself.
    delete (object.metadata as { managedFields?: unknown }).managedFields;
    const old = this.#store.set(object);
    // One that was deleted and made again while nobody looked is two objects.
    if (old && old.metadata.uid !== object.metadata.uid) this.#tell(() => this.#options.onDelete(old));
    this.#tell(() => this.#options.onChange(object, old?.metadata.uid === object.metadata.uid ? old : undefined));
  }

  #delete(object: Stored<T>): void {
    this.#store.delete(keyOf(object));
    this.#tell(() => this.#options.onDelete(object));
  }

  #tell(tell: () => void): void {
    try {
      tell();
    } catch (error) {
      this.#options.log.error({ err: error, resource: this.#options.resource.plural }, 'a change could not be handed on');
    }
  }

  /** Everything once more now and then, from the copy: nothing is asked. */
  async #resync(signal: AbortSignal): Promise<void> {
    const { resyncMs, onChange } = this.#options;
    if (resyncMs === undefined) return;
    while (await sleep(resyncMs * (0.9 + 0.2 * this.#random()), signal))
      for (const object of this.#store.list()) this.#tell(() => onChange(object, object));
  }
}
