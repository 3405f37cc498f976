// Authentication of requests: bearer tokens (RFC 6750), and signatures of clients that do not send their token.
import type { IncomingMessage } from 'node:http';
import { ServiceError } from '../../../api/errors.ts';
import type { ApiToken, ApiTokens } from '../../rooms/tokens/api-tokens.ts';
import { isSignature, type SignedCalls } from '../../rooms/tokens/signed-calls.ts';
import type { BodyCheck } from './body.ts';

export type Principal = { name: string; scope: ApiToken['scope'] };

export class Authenticator {
  readonly #tokens: ApiTokens;
  readonly #signed: SignedCalls;

  constructor(tokens: ApiTokens, signed: SignedCalls) {
    this.#tokens = tokens;
    this.#signed = signed;
  }

  /**
   * Authenticates a request. `checkBody`: for signed requests, to be called with the body before it is used.
   * @param client address of the client
   * @throws ServiceError `missing_token`, `invalid_token`, `too_many_requests` after too many invalid ones, and `read_only` if the token
   * does not have `scope`.
   */
  authenticate(
    request: Pick<IncomingMessage, 'headers' | 'method' | 'url'>,
    scope: ApiToken['scope'],
    client: string,
  ): { caller: Principal; checkBody?: BodyCheck } {
    const { token, takeBody } = this.#read(request, client);
    if (scope === 'admin' && token.scope !== 'admin') throw new ServiceError('read_only', 'This token may only read');
    return { caller: { name: token.name, scope: token.scope }, ...(takeBody && { checkBody: takeBody }) };
  }

  #read(
    { headers: { authorization = '' }, method = '', url = '' }: Pick<IncomingMessage, 'headers' | 'method' | 'url'>,
    client: string,
  ): { token: ApiToken; takeBody?: BodyCheck } {
    if (isSignature(authorization)) return this.#signed.request(authorization, { method, path: url }, client);
    return { token: this.#tokens.authenticate(bearerOf(authorization), client) };
  }
}

/** @throws ServiceError `missing_token` */
export function bearerOf(authorization = ''): string {
  const token = /^bearer +(\S+) *$/i.exec(authorization)?.[1];
  if (token === undefined) throw new ServiceError('missing_token', 'Missing token');
  return token;
}

/** The `www-authenticate` header (RFC 6750, section 3) of a response with status 401. */
export function wwwAuthenticateHeader(code: string): string {
  return code === 'invalid_token' ? 'Bearer realm="mediarooms", error="invalid_token"' : 'Bearer realm="mediarooms"';
}
