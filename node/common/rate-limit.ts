// Rate limit: one token bucket per client, for a bounded number of clients.
import { isIPv6 } from 'node:net';
import { ServiceError } from '../../api/errors.ts';

/** Maximum number of tracked clients; the one idle for longest is dropped first. */
const maxClients = 10_000;
type Bucket = { level: number; time: number };

export type RateLimitOptions = {
  /** Burst of an idle client; default: one second's worth. */
  burst?: number;
  /** Monotonic clock in milliseconds. */
  now?: () => number;
};

/** Allows each client `rate` operations per second; unlimited if the rate is undefined. */
export class RateLimit {
  readonly #rate: () => number | undefined;
  readonly #burst: number | undefined;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** The rate is read on each call, because it is reloadable. */
  constructor(rate: () => number | undefined, { burst, now = () => performance.now() }: RateLimitOptions = {}) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
  }

  /** Takes one token. @returns 0, or the seconds until the next token if none is left */
  take(client: string): number {
    const rate = this.#rate();
    if (rate === undefined) return 0;
    const now = this.#now();
    const burst = Math.max(1, this.#burst ?? rate);
    const { level, time } = this.#buckets.get(client) ?? { level: burst, time: now };
    const filled = Math.min(burst, level + ((now - time) / 1000) * rate);
    const wait = filled >= 1 ? 0 : (1 - filled) / rate;
    this.#buckets.delete(client);
    this.#buckets.set(client, { level: wait === 0 ? filled - 1 : filled, time: now });
    if (this.#buckets.size > maxClients) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return wait;
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
