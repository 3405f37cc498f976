// Trace of requests to nodes: that of the Room that causes them, passed through all calls in between.
import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { traceparentOf } from '../../api/core/traceparent.ts';

type OfRoom = { metadata: { uid: string; generation?: number | undefined } };

const storage = new AsyncLocalStorage<string>();

export function currentTraceparent(): string | undefined {
  return storage.getStore();
}

/** Runs `work`; requests to nodes that it sends have this traceparent. */
export function withTraceparent<Result>(traceparent: string | undefined, work: () => Result): Result {
  return traceparent === undefined ? work() : storage.run(traceparent, work);
}

/**
 * One trace for each generation of a Room, so that all reconciles after a `kubectl apply`, also of another replica, belong to it. Its first
 * span is not exported: it begins outside of the operator.
 */
export function traceOfRoom({ metadata }: OfRoom, samplePercent: number): string {
  const digest = createHash('sha256').update(`${metadata.uid}/${metadata.generation}`).digest('hex');
  const share = Number.parseInt(digest.slice(48, 56), 16) / 2 ** 32;
  return traceparentOf({ traceId: digest.slice(0, 32), spanId: digest.slice(32, 48), sampled: share * 100 < samplePercent });
}
