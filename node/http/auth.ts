// Who calls: bearer tokens (RFC 6750), compared in constant time.
import { createHash, timingSafeEqual } from 'node:crypto';
import { ServiceError } from '../errors.ts';

export type ApiToken = { name: string; token: string; scope: 'admin' | 'read' };
export type Caller = { name: string; scope: ApiToken['scope'] };
type Entry = Caller & { hash: Buffer };

/** Knows the API tokens of the moment; they are asked for on every call, so that a rotation needs no restart. */
export class Authenticator {
  readonly #tokens: () => readonly ApiToken[];
  #source: readonly ApiToken[] | undefined;
  #entries: Entry[] = [];

  constructor(tokens: () => readonly ApiToken[]) {
    this.#tokens = tokens;
  }

  /**
   * Who sent this `authorization` header. Both sides are hashed, so that lengths do not show, and every token is compared, so that its place does not.
   * @throws ServiceError `missing_token`, `invalid_token`, and `forbidden` where `scope` is more than the token's.
   */
  authenticate(header: string | undefined, scope: ApiToken['scope']): Caller {
    const token = header === undefined ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
    if (token === undefined) throw new ServiceError('missing_token', 'Missing token');
    const hash = sha256(token);
    let caller: Caller | undefined;
    for (const entry of this.#current()) {
      const same = timingSafeEqual(entry.hash, hash);
      caller = same && caller === undefined ? entry : caller;
    }
    if (!caller) throw new ServiceError('invalid_token', 'Invalid token');
    if (scope === 'admin' && caller.scope !== 'admin') throw new ServiceError('forbidden', 'This token may only read');
    return caller;
  }

  #current(): Entry[] {
    const source = this.#tokens();
    if (source !== this.#source) {
      this.#source = source;
      // An empty token would be matched by nobody's choice; config refuses it, and so do we.
      this.#entries = source.filter(({ token }) => token !== '').map(({ name, token, scope }) => ({ name, scope, hash: sha256(token) }));
    }
    return this.#entries;
  }
}

/** The `www-authenticate` header (RFC 6750, section 3) that goes with a 401. */
export function challenge(code: string): string {
  return code === 'invalid_token' ? 'Bearer realm="mediarooms", error="invalid_token"' : 'Bearer realm="mediarooms"';
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
