// A write that is only rehearsed: the API server checks it in full and stores nothing, and somebody is told what it would change.

import { KubeError } from './http/kube-error.ts';
import { type RequestInfo, readDryRun } from './http/responses.ts';
import type { Request } from './http/transport.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

/** What a write would change: the object as it is stored, and as it would be; `undefined` where there is none. */
export type Change = { resource: Resource; before: Stored | undefined; after: Stored | undefined };

export type DryRunState = {
  tell: (change: Change) => void;
  /** What a refused create would have made, where it is refused only because nothing was stored before it. */
  excuse?: (refusal: KubeError, object: KubeObject) => Stored | undefined;
};

type Looking = {
  get: (resource: Resource, ref: ObjectRef) => Promise<Stored | undefined>;
  find: (resource: Resource, ref: ObjectRef) => Promise<Stored | undefined>;
};
type ObjectRef = { namespace?: string | undefined; name: string };

/** The API server's answer. @throws KubeError as the write itself would */
export async function dryRunClient<R extends Request>(
  request: R,
  dryRunState: DryRunState,
  looking: Looking,
  send: (dry: R) => Promise<unknown>,
): Promise<unknown> {
  const { call, method } = request;
  const before = await storedNow(call, looking);
  try {
    const json = await send(dry(request));
    dryRunState.tell({ resource: call.resource, before, after: method === 'DELETE' ? undefined : readDryRun(call, json) });
    return json;
  } catch (error) {
    if (method !== 'POST' || !(error instanceof KubeError)) throw error;
    const after = dryRunState.excuse?.(error, request.body as KubeObject);
    if (!after) throw error;
    dryRunState.tell({ resource: call.resource, before, after });
    return after;
  }
}

/** With a body of options the API server takes no notice of those in the query. */
function dry<R extends Request>(request: R): R {
  if (request.method === 'DELETE') return { ...request, body: { ...(request.body as object), dryRun: ['All'] } };
  return { ...request, query: { ...request.query, dryRun: 'All' } };
}

/** A Role lists what is in namespaces; of what is in none one may get what has a certain name. */
function storedNow({ resource, namespace, name = '' }: RequestInfo, looking: Looking): Promise<Stored | undefined> {
  return resource.namespaced ? looking.find(resource, { namespace, name }) : looking.get(resource, { name });
}
