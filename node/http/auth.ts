// Who calls: bearer tokens (RFC 6750).
import { ServiceError } from '../errors.ts';
import type { ApiToken, ApiTokens } from '../rooms/api-tokens.ts';

export type Caller = { name: string; scope: ApiToken['scope'] };

export class Authenticator {
  readonly #tokens: ApiTokens;

  constructor(tokens: ApiTokens) {
    this.#tokens = tokens;
  }

  /**
   * Who sent this `authorization` header.
   * @param client address of the client
   * @throws ServiceError `missing_token`, `invalid_token`, `too_many_requests` after too many wrong ones, and `read_only` where `scope` is
   * more than the token's.
   */
  authenticate(header: string | undefined, scope: ApiToken['scope'], client: string): Caller {
    const given = header === undefined ? undefined : /^bearer +(\S+) *$/i.exec(header)?.[1];
    if (given === undefined) throw new ServiceError('missing_token', 'Missing token');
    const token = this.#tokens.authenticate(given, client);
    if (scope === 'admin' && token.scope !== 'admin') throw new ServiceError('read_only', 'This token may only read');
    return { name: token.name, scope: token.scope };
  }
}

/** The `www-authenticate` header (RFC 6750, section 3) that goes with a 401. */
export function challenge(code: string): string {
  return code === 'invalid_token' ? 'Bearer realm="mediarooms", error="invalid_token"' : 'Bearer realm="mediarooms"';
}
