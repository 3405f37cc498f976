// The id of the request that is being worked on, so that every line of the log that it causes says it, on whatever node.
import { AsyncLocalStorage } from 'node:async_hooks';

const storage = new AsyncLocalStorage<string>();
const pattern = /^[\w-]{1,128}$/;

/** What callers and other nodes may give as the id of a request. */
export function isRequestId(text: unknown): text is string {
  return typeof text === 'string' && pattern.test(text);
}

/** The id of the request on whose behalf this runs, if it is any. */
export function currentRequestId(): string | undefined {
  return storage.getStore();
}

/** Runs `work`, and everything it waits for, on behalf of a request; without an id as it is. */
export function withRequestId<Result>(id: string | undefined, work: () => Result): Result {
  return id === undefined ? work() : storage.run(id, work);
}

/** Runs `work` on nobody's behalf: what it starts outlives the request. */
export function withoutRequestContext<Result>(work: () => Result): Result {
  return storage.exit(work);
}
