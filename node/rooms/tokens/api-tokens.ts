// Tokens of the REST API: which of several a given one is, in constant time, and how often a client may guess.
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../common/errors.ts';
import { networkOf, RateLimit } from '../../common/rate-limit.ts';

/** Who may call the REST API. `read` may only look. */
export type ApiToken = { name: string; token: string; scope: 'admin' | 'read' };

type Entry = { token: ApiToken; hash: Buffer };

/** Wrong tokens of one client that are answered as such at once, and as many a minute from then on. */
const maxFailures = 20;

/** The tokens in force, hashed once for each list. */
export class ApiTokens {
  readonly #tokens: () => readonly ApiToken[];
  readonly #failures: RateLimit;
  #source: readonly ApiToken[] | undefined;
  #entries: Entry[] = [];

  constructor(tokens: () => readonly ApiToken[], failures: number = maxFailures) {
    this.#tokens = tokens;
    this.#failures = new RateLimit(() => failures / 60, { burst: failures });
  }

  /**
   * As find(), for a client that may be wrong only so often. A right token always passes, or whoever guesses would lock out others at
   * the same address.
   * @param address its IP address
   * @throws ServiceError `invalid_token`, `too_many_requests`
   */
  authenticate(given: string, address: string): ApiToken {
    const token = this.find(given);
    if (token) return token;
    throw this.refusal(address, 'Invalid token');
  }

  /** What a client is answered that did not show a right token. */
  refusal(address: string, sentence: string): ServiceError {
    const wait = this.#failures.take(networkOf(address));
    if (wait > 0) return new ServiceError('too_many_requests', 'Too many requests with a wrong token', { retryAfter: wait });
    return new ServiceError('invalid_token', sentence);
  }

  /**
   * The token that equals the given text. Both sides are hashed, so that lengths do not show, and every token is
   * compared, so that its place in the list does not.
   */
  find(given: string): ApiToken | undefined {
    const hash = sha256(given);
    return this.#first((entry) => timingSafeEqual(entry.hash, hash));
  }

  /** As find(), by a code of 32 bytes that was made with the token. */
  findBy(code: Uint8Array, make: (token: string) => Uint8Array): ApiToken | undefined {
    return this.#first(({ token }) => timingSafeEqual(make(token.token), code));
  }

  #first(isGiven: (entry: Entry) => boolean): ApiToken | undefined {
    let found: ApiToken | undefined;
    for (const entry of this.#current()) {
      const same = isGiven(entry);
      found = same && found === undefined ? entry.token : found;
    }
    return found;
  }

  #current(): Entry[] {
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
