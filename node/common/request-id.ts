// Request id: AsyncLocalStorage context that adds the id of the current request to every log line, on every node.
import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<string>();
const pattern = /^[\w-]{1,128}$/;

/** True if a client or another node may use this text as a request id. */
export function isRequestId(text: unknown): text is string {
  return typeof text === 'string' && pattern.test(text);
}

/** The id of the current request, if any. */
export function currentRequestId(): string | undefined {
  return storage.getStore();
}

/** Runs `work` and its asynchronous continuations in the context of a request; without an id in the current context. */
export function withRequestId<Result>(id: string | undefined, work: () => Result): Result {
  return id === undefined ? work() : storage.run(id, work);
}

/** Runs `work` outside any request context, because what it starts outlives the request. */
export function withoutRequestContext<Result>(work: () => Result): Result {
  return storage.exit(work);
}
