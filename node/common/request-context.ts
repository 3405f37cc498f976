// Request context: AsyncLocalStorage with the id of the current request, for every log line on every node, and its span.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Span } from '../../tracing/spans.ts';

export type CurrentRequest = { requestId: string | undefined; span: Span | undefined };

const storage = new AsyncLocalStorage<CurrentRequest>();
const pattern = /^[\w-]{1,128}$/;

/** True if a client or another node may use this text as a request id. */
export function isRequestId(text: unknown): text is string {
  return typeof text === 'string' && pattern.test(text);
}

/** The id of the current request, if any. */
export function currentRequestId(): string | undefined {
  return storage.getStore()?.requestId;
}

/** The span of the current request, if it is traced. */
export function currentSpan(): Span | undefined {
  return storage.getStore()?.span;
}

/** Runs `work` and its asynchronous continuations in the context of a request; without an id in the current context. */
export function withRequest<Result>({ requestId, span }: CurrentRequest, work: () => Result): Result {
  return requestId === undefined && span === undefined ? work() : storage.run({ requestId, span }, work);
}

/** Runs `work` outside any request context, because what it starts outlives the request. */
export function withoutRequestContext<Result>(work: () => Result): Result {
  return storage.exit(work);
}
