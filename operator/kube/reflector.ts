// Reflector: caches all objects of one kind by list and watch, across broken connections.
import { messageOf } from '../error-message.ts';
import type { Log } from '../log.ts';
import type { KubeClient } from './client.ts';
import { sleep } from './http/deadline.ts';
import { isForbidden, isUnavailable, isUnreachable, KubeError, wasNeverSent } from './http/kube-error.ts';
import { type KubeObject, keyOf, type Resource, type Stored } from './objects.ts';
import type { ReflectorObserver, WatchEnd } from './observer.ts';
import { type Indexes, Store } from './store.ts';

export type ReflectorOptions<T extends KubeObject> = {
  client: Pick<KubeClient, 'scoped'>;
  resource: Resource;
  /** Empty: all namespaces. */
  namespaces: readonly string[];
  labelSelector?: string;
  fieldSelector?: string;
  /** The cached objects have no spec, status and data. */
  metadataOnly?: boolean;
  /** Returns what the cache keeps of an object. */
  slim?: (object: Stored<T>) => Stored<T>;
  log: Log;
  /** Also called by a resync, with the same object twice. It must only enqueue keys; errors are logged. */
  onChange: (object: Stored<T>, old?: Stored<T>) => void;
  onDelete: (object: Stored<T>) => void;
  /** Named indexes for lookups, see `where`. */
  indexes?: Indexes<T>;
  /** Default 90 s: more than the 60 s between bookmarks of the API server. */
  idleMs?: number;
  /** Rejections by an API server that works continue for this time before a scope counts as dead; default 20 s. */
  deadAfterMs?: number;
  /** Without it there is no resync. */
  resyncMs?: number;
  random?: () => number;
  metrics?: ReflectorObserver;
};

/** Minimum and maximum backoff before jitter, as in client-go. */
const firstBackOffMs = 800;
const maxBackoffMs = 30_000;
/** Maximum backoff while the API server responds, so that changes are not delayed long. */
const maxCutBackoffMs = 5000;
/** A watch of this duration resets the backoff. */
const goodWatchMs = 5000;
/** Consecutive failures at one resource version, after which the reflector relists. */
const maxFailures = 3;

