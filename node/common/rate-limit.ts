// Rate limit: one token bucket per client, for a bounded number of clients.
import { isIPv6 } from 'node:net';
import { ServiceError } from '../../api/errors.ts';
import { TokenBucket } from './token-bucket.ts';

/** Maximum number of tracked clients; the one idle for longest is dropped first. */
const maxClients = 10_000;

export type RateLimitOptions = {
  /** Burst of an idle client in seconds of the rate; default: 1. */
  burst?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

/** Allows each client `rate` operations per second; unlimited if the rate is undefined. */
export class RateLimit {
  readonly #rate: () => number | undefined;
  readonly #burst: number;
  readonly #now: (() => number) | undefined;
  readonly #buckets = new Map<string, TokenBucket>();

  constructor(rate: () => number | undefined, { burst = 1, now }: RateLimitOptions = {}) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
  }

  /** Takes one token. @returns 0, or the seconds until the next token if none is left */
  take(client: string): number {
    if (this.#rate() === undefined) return 0;
    const bucket = this.#buckets.get(client) ?? new TokenBucket(this.#rate, this.#burst, this.#now);
    this.#buckets.delete(client);
    this.#buckets.set(client, bucket);
    if (this.#buckets.size > maxClients) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return bucket.take() ? 0 : bucket.waitFor(1) / 1000;
  }

  /** Like take(), with the error for the client if the limit is exceeded. */
  refusal(client: string): ServiceError | undefined {
    const retryAfter = this.take(client);
    return retryAfter === 0 ? undefined : new ServiceError('too_many_requests', 'Too many requests', { retryAfter });
  }
}

/**
 * The network that counts as one client: an IPv4 address, or the /64 of an IPv6 address, the smallest assignment of a customer (RFC 6177).
 */
export function networkOf(address: string): string {
  // A dot marks an IPv4-mapped address, as dual-stack sockets report it.
  if (!isIPv6(address) || address.includes('.')) return address;
  const [left = '', right] = (address.split('%')[0] ?? '').split('::');
  const groups = (text: string | undefined) => text?.split(':').filter(Boolean) ?? [];
  const [head, tail] = [groups(left), groups(right)];
  const all = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  const network = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
