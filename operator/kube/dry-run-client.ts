// Dry-run client: the API server validates a write without storing it, and the planned change is reported.

import { KubeError } from './http/kube-error.ts';
import { type RequestInfo, readDryRun } from './http/responses.ts';
import type { Request } from './http/transport.ts';
import type { KubeObject, Resource, Stored } from './objects.ts';

/** Planned change of a write: the stored and the resulting object; `undefined` if it does not exist. */
export type Change = { resource: Resource; before: Stored | undefined; after: Stored | undefined };

export type DryRunState = {
  report: (change: Change) => void;
  /** Result of a rejected create, if it was rejected only because an earlier dry run stored no object. */
  excuse?: (refusal: KubeError, object: KubeObject) => Stored | undefined;
};

type Reads = {
  get: (resource: Resource, ref: ObjectRef) => Promise<Stored | undefined>;
  find: (resource: Resource, ref: ObjectRef) => Promise<Stored | undefined>;
};
type ObjectRef = { namespace?: string | undefined; name: string };

/** The response of the API server. @throws KubeError as the write itself would */
export async function dryRunClient(
  request: Request,
  dryRunState: DryRunState,
  reads: Reads,
  send: (dry: Request) => Promise<unknown>,
): Promise<unknown> {
  const { call } = request;
  const before = await storedNow(call, reads);
  try {
    const json = await send(dry(request));
    dryRunState.report({ resource: call.resource, before, after: call.verb === 'delete' ? undefined : readDryRun(call, json) });
    return json;
  } catch (error) {
    if (call.verb !== 'create' || !(error instanceof KubeError)) throw error;
    const after = dryRunState.excuse?.(error, request.body as KubeObject);
    if (!after) throw error;
    dryRunState.report({ resource: call.resource, before, after });
    return after;
  }
}

/** The API server ignores options in the query if the body contains options. */
function dry(request: Request): Request {
  if (request.call.verb === 'delete') return { ...request, body: { ...(request.body as object), dryRun: ['All'] } };
  return { ...request, query: { ...request.query, dryRun: 'All' } };
}

/** A Role permits lists of namespaced kinds, and gets by name of cluster-scoped ones. */
function storedNow({ resource, namespace, name = '' }: RequestInfo, reads: Reads): Promise<Stored | undefined> {
  return resource.namespaced ? reads.find(resource, { namespace, name }) : reads.get(resource, { name });
}
