// Whether a call that failed is made again, and when.
import type { MediaroomsError } from './errors.ts';
import type { OperationId } from './generated/operations.ts';

const firstDelay = 250;
const maxDelayMs = 8_000;

/** POSTs that do no more when they are done twice. Those that make something carry an `externalId`; the others set a state or give a token. */
const repeatablePosts: ReadonlySet<OperationId> = new Set<OperationId>([
  'createRoom',
  'addPeer',
  'addComponent',
  'renewPeerToken',
  'muteTrack',
  'unmuteTrack',
  'subscribeComponent',
  'createViewerToken',
  'drainNode',
  'renderRecording',
]);

export function isIdempotent(id: OperationId, method: string): boolean {
  return method !== 'POST' || repeatablePosts.has(id);
}

/** The server is there and says no: asking again at once would not help. */
const lastingCodes: ReadonlySet<string> = new Set(['room_full', 'tracks_full']);
const passingStatuses: ReadonlySet<number> = new Set([408, 429, 502, 503, 504]);

/** `repeatable`: the call may have been done already without harm. */
export function isRetryable({ status, code }: MediaroomsError, repeatable: boolean): boolean {
  // Refused before anything was done.
  if (status === 429) return true;
  if (!repeatable || lastingCodes.has(code)) return false;
  return status === undefined ? code === 'connection_failed' || code === 'timed_out' : passingStatuses.has(status);
}

/** Whether the call may have been done although it failed. */
export function mayHaveSucceeded({ status }: MediaroomsError): boolean {
  return status === undefined || status === 502 || status === 503 || status === 504;
}

/** Milliseconds before the try after the one with this number, counted from 0: doubling, half of it random, never less than the server asked for. */
export function retryDelay(attempt: number, retryAfter: number | undefined, random: number): number {
  const whole = Math.min(firstDelay * 2 ** attempt, maxDelayMs);
  return Math.max(whole / 2 + (random * whole) / 2, retryAfter ?? 0);
}

/** Milliseconds of a `Retry-After` (RFC 9110, section 10.2.3: seconds or a date); undefined where there is none that can be read. */
export function readRetryAfter(value: string | null, now: number): number | undefined {
  if (value === null) return undefined;
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  // Date.parse() takes much that is no date of HTTP.
  const date = /^\s*[A-Za-z]{3}/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}