type Scope = {
  readonly namespace: string | undefined;
  resourceVersion: string;
  listedAt: number;
  backOffMs: number;
  failures: number;
  rejected: Rejected | undefined;
};
/** Consecutive rejections of lists and watches. */
type Rejected = { since: number; last: number; times: number; forbidden: boolean; message: string };
/** A namespace (undefined: all) whose list and watch are rejected permanently; `forbidden`: for lack of permission. */
export type DeadScope = { namespace: string | undefined; forbidden: boolean; message: string };

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions<T>;
  readonly #store: Store<T>;
  readonly #scopes: readonly Scope[];
  readonly #unlisted: Set<string | undefined>;
  readonly #waiting = new Set<() => void>();
  readonly #random: () => number;
  #lastActivity = performance.now();

  constructor(options: ReflectorOptions<T>) {
    this.#options = options;
    this.#store = new Store<T>(options.indexes ?? {});
    const { namespaced } = options.resource;
    const namespaces = namespaced && options.namespaces.length > 0 ? [...new Set(options.namespaces)] : [undefined];
    const fresh = { resourceVersion: '', listedAt: 0, backOffMs: firstBackOffMs, failures: 0, rejected: undefined };
    this.#scopes = namespaces.map((namespace) => ({ namespace, ...fresh }));
    this.#unlisted = new Set(namespaces);
    this.#random = options.random ?? Math.random;
    options.metrics?.reflectorCreated(options.resource.plural, this);
  }

  /** Whether the first list is complete. */
  get synced(): boolean {
    return this.#unlisted.size === 0;
  }

  /** Namespaces that were not listed yet. */
  get unlisted(): ReadonlySet<string | undefined> {
    return this.#unlisted;
  }

  /** Scopes that a working API server has rejected for `deadAfterMs`, so that they are not expected to recover. */
  get dead(): DeadScope[] {
    const { deadAfterMs = 20_000 } = this.#options;
    return this.#scopes.flatMap(({ namespace, rejected }) => {
      // The third rejection causes a relist, which ends a series of rejected watches.
      const dead = rejected !== undefined && rejected.times > maxFailures && rejected.last - rejected.since >= deadAfterMs;
      return dead ? [{ namespace, forbidden: rejected.forbidden, message: rejected.message }] : [];
    });
  }

  get size(): number {
    return this.#store.size;
  }

  /** Milliseconds since the last message of the API server; a bookmark arrives at least every minute. */
  get silence(): number {
    return performance.now() - this.#lastActivity;
  }

  /** Runs until the signal aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([...this.#scopes.map((scope) => this.#follow(scope, signal)), this.#resync(signal)]);
  }

  /** Resolves after the first list; rejects with the reason of the signal. */
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

  /** By `namespace/name`, as keyOf returns it. */
  get(key: string): Stored<T> | undefined {
    return this.#store.get(key);
  }

  list(): Stored<T>[] {
    return this.#store.list();
  }

  /** Objects with that value of the index. @throws TypeError for an unknown index */
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
      // After an outage the backoff is reset.
      if (wait > 0 && (await this.#pause(client, wait, signal))) scope.backOffMs = firstBackOffMs;
    }
  }

  async #watch(client: KubeClient, scope: Scope): Promise<void> {
    const { namespace, resourceVersion } = scope;
    const { resource, labelSelector, fieldSelector, metadataOnly, idleMs = 90_000, log } = this.#options;
    const options = { namespace, resourceVersion, labelSelector, fieldSelector, metadataOnly, idleMs };
    await client.watch(resource, options, (event) => {
      if (scope.failures > 0) log.info({ resource: resource.plural, namespace, failures: scope.failures }, 'watch recovered');
      scope.failures = 0;
      scope.rejected = undefined;
      scope.backOffMs = firstBackOffMs;
      this.#take(scope, event.type, event.object as Stored<T>);
    });
  }

  /** Delay before the next watch: none after a long watch, growing after short ones. */
  #backOff(scope: Scope, end: WatchEnd, lasted: number): number {
    const good = lasted > goodWatchMs && end !== 'failed';
    if (good || end === 'stalled') {
      scope.backOffMs = firstBackOffMs;
      return 0;
    }
    // The first expiry relists immediately.
    if (end === 'expired' && performance.now() - scope.listedAt > goodWatchMs) return 0;
    const most = end === 'failed' ? maxBackoffMs : maxCutBackoffMs;
    const wait = Math.min(scope.backOffMs * (1 + this.#random()), most);
    scope.backOffMs = Math.min(scope.backOffMs * 2, maxBackoffMs);
    return wait;
  }

  /** @returns whether it was cut short because another request reached the API server */
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
    const fields = { resource: resource.plural, namespace: scope.namespace, error: messageOf(error) };
    const { status, reason } = error instanceof KubeError ? error : { status: 0, reason: 'BadAnswer' };
    if (status === 410) {
      log.info(fields, 'resource version expired, relisting');
      scope.resourceVersion = '';
      return 'expired';
    }
    if (reason === 'Stalled') {
      log.warn(fields, 'watch stalled, restarting');
      return 'stalled';
    }
    scope.failures += 1;
    log[scope.failures === 1 ? 'warn' : 'debug']({ ...fields, failures: scope.failures }, 'watch failed');
    if (isUnreachable(error) || status === 429) return wasNeverSent(error) ? 'failed' : 'cut';
    if (!isUnavailable(error)) this.#reject(scope, error);
    // An unreadable event would be sent again; a relist skips it.
    if (scope.failures >= maxFailures) scope.resourceVersion = '';
    return 'failed';
  }

  #reject(scope: Scope, error: unknown): void {
    const now = performance.now();
    const { since = now, times = 0 } = scope.rejected ?? {};
    scope.rejected = { since, last: now, times: times + 1, forbidden: isForbidden(error), message: messageOf(error) };
  }

  async #relist(client: KubeClient, scope: Scope): Promise<void> {
    const { resource, labelSelector, fieldSelector, metadataOnly, metrics } = this.#options;
    const { namespace } = scope;
    const { items, resourceVersion } = await client.list<T>(resource, { namespace, labelSelector, fieldSelector, metadataOnly });
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
    scope.rejected = undefined;
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

  #change(received: Stored<T>): void {
    // managedFields are not used, and are as large as the object.
    delete (received.metadata as { managedFields?: unknown }).managedFields;
    const object = this.#options.slim?.(received) ?? received;
    const old = this.#store.set(object);
    // An object recreated during a gap of the watch is a deletion and an addition.
    if (old && old.metadata.uid !== object.metadata.uid) this.#notify(() => this.#options.onDelete(old));
    this.#notify(() => this.#options.onChange(object, old?.metadata.uid === object.metadata.uid ? old : undefined));
  }

  #delete(object: Stored<T>): void {
    this.#store.delete(keyOf(object));
    this.#notify(() => this.#options.onDelete(object));
  }

  #notify(notify: () => void): void {
    try {
      notify();
    } catch (error) {
      this.#options.log.error({ err: error, resource: this.#options.resource.plural }, 'change handler failed');
    }
  }

  /** Passes every cached object to onChange periodically, without requests. */
  async #resync(signal: AbortSignal): Promise<void> {
    const { resyncMs, onChange } = this.#options;
    if (resyncMs === undefined) return;
    while (await sleep(resyncMs * (0.9 + 0.2 * this.#random()), signal))
      for (const object of this.#store.list()) this.#notify(() => onChange(object, object));
  }
}
