// API tokens: finds the token that matches a request in constant time, and limits failed attempts per client.
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../../../api/errors.ts';
import { networkOf, RateLimit } from '../../common/rate-limit.ts';

/** A credential of the REST API. Scope `read` allows reading only. */
export type ApiToken = { name: string; token: string; scope: 'admin' | 'read' };

type Entry = { token: ApiToken; hash: Buffer };

/** Burst of failed attempts allowed per client, and the seconds in which it refills. */
const maxFailures = 20;
const refill = 60;

/** The effective tokens, hashed once per list. */
export class ApiTokens {
  readonly #tokens: () => readonly ApiToken[];
  readonly #failures: RateLimit;
  #source: readonly ApiToken[] | undefined;
  #entries: Entry[] = [];

  constructor(tokens: () => readonly ApiToken[], failures: number = maxFailures) {
    this.#tokens = tokens;
    this.#failures = new RateLimit(() => failures / refill, { burst: refill });
  }

  /**
   * Like find(), but limits failed attempts. A correct token always passes: otherwise a client that guesses could lock out others at the
   * same address.
   * @param address IP address of the client
   * @throws ServiceError `invalid_token`, `too_many_requests`
   */
  authenticate(given: string, address: string): ApiToken {
    const token = this.find(given);
    if (token) return token;
    throw this.refusal(address, 'Invalid token');
  }

  /** The error for a request without a correct token. */
  refusal(address: string, message: string): ServiceError {
    const wait = this.#failures.take(networkOf(address));
    if (wait > 0) return new ServiceError('too_many_requests', 'Too many requests with a wrong token', { retryAfter: wait });
    return new ServiceError('invalid_token', message);
  }

  /**
   * The token that equals the given text. Both sides are hashed, so that timing does not reveal lengths. Every token is compared, so that
   * timing does not reveal its position in the list.
   */
  find(given: string): ApiToken | undefined {
    const hash = sha256(given);
    return this.#first((entry) => timingSafeEqual(entry.hash, hash));
  }

  /** Like find(), by a 32-byte code that was computed with the token. */
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
      // The configuration rejects empty tokens; this is the second check.
      this.#entries = source.filter(({ token }) => token !== '').map((token) => ({ token, hash: sha256(token.token) }));
    }
    return this.#entries;
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
