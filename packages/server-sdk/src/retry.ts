// Retry policy: which failed requests are retried, and when.
import type { MediaroomsError } from './errors.ts';

const firstDelay = 250;
const maxDelayMs = 8_000;

/** The server rejected the request; an immediate retry would not help. */
const lastingCodes: ReadonlySet<string> = new Set(['room_full', 'tracks_full']);
const passingStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** `repeatable`: the request may be processed twice without harm. */
export function isRetryable({ status, code }: MediaroomsError, repeatable: boolean): boolean {
  // Rejected before processing.
  if (status === 429) return true;
  if (!repeatable || lastingCodes.has(code)) return false;
  return status === undefined ? code === 'connection_failed' || code === 'timed_out' : passingStatuses.has(status);
}

/** True if the request may have been processed although it failed. */
export function mayHaveSucceeded({ status }: MediaroomsError): boolean {
  return status === undefined || status === 502 || status === 503 || status === 504;
}

/** Milliseconds to wait after attempt number `attempt` (from 0): doubling, half of it random, at least `retryAfter`. */
export function retryDelay(attempt: number, retryAfter: number | undefined, random: number): number {
  const whole = Math.min(firstDelay * 2 ** attempt, maxDelayMs);
  return Math.max(whole / 2 + (random * whole) / 2, retryAfter ?? 0);
}

/** Milliseconds of a `Retry-After` header (RFC 9110, section 10.2.3: seconds or a date); undefined if missing or invalid. */
export function readRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  // Date.parse() accepts much that is no HTTP date.
  const date = /^\s*[A-Za-z]{3}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
