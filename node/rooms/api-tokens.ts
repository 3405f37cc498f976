// Tokens of the REST API: which of several a given one is, in constant time.
import { createHash, timingSafeEqual } from 'node:crypto';

/** Who may call the REST API. `read` may only look. */
export type ApiToken = { name: string; token: string; scope: 'admin' | 'read' };

/** The tokens in force, hashed once for each list. */
export class ApiTokens {
  readonly #tokens: () => readonly ApiToken[];
  #source: readonly ApiToken[] | undefined;
  #entries: { token: ApiToken; hash: Buffer }[] = [];

  constructor(tokens: () => readonly ApiToken[]) {
    this.#tokens = tokens;
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
