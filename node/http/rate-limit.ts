// How many requests one client may make: a token bucket per address, bounded in number.

/** Clients that are remembered at once; the one that was quiet longest goes first. */
const maxClients = 10_000;
type Bucket = { level: number; time: number };

/** Each client may make `rate` requests a second, and save up one second's worth. */
export class RateLimit {
  readonly #rate: () => number | undefined;
  readonly #now: () => number;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rate: () => number | undefined, now: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#now = now;
  }

  /** Counts a request. False: it is one too many. */
  take(client: string): boolean {
    const rate = this.#rate();
    if (rate === undefined) return true;
    const now = this.#now();
    const burst = Math.max(1, rate);
    const bucket = this.#buckets.get(client) ?? { level: burst, time: now };
    this.#buckets.delete(client);
    const level = Math.min(burst, bucket.level + ((now - bucket.time) / 1000) * rate);
    const taken = level >= 1;
    this.#buckets.set(client, { level: taken ? level - 1 : level, time: now });
    if (this.#buckets.size > maxClients) this.#buckets.delete(this.#buckets.keys().next().value ?? '');
    return taken;
  }
}
