// Retry policy: whether and when a failed request is sent again.
import { KubeError, wasNeverSent } from './kube-error.ts';

const maxAttempts = 5;
const firstMs = 100;
const maxBackoffMs = 5000;
const maxRetryAfterMs = 30_000;
/** Status of an API server that starts, stops or lost etcd, and of proxies. */
const passing = [502, 503, 504];

/**
 * Milliseconds before the next attempt, or `undefined` for none.
 * `attempt`: 0 after the first; `repeatable`: the request is idempotent.
 */
export function retryDelay(error: unknown, options: { attempt: number; repeatable: boolean; random: () => number }): number | undefined {
  const { attempt, repeatable, random } = options;
  if (!(error instanceof KubeError) || attempt + 1 >= maxAttempts) return undefined;
  const { status, reason, retryAfterMs } = error;
  const refused = status === 429;
  const safe = repeatable || wasNeverSent(error);
  if (!refused && !(safe && (reason === 'Unreachable' || passing.includes(status)))) return undefined;
  const backOff = Math.min(firstMs * 2 ** attempt, maxBackoffMs) * (0.5 + random());
  return Math.max(Math.min(retryAfterMs ?? 0, maxRetryAfterMs) * (1 + 0.2 * random()), backOff);
}
