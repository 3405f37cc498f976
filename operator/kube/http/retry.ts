// Whether a call that failed is made again, and after what time.
import { KubeError, wasNeverSent } from './kube-error.ts';

const maxAttempts = 5;
const firstMs = 100;
const maxBackoffMs = 5000;
const maxRetryAfterMs = 30_000;
/** Said by an API server that starts, stops or has lost etcd, and by proxies in front of it. */
const passing = [502, 503, 504];

/**
 * Milliseconds to wait before the next attempt, or `undefined`: no further one.
 * `attempt`: 0 after the first; `repeatable`: doing it twice is like doing it once.
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
