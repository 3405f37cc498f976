// Who calls: bearer tokens (RFC 6750).
import { ServiceError } from '../errors.ts';
import { type ApiToken, ApiTokens } from '../rooms/api-tokens.ts';

export type Caller = { name: string; scope: ApiToken['scope'] };

export class Authenticator {
  readonly #tokens: ApiTokens;

  /** The tokens are asked for on every call, so that a rotation needs no restart. */
  constructor(tokens: () => readonly ApiToken[]) {
    this.#tokens = new ApiTokens(tokens);
  }

  /**
   * Who sent this `authorization` header.
   * @throws ServiceError `missing_token`, `invalid_token`, and `forbidden` where `scope` is more than the token's.
   */
  authenticate(header: string | undefined, scope: ApiToken['scope']): Caller {
    const given = header === undefined ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
    if (given === undefined) throw new ServiceError('missing_token', 'Missing token');
    const token = this.#tokens.find(given);
    if (!token) throw new ServiceError('invalid_token', 'Invalid token');
    if (scope === 'admin' && token.scope !== 'admin') throw new ServiceError('forbidden', 'This token may only read');
    return { name: token.name, scope: token.scope };
  }
}

/** The `www-authenticate` header (RFC 6750, section 3) that goes with a 401. */
export function challenge(code: string): string {
  return code === 'invalid_token' ? 'Bearer realm="mediarooms", error="invalid_token"' : 'Bearer realm="mediarooms"';
}
