// Kubernetes client: JSON requests to the API server with timeouts, and retries if they are safe.
import type { Log } from '../log.ts';
import { type DryRunState, dryRunClient } from './dry-run-client.ts';
import { ApiServerConnection } from './http/api-server-connection.ts';
import { Deadline, sleep } from './http/deadline.ts';
import { clientError, isNotFound, isUnreachable, KubeError } from './http/kube-error.ts';
import { collectionPath, groupOf, objectPath, rootOf } from './http/paths.ts';
import {
  describeRequest,
  isAllowed,
  type RequestInfo,
  readDryRun,
  readObject,
  readPage,
  servesKind,
  verbs,
  type WatchEvent,
} from './http/responses.ts';
import { retryDelay } from './http/retry.ts';
import { Semaphore } from './http/semaphore.ts';
import { type Request, Transport } from './http/transport.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';
import type { CallObservation } from './observer.ts';
import { readWatch } from './watch.ts';

export type ConnectOptions = {
  /** Path of a kubeconfig; without it the service account of the Pod is used. */
  kubeconfig?: string | undefined;
  log: Log;
  userAgent: string;
  /** Timeout of each request including its retries, and of each page of a list. */
  timeoutMs: number;
  fieldManager: string;
  observe?: (call: CallObservation) => void;
  random?: () => number;
};

/** Reference to an object; `namespace` is omitted for cluster-scoped kinds. */
export type ObjectRef = { namespace?: string | undefined; name: string };
export type ListOptions = {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  /** The objects have no spec, status and data. */
  metadataOnly?: boolean | undefined;
};
export type ApplyOptions = { subresource?: 'status'; dryRun?: boolean; fieldManager?: string };
export type DeleteOptions = { uid?: string; resourceVersion?: string; gracePeriodSeconds?: number };
/** Objects to apply are not typed as stored objects, because they contain only our fields. */
export type ApplyResult = KubeObject & { [field: string]: unknown };
export type MergePatch = { metadata?: Record<string, unknown>; spec?: unknown; status?: unknown; [field: string]: unknown };

export type WatchOptions = ListOptions & {
  resourceVersion: string;
  /** Idle timeout of a watch; more than the 60 s between bookmarks. */
  idleMs: number;
};

/** Restricts a client, see KubeClient.scoped. */
export type Scope = {
  /** Aborts every request of the scope. */
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Checked before each attempt of a write; `false` rejects it with reason 'NotLeader'. */
  mayWrite?: () => boolean;
  /** Bypasses the request queue, for requests that must not wait: the Lease. */
  urgent?: boolean;
  /** Writes are dry runs: the API server validates them without storing, and the planned changes are reported here. */
  dryRun?: DryRunState;
};

const pageSize = 500;
/** How often a list is restarted that expires between two pages. */
const maxListings = 3;
/** Concurrent requests without watches, and the length of their queue. */
const atOnce = 32;
const maxQueued = 20_000;

/** State that all scopes of a client share. */
type Shared = {
  options: ConnectOptions;
  transport: Transport;
  gate: Semaphore;
  random: () => number;
  /** Whether the last attempt failed to reach the API server, and listeners for its return. */
  reach: { lost: boolean; listeners: Set<() => void> };
};
/** The combined restrictions of a scope and its parents. */
type Limits = {
  signals: readonly AbortSignal[];
  timeoutMs: number;
  mayWrite: readonly (() => boolean)[];
  urgent: boolean;
  dryRun: DryRunState | undefined;
};

/** One per process. All methods reject with KubeError or with the reason of a scope's signal. */
export class KubeClient {
  readonly #shared: Shared;
  readonly #limits: Limits;

  private constructor(shared: Shared, limits: Limits) {
    this.#shared = shared;
    this.#limits = limits;
  }

