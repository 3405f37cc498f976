// Calls to the API server: raw JSON both ways, each with a deadline.
import type { Log } from '../log.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';
import type { CallObservation } from './observer.ts';

export type ConnectOptions = {
  /** Path of a kubeconfig; without it the Pod's service account is used. */
  kubeconfig?: string | undefined;
  log: Log;
  userAgent: string;
  /** Deadline of each call, its repetitions included. */
  timeoutMs: number;
  fieldManager: string;
  observe?: (call: CallObservation) => void;
};

/** Which object; `namespace` stays out for kinds that have none. */
export type ObjectRef = { namespace?: string | undefined; name: string };
export type ListOptions = { namespace?: string | undefined; labelSelector?: string | undefined; fieldSelector?: string | undefined };
export type ApplyOptions = { subresource?: 'status'; dryRun?: boolean; fieldManager?: string };
export type DeleteOptions = { uid?: string; gracePeriodSeconds?: number };
/** What to send is free of the type of what is stored: a patch says a part only. */
export type Applied = KubeObject & { [field: string]: unknown };
export type MergePatch = { metadata?: Record<string, unknown>; spec?: unknown; status?: unknown; [field: string]: unknown };

export type WatchOptions = {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
  resourceVersion: string;
  signal: AbortSignal;
  /** A watch that says nothing for so long has stalled; more than the 60 s between bookmarks. */
  idleMs: number;
};
export type WatchEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: KubeObject };

/** Narrows a client: see KubeClient.scoped. */
export type Scope = {
  /** Ends every call of the scope. */
  signal?: AbortSignal;
  timeoutMs?: number;
  /** Asked before each attempt of a write; `false` refuses it with reason 'NotLeader'. */
  mayWrite?: () => boolean;
  /** Passes by the queue of calls, for what must not wait behind others: the Lease. */
  urgent?: boolean;
};

const later = () => Promise.reject(new Error('not built yet'));

/** One per process; all of its methods reject with KubeError. */
export class KubeClient {
  private constructor() {}

  static connect(_options: ConnectOptions): Promise<KubeClient> {
    return later();
  }

  /** The same connections under narrower conditions: a reconcile's deadline, a leader's term. */
  scoped(_scope: Scope): KubeClient {
    return this;
  }

  /** `undefined` where there is none of that name. */
  get<T extends KubeObject = KubeObject>(_resource: Resource, _ref: ObjectRef): Promise<Stored<T> | undefined> {
    return later();
  }

  /** All of them, asked for in pages of 500. */
  list<T extends KubeObject = KubeObject>(
    _resource: Resource,
    _options: ListOptions = {},
  ): Promise<{ items: Stored<T>[]; resourceVersion: string }> {
    return later();
  }

  /** @throws KubeError reason 'AlreadyExists' */
  create<T extends KubeObject = KubeObject>(_resource: Resource, _object: T): Promise<Stored<T>> {
    return later();
  }

  /** Server-side apply with force; an unknown field is refused. A `metadata.uid` or `resourceVersion` in it is a precondition. */
  apply<T extends KubeObject = KubeObject>(_resource: Resource, _object: Applied, _options: ApplyOptions = {}): Promise<Stored<T>> {
    return later();
  }

  /** JSON merge patch; with `metadata.resourceVersion` only where nobody changed it since. `undefined` where the object is gone. */
  patch<T extends KubeObject = KubeObject>(
    _resource: Resource,
    _ref: ObjectRef,
    _mergePatch: MergePatch,
    _options: { subresource?: 'status' } = {},
  ): Promise<Stored<T> | undefined> {
    return later();
  }

  /** `false` where it was gone, or another one has its name by now (`uid`). */
  delete(_resource: Resource, _ref: ObjectRef, _options: DeleteOptions = {}): Promise<boolean> {
    return later();
  }

  /** Resolves when the API server ended the watch in good order. For the reflector. */
  watch(_resource: Resource, _options: WatchOptions, _onEvent: (event: WatchEvent) => void): Promise<void> {
    return later();
  }

  /** Whether the operator's own account may do it. */
  can(_verb: string, _resource: Resource, _namespace?: string, _subresource?: string): Promise<boolean> {
    return later();
  }

  /** Whether the API server knows the kind. */
  serves(_resource: Resource): Promise<boolean> {
    return later();
  }

  close(): Promise<void> {
    return later();
  }
}
