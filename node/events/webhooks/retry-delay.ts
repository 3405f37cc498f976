// Retry delay: backoff of failed deliveries.

const first = 1_000;
const maxRetryDelayMs = 10 * 60_000;
/** Maximum delay in milliseconds that a receiver can request. */
const maxRetryAfterMs = 60 * 60_000;

/**
 * Milliseconds until the next attempt after `attempts` failed ones: 1 s doubling up to 10 min, half of it random, so that receivers do not
 * get all retries at the same time.
 */
export function retryDelay(attempts: number, random: () => number = Math.random): number {
  const full = Math.min(first * 2 ** Math.min(attempts - 1, 20), maxRetryDelayMs);
  return full / 2 + (full / 2) * random();
}

/** Header `Retry-After` (RFC 9110, section 10.2.3) in milliseconds from now, at most an hour; undefined if missing or invalid. */
export function parseRetryAfter(header: string | undefined, now: number): number | undefined {
  if (header === undefined) return undefined;
  const delay = /^\s*\d+\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(delay) ? undefined : Math.min(Math.max(delay, 0), maxRetryAfterMs);
}