  /** Reads the configuration without a request. @throws KubeError 'NoCredentials' */
  static async connect(options: ConnectOptions): Promise<KubeClient> {
    const apiServerConnection = ApiServerConnection.load(options.kubeconfig);
    const transport = new Transport(apiServerConnection, options.userAgent);
    const shared = {
      options,
      transport,
      gate: new Semaphore(atOnce, maxQueued),
      random: options.random ?? Math.random,
      reach: { lost: false, listeners: new Set<() => void>() },
    };
    await apiServerConnection.access();
    return new KubeClient(shared, { signals: [], timeoutMs: options.timeoutMs, mayWrite: [], urgent: false, dryRun: undefined });
  }

  /** The same connections with additional restrictions, such as the timeout of a reconcile or the term of a leader. */
  scoped(scope: Scope): KubeClient {
    const { signals, timeoutMs, mayWrite, urgent, dryRun } = this.#limits;
    return new KubeClient(this.#shared, {
      signals: scope.signal ? [...signals, scope.signal] : signals,
      timeoutMs: Math.min(timeoutMs, scope.timeoutMs ?? timeoutMs),
      mayWrite: scope.mayWrite ? [...mayWrite, scope.mayWrite] : mayWrite,
      urgent: scope.urgent ?? urgent,
      dryRun: scope.dryRun ?? dryRun,
    });
  }

  /** `undefined` if the object does not exist. @throws KubeError 'NotServed' if the kind is not supported */
  async get<T extends KubeObject = KubeObject>(resource: Resource, ref: ObjectRef): Promise<Stored<T> | undefined> {
    const call = { verb: 'get', resource, ...ref } as const;
    const json = await orUndefined(this.#send({ call, path: objectPath(resource, ref) }));
    return json === undefined ? undefined : readObject<T>(call, json);
  }

  /** Like get, but as a list with a field selector, so that the permission to list is sufficient. */
  async find<T extends KubeObject = KubeObject>(resource: Resource, { namespace, name }: ObjectRef): Promise<Stored<T> | undefined> {
    return (await this.list<T>(resource, { namespace, fieldSelector: `metadata.name=${name}` })).items[0];
  }

  /** All objects, in pages of 500. */
  async list<T extends KubeObject = KubeObject>(
    resource: Resource,
    options: ListOptions = {},
  ): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
    for (let listing = 1; ; listing++) {
      try {
        return await this.#pages<T>(resource, options);
      } catch (error) {
        if (listing >= maxListings || !(error instanceof KubeError && error.status === 410)) throw error;
      }
    }
  }

  /** @throws KubeError reason 'AlreadyExists' */
  async create<T extends KubeObject = KubeObject>(resource: Resource, object: T): Promise<Stored<T>> {
    const { name, namespace } = object.metadata;
    const call = { verb: 'create', resource, name, namespace } as const;
    const json = await this.#write({
      call,
      path: collectionPath(resource, namespace),
      query: { fieldManager: this.#shared.options.fieldManager, fieldValidation: 'Strict' },
      body: object,
    });
    return this.#limits.dryRun ? readDryRun<T>(call, json) : readObject<T>(call, json);
  }

  /**
   * Server-side apply with force; unknown fields are rejected. `metadata.resourceVersion` is a precondition (409 Conflict), and so is
   * `metadata.uid` (422 Invalid for another object, 409 if none exists), except for /status, which ignores uids.
   */
  async apply<T extends KubeObject = KubeObject>(resource: Resource, object: ApplyResult, options: ApplyOptions = {}): Promise<Stored<T>> {
    const { name, namespace } = object.metadata;
    const call = { verb: 'apply', resource, name, namespace } as const;
    const json = await this.#write({
      call,
      path: objectPath(resource, object.metadata, options.subresource),
      query: {
        fieldManager: options.fieldManager ?? this.#shared.options.fieldManager,
        fieldValidation: 'Strict',
        force: true,
        ...(options.dryRun && { dryRun: 'All' }),
      },
      body: object,
    });
    return options.dryRun || this.#limits.dryRun ? readDryRun<T>(call, json) : readObject<T>(call, json);
  }

  /** JSON merge patch; with `metadata.resourceVersion` only if unchanged since. `undefined` if the object does not exist. */
  async patch<T extends KubeObject = KubeObject>(
    resource: Resource,
    ref: ObjectRef,
    mergePatch: MergePatch,
    options: { subresource?: 'status' } = {},
  ): Promise<Stored<T> | undefined> {
    const call = { verb: 'patch', resource, ...ref } as const;
    const send = this.#write({
      call,
      path: objectPath(resource, ref, options.subresource),
      query: { fieldManager: this.#shared.options.fieldManager, fieldValidation: 'Strict' },
      body: mergePatch,
    });
    const json = await orUndefined(send);
    return json === undefined ? undefined : readObject<T>(call, json);
  }

  /** Deletes dependents in the background. `false` if it does not exist or has another `uid`. @throws KubeError 'Conflict' */
  async delete(resource: Resource, ref: ObjectRef, options: DeleteOptions = {}): Promise<boolean> {
    const { uid, resourceVersion, gracePeriodSeconds } = options;
    const send = this.#write({
      call: { verb: 'delete', resource, ...ref },
      path: objectPath(resource, ref),
      body: {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        propagationPolicy: 'Background',
        gracePeriodSeconds,
        preconditions: { uid, resourceVersion },
      },
    });
    try {
      return (await orUndefined(send)) !== undefined;
    } catch (error) {
      if (uid === undefined || !(error instanceof KubeError && error.status === 409)) throw error;
      const now = await this.find(resource, ref);
      if (now?.metadata.uid === uid) throw error;
      return false;
    }
  }

  /** Resolves when the API server ended the watch normally. For the reflector. */
  async watch(resource: Resource, options: WatchOptions, onEvent: (event: WatchEvent) => void): Promise<void> {
    const { namespace, labelSelector, fieldSelector, resourceVersion, idleMs, metadataOnly } = options;
    const call = { verb: 'watch', resource, namespace } as const;
    // Random as in client-go, so that watches that began together do not end together.
    const timeoutSeconds = Math.floor(300 * (1 + this.#shared.random()));
    const query = { watch: true, allowWatchBookmarks: true, timeoutSeconds, resourceVersion, labelSelector, fieldSelector };
    const request: Request = { call, path: collectionPath(resource, namespace), query, metadataOnly };
    const open = async (ended: AbortSignal) => {
      const begin = this.#deadline(call, [ended]);
      try {
        return await this.#observed(request, 0, () => this.#shared.transport.stream(request, begin.signal));
      } finally {
        begin.end();
      }
    };
    await readWatch({ call, open, signals: this.#limits.signals, idleMs, onEvent });
  }

  /** Whether the account of the operator has the permission. */
  async can(verb: string, resource: Resource, namespace?: string, subresource?: string): Promise<boolean> {
    const attributes = { verb, group: groupOf(resource), resource: resource.plural, namespace, subresource };
    const kind = { apiVersion: 'authorization.k8s.io/v1', kind: 'SelfSubjectAccessReview' };
    const review = { ...kind, plural: 'selfsubjectaccessreviews', namespaced: false };
    const json = await this.#send({
      call: { verb: 'create', resource: review },
      path: collectionPath(review, undefined),
      body: { ...kind, spec: { resourceAttributes: attributes } },
      repeatable: true,
    });
    return isAllowed(json);
  }

  /** Whether the API server supports the kind. */
  async serves(resource: Resource): Promise<boolean> {
    const call = { verb: 'discover', resource } as const;
    try {
      return servesKind(resource, await this.#send({ call, path: rootOf(resource) }));
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return false;
      throw error;
    }
  }

  /** Calls the listener when an attempt reaches the API server after attempts that did not. Returns the unsubscribe function. */
  onReachable(listener: () => void): () => void {
    const { listeners } = this.#shared.reach;
    listeners.add(listener);
    return () => listeners.delete(listener);
  }

  /** Closes every connection; running requests fail. */
  close(): Promise<void> {
    return this.#shared.transport.close();
  }

  async #pages<T extends KubeObject>(resource: Resource, options: ListOptions): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
    const { namespace, labelSelector, fieldSelector, metadataOnly } = options;
    const call = { verb: 'list', resource, namespace } as const;
    const items: Stored<T>[] = [];
    for (let token: string | undefined; ; ) {
      const query = { limit: pageSize, continue: token, labelSelector, fieldSelector };
      const path = collectionPath(resource, namespace);
      const page = readPage<T>(call, await this.#send({ call, path, query, metadataOnly }));
      for (const item of page.items) items.push(item);
      if (page.next === undefined) return { items, resourceVersion: page.resourceVersion };
      token = page.next;
    }
  }

  #write(request: Request): Promise<unknown> {
    const { dryRun } = this.#limits;
    return dryRun ? dryRunClient(request, dryRun, this, (dry) => this.#send(dry)) : this.#send(request);
  }

  /** The response of the first successful attempt, within one deadline including delays. */
  async #send(request: Request): Promise<unknown> {
    const { gate, transport, random } = this.#shared;
    const deadline = this.#deadline(request.call, this.#limits.signals);
    const { signal } = deadline;
    const { repeatable = request.call.verb !== 'create' } = request;
    try {
      for (let attempt = 0; ; attempt++) {
        const send = () => {
          this.#mayWrite(request);
          return this.#observed(request, attempt, () => transport.json(request, signal));
        };
        try {
          return await (this.#limits.urgent ? send() : gate.through(signal, send));
        } catch (error) {
          const wait = retryDelay(error, { attempt, repeatable, random });
          // A delay beyond the deadline would only hide the cause.
          if (wait === undefined || wait > deadline.left || !(await sleep(wait, signal))) throw signal.aborted ? signal.reason : error;
        }
      }
    } finally {
      deadline.end();
    }
  }

  #deadline(requestInfo: RequestInfo, signals: readonly AbortSignal[]): Deadline {
    const ms = this.#limits.timeoutMs;
    const message = `The API server did not respond within ${ms} ms (${describeRequest(requestInfo)}).`;
    return new Deadline(ms, () => clientError('Timeout', message), signals);
  }

  #mayWrite({ call }: Request): void {
    if (verbs[call.verb].method === 'GET' || this.#limits.mayWrite.every((may) => may())) return;
    throw clientError('NotLeader', `This process is not the leader any more; rejected ${describeRequest(call)}.`);
  }

  async #observed<R>({ call }: Request, attempt: number, send: () => Promise<R>): Promise<R> {
    const { options, transport } = this.#shared;
    const began = performance.now();
    let status = 200;
    try {
      return await send();
    } catch (error) {
      status = error instanceof KubeError ? error.status : 0;
      if (isUnreachable(error)) this.#shared.reach.lost = true;
      const message = error instanceof KubeError ? error.message : 'aborted by its caller';
      options.log.debug({ call: describeRequest(call), status, attempt, error: message }, 'API server request failed');
      throw error;
    } finally {
      const verb = call.verb === 'discover' ? 'get' : call.verb;
      const { method } = verbs[call.verb];
      const ms = performance.now() - began;
      if (status > 0 && status !== 503) this.#reached();
      options.observe?.({ verb, method, host: transport.host, resource: call.resource.plural, status, ms, attempt });
    }
  }

  #reached(): void {
    const { reach } = this.#shared;
    if (!reach.lost) return;
    reach.lost = false;
    for (const listener of [...reach.listeners]) listener();
  }
}

/** `undefined` if not found; other failures are passed on. */
async function orUndefined(sent: Promise<unknown>): Promise<unknown> {
  try {
    return await sent;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
