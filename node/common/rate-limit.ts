// How often each of many clients may do something: a token bucket per client, bounded in number.
import { isIPv6 } from 'node:net';
import { ServiceError } from './errors.ts';

/** Clients that are remembered at once; the one that was quiet longest goes first. */
const maxClients = 10_000;
type Bucket = { level: number; time: number };

export type RateLimitOptions = {
  /** How many times at once a client that was quiet may; one second's worth unless said. */
  burst?: number;
  /** Milliseconds, monotonic. */
  now?: () => number;
};

/** Each client may `rate` times a second; without a rate as often as it likes. */
export class RateLimit {
  readonly #rate: () => number | undefined;
  readonly #burst: number | undefined;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  /** The rate is asked for each time, since it may change while the node runs. */
  constructor(rate: () => number | undefined, { burst, now = () => performance.now() }: RateLimitOptions = {}) {
    this.#rate = rate;
    this.#burst = burst;
    this.#now = now;
  }

  /** Counts one. @returns 0; or, where it is one too many, the seconds until it is not. */
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

  /** As take(), with what the client is answered where it is one too many. */
  refusal(client: string): ServiceError | undefined {
    const retryAfter = this.take(client);
    return retryAfter === 0 ? undefined : new ServiceError('too_many_requests', 'Too many requests', { retryAfter });
  }
}

/** Who counts as one client: an IPv4 address, or the /64 of an IPv6 address, which is the least that one customer has (RFC 6177). */
export function networkOf(address: string): string {
  // With a dot: an IPv4 address in IPv6 form, as sockets that listen on both give it.
  if (!isIPv6(address) || address.includes('.')) return address;
  const [left = '', right] = (address.split('%')[0] ?? '').split('::');
  const groups = (text: string | undefined) => text?.split(':').filter(Boolean) ?? [];
  const [head, tail] = [groups(left), groups(right)];
  const all = [...head, ...Array<string>(8 - head.length - tail.length).fill('0'), ...tail];
  const network = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
