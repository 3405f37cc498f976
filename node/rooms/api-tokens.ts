// Tokens of the REST API: which of several a given one is, in constant time, and how often a client may guess.
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../errors.ts';
import { networkOf, RateLimit } from '../rate-limit.ts';

/** Who may call the REST API. `read` may only look. */
export type ApiToken = { name: string; token: string; scope: 'admin' | 'read' };

/** Wrong tokens of one client before it is refused unheard, and as many a minute from then on. */
const maxFailures = 20;
/** Pairs of client and token that are remembered as good. */
const maxKnown = 10_000;

/** The tokens in force, hashed once for each list. */
export class ApiTokens {
  readonly #tokens: () => readonly ApiToken[];
  readonly #failures: RateLimit;
  /** So that one who guesses does not lock out others at the same address: their token was good there before. */
  readonly #known = new Set<string>();
  #source: readonly ApiToken[] | undefined;
  #entries: { token: ApiToken; hash: Buffer }[] = [];

  constructor(tokens: () => readonly ApiToken[], failures: number = maxFailures) {
    this.#tokens = tokens;
    this.#failures = new RateLimit(() => failures / 60, { burst: failures });
  }

  /**
   * As find(), for a client that may guess only so often.
   * @param address its IP address
   * @throws ServiceError `invalid_token`, `too_many_requests`
   */
  authenticate(given: string, address: string): ApiToken {
    const client = networkOf(address);
    const wait = this.#failures.wait(client);
    const token = this.find(given);
    const key = token && `${client} ${token.name}`;
    if (wait > 0 && !(key !== undefined && this.#known.has(key))) {
      throw new ServiceError('too_many_requests', 'Too many requests with a wrong token', { retryAfter: wait });
    }
    if (token === undefined || key === undefined) {
      this.#failures.take(client);
      throw new ServiceError('invalid_token', 'Invalid token');
    }
    this.#remember(key);
    return token;
  }

  /**
   * The token that equals the given text. Both sides are hashed, so that lengths do not show, and every token is
   * compared, so that its place in the list does not.
   */
  find(given: string): ApiToken | undefined {
    const hash = sha256(given);
    let found: ApiToken | undefined;
    for (const entry of this.#current()) {
      const same = timingSafeEqual(entry.hash, hash);
      found = same && found === undefined ? entry.token : found;
    }
    return found;
  }

  #remember(key: string): void {
    if (this.#known.has(key)) return;
    this.#known.add(key);
    if (this.#known.size > maxKnown) this.#known.delete(this.#known.values().next().value ?? '');
  }

  #current(): { token: ApiToken; hash: Buffer }[] {
    const source = this.#tokens();
    if (source !== this.#source) {
      this.#source = source;
      // Config refuses an empty token, and so do we.
      this.#entries = source.filter(({ token }) => token !== '').map((token) => ({ token, hash: sha256(token.token) }));
    }
    return this.#entries;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
