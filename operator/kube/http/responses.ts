// Parses responses of the API server: objects, lists, discovery and errors.
import { z } from 'zod';
import type { KubeObject, Resource, Stored } from '../objects.ts';
import type { CallObservation } from '../observer.ts';
import { clientError, KubeError } from './kube-error.ts';

const maxMessageLength = 2000;

/** Validates only used fields; all others are kept. */
const storedSchema = z.object({
  metadata: z.object({ name: z.string(), namespace: z.string().optional(), uid: z.string(), resourceVersion: z.string() }),
});
const listSchema = z.object({
  metadata: z.object({ resourceVersion: z.string(), continue: z.string().optional() }),
  /** null in an empty list of metadata. */
  items: z.array(storedSchema).nullable(),
});
const watchSchema = z.object({
  type: z.enum(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK', 'ERROR']),
  object: z.record(z.string(), z.unknown()),
});
const bookmarkSchema = z.object({ metadata: z.object({ resourceVersion: z.string() }) });
const statusSchema = z.object({
  kind: z.literal('Status'),
  message: z.string().optional(),
  reason: z.string().optional(),
  code: z.number().optional(),
  details: z
    .object({
      retryAfterSeconds: z.number().optional(),
      causes: z.array(z.object({ field: z.string().optional() })).optional(),
    })
    .optional(),
});

type Method = { method: 'GET' | 'POST' | 'PATCH' | 'DELETE'; contentType?: string };
/** How each verb is sent. */
export const verbs: Record<CallObservation['verb'] | 'discover', Method> = {
  get: { method: 'GET' },
  list: { method: 'GET' },
  watch: { method: 'GET' },
  discover: { method: 'GET' },
  create: { method: 'POST' },
  // JSON is valid YAML: https://kubernetes.io/docs/reference/using-api/server-side-apply/
  apply: { method: 'PATCH', contentType: 'application/apply-patch+yaml' },
  patch: { method: 'PATCH', contentType: 'application/merge-patch+json' },
  delete: { method: 'DELETE' },
};
export type RequestInfo = { verb: keyof typeof verbs; resource: Resource; name?: string | undefined; namespace?: string | undefined };
export type WatchEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK'; object: KubeObject };

/** The result of a dry run has no resource version. @throws KubeError 'BadAnswer' */
export function readDryRun<T extends KubeObject>(requestInfo: RequestInfo, json: unknown): Stored<T> {
  const { metadata } = (json ?? {}) as { metadata?: { resourceVersion?: string } };
  if (metadata) metadata.resourceVersion ??= '';
  return readObject<T>(requestInfo, json);
}

/** @throws KubeError 'BadAnswer' */
export function readObject<T extends KubeObject>(requestInfo: RequestInfo, json: unknown): Stored<T> {
  if (!storedSchema.safeParse(json).success) throw invalidResponse(requestInfo, 'returned an invalid object');
  return withKind<T>(requestInfo.resource, json as Stored<T>);
}

/** One page. @throws KubeError 'BadAnswer' */
export function readPage<T extends KubeObject>(
  requestInfo: RequestInfo,
  json: unknown,
): { items: Stored<T>[]; resourceVersion: string; next: string | undefined } {
  const parsed = listSchema.safeParse(json);
  if (!parsed.success) throw invalidResponse(requestInfo, 'returned an invalid list');
  const { resourceVersion, continue: next } = parsed.data.metadata;
  const items = ((json as { items: Stored<T>[] | null }).items ?? []).map((item) => withKind<T>(requestInfo.resource, item));
  return { items, resourceVersion, next: next || undefined };
}

/** One line of a watch. @throws KubeError of an ERROR event, or 'BadAnswer' */
export function readWatchEvent(requestInfo: RequestInfo, json: unknown): WatchEvent {
  const parsed = watchSchema.safeParse(json);
  if (!parsed.success) throw invalidResponse(requestInfo, 'sent an invalid watch event');
  const { type } = parsed.data;
  const object: unknown = (json as { object: unknown }).object;
  if (type === 'ERROR') throw toStatusError(requestInfo, statusSchema.safeParse(object).data?.code ?? 500, object, undefined);
  const schema = type === 'BOOKMARK' ? bookmarkSchema : storedSchema;
  if (!schema.safeParse(object).success) throw invalidResponse(requestInfo, 'sent a watch event without an object');
  return { type, object: withKind(requestInfo.resource, object as Stored) };
}

/** Whether the discovery document of the group contains the kind. */
export function servesKind(resource: Resource, json: unknown): boolean {
  const parsed = z.object({ resources: z.array(z.object({ name: z.string() })) }).safeParse(json);
  return parsed.data?.resources.some(({ name }) => name === resource.plural) ?? false;
}

export function isAllowed(json: unknown): boolean {
  return z.object({ status: z.object({ allowed: z.boolean() }) }).safeParse(json).data?.status.allowed ?? false;
}

/** Response to an invalid server-side apply: 500 without a reason, although a retry never succeeds. */
const senseless = /^failed to create typed (patch|live) object/;

/** Error of an unsuccessful response. `retryAfter`: the header. */
export function toStatusError(requestInfo: RequestInfo, status: number, json: unknown, retryAfter: string | undefined): KubeError {
  const returned = statusSchema.safeParse(json).data;
  if (status === 500 && !returned?.reason && senseless.test(returned?.message ?? ''))
    return new KubeError({ status: 422, reason: 'Invalid', message: messageOf(requestInfo, 422, returned).slice(0, maxMessageLength) });
  const seconds = retryAfter !== undefined && /^\d{1,6}$/.test(retryAfter) ? Number(retryAfter) : returned?.details?.retryAfterSeconds;
  return new KubeError({
    status,
    // A missing object is reported by a Status, an unsupported path is not.
    reason: returned?.reason || (status === 404 ? 'NotServed' : String(status)),
    message: messageOf(requestInfo, status, returned).slice(0, maxMessageLength),
    retryAfterMs: seconds === undefined ? undefined : seconds * 1000,
  });
}

export function invalidResponse(requestInfo: RequestInfo, what: string): KubeError {
  return clientError('BadAnswer', `The API server ${what} (${describeRequest(requestInfo)}).`);
}

/** A request as text: `get Room default/standup`. */
export function describeRequest({ verb, resource, name, namespace }: RequestInfo): string {
  const where = [namespace, name].filter((part) => part !== undefined).join('/');
  return `${verb} ${resource.kind}${where && ` ${where}`}`;
}

function messageOf(requestInfo: RequestInfo, status: number, returned: z.infer<typeof statusSchema> | undefined): string {
  // A rejection of a Secret may quote its content, so only field names are included.
  if (requestInfo.resource.kind === 'Secret' && [400, 415, 422, 500].includes(status)) {
    const fields = returned?.details?.causes?.flatMap(({ field }) => field ?? []) ?? [];
    return `The API server rejected ${describeRequest(requestInfo)}: ${returned?.reason ?? status}${fields.length > 0 ? ` (${fields.join(', ')})` : ''}.`;
  }
  return returned?.message || `The API server returned ${status} for ${describeRequest(requestInfo)}.`;
}

/** Items in lists of built-in kinds contain neither apiVersion nor kind; those of a request of metadata have that of the metadata. */
function withKind<T extends KubeObject>(resource: Resource, object: Stored<T>): Stored<T> {
  if (object.kind === 'PartialObjectMetadata') Object.assign(object, { apiVersion: resource.apiVersion, kind: resource.kind });
  object.apiVersion ??= resource.apiVersion;
  object.kind ??= resource.kind;
  return object;
}
