// Access tokens: JWTs that a backend signs itself, with claims as in LiveKit's. Verification returns the rights of a peer or one error.
import { createPublicKey, createSecretKey, type KeyObject } from 'node:crypto';
import { decodeJwt, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { ServiceError } from '../../../api/errors.ts';
import { type AccessKey, publicKeyAlgorithm } from '../../../api/settings/access-keys.ts';
import { type Access, accessOf, type WorkerKey, workerKeyOf } from './access-claims.ts';
import { ServerAccess } from './server-access.ts';
import type { RenewedToken } from './token-renewal.ts';

/** Maximum difference between the clocks of backend and node, in seconds. */
const clockTolerance = 60;

export type AccessTokensOptions = {
  keys: () => readonly AccessKey[];
  /** Maximum validity in milliseconds. */
  maxTtl: () => number;
  /** Milliseconds since 1970. */
  now?: () => number;
};

/** Each key verifies one kind of signature: a token must not choose it, or a public key could be used as a secret. */
type Verifier = { key: AccessKey; material: KeyObject; algorithms: string[] };

export class AccessTokens {
  readonly #options: AccessTokensOptions;
  readonly #now: () => number;
  #source: readonly AccessKey[] | undefined;
  #verifiers = new Map<string, Verifier>();

  constructor(options: AccessTokensOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
  }

  /** The rights of a token. @throws ServiceError `invalid_token`, `forbidden`, whose message never contains the token */
  async verify(token: string): Promise<Access> {
    const { payload, key } = await this.#payloadOf(token, ['exp', 'sub']);
    return accessOf(payload, key);
  }

  /** The grants of a token for requests of a backend. @throws ServiceError `invalid_token`, `forbidden` */
  async verifyServer(token: string): Promise<ServerAccess> {
    const { payload, key } = await this.#payloadOf(token, ['exp']);
    return new ServerAccess(payload, key);
  }

  /**
   * The key of a worker of agents; its node signs tokens for its jobs with this key.
   * @throws ServiceError `invalid_token`, `forbidden`, whose message never contains the token
   */
  async verifyWorker(token: string): Promise<WorkerKey> {
    const { payload, key } = await this.#payloadOf(token, ['exp']);
    if (key.secret === undefined)
      throw new ServiceError('forbidden', `The access key ${key.id} has no secret, with which the node signs tokens of agents`);
    return workerKeyOf(payload, key);
  }

  /** An access token with these claims, signed with the secret of a key. `lifetime` in seconds. @throws ServiceError `invalid_token` */
  async sign(keyId: string, claims: Record<string, unknown>, lifetime: number): Promise<string> {
    const { key, material } = this.#current().get(keyId) ?? {};
    if (!material || key?.secret === undefined) throw invalid(`The access key ${keyId} does not exist, or has no secret`);
    const now = Math.floor(this.#now() / 1000);
    const exp = now + Math.min(lifetime, Math.floor(this.#options.maxTtl() / 1000));
    return new SignJWT({ iat: now, ...claims, iss: keyId, exp }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(material);
  }

  async #payloadOf(token: string, requiredClaims: string[]): Promise<{ payload: JWTPayload; key: AccessKey }> {
    const verifier = this.#verifierOf(token);
    const { key, material, algorithms } = verifier;
    const now = this.#now();
    const options = { algorithms, clockTolerance, currentDate: new Date(now), requiredClaims };
    const { payload } = await jwtVerify(token, material, options).catch((error: unknown) => {
      throw rejectionOf(error, verifier);
    });
    this.#checkLifetime(payload, now / 1000);
    return { payload, key };
  }

  /**
   * A token with the claims of a valid one that expires later; undefined if the longest validity is reached, or if the node cannot sign it: it
   * has only the public key. Its time of issue stays, so that it does not undo later changes of permissions. @throws ServiceError like verify()
   */
  async renew(token: string): Promise<RenewedToken | undefined> {
    const { expiresAt } = await this.verify(token);
    const claims = decodeJwt(token);
    const now = this.#now() / 1000;
    const start = Math.min(claims.nbf ?? now, claims.iat ?? now, now);
    const exp = Math.floor(Math.min(now + expiresAt / 1000 - start, start + this.#options.maxTtl() / 1000));
    if (exp * 1000 <= expiresAt) return undefined;
    const renewed = await this.#signAgain(token, { exp });
    return renewed === undefined ? undefined : { token: renewed, expiresAt: exp * 1000 };
  }

  /** For a client that has joined: its token, with a claim that tells a later join from the first one. Undefined like renew(). */
  forRejoin(token: string): Promise<string | undefined> {
    return this.#signAgain(token, { rejoin: true });
  }

  /** The token of a connected client with other claims; undefined if the node has only the public key. @throws ServiceError `invalid_token` */
  async #signAgain(token: string, claims: Record<string, unknown>): Promise<string | undefined> {
    const { key, material } = this.#verifierOf(token);
    if (key.secret === undefined) return undefined;
    return new SignJWT({ ...decodeJwt(token), ...claims }).setProtectedHeader({ alg: 'HS256', typ: 'JWT' }).sign(material);
  }

  /** From its issue, or now if it does not tell, to its expiry. */
  #checkLifetime({ exp = 0, nbf, iat }: { exp?: number; nbf?: number; iat?: number }, now: number): void {
    const max = this.#options.maxTtl() / 1000;
    if (exp - Math.min(nbf ?? now, iat ?? now, now) > max + clockTolerance)
      throw invalid(`The access token is valid for longer than ${max} s (SVC_ACCESS_TOKEN_MAX_TTL)`);
  }

  #verifierOf(token: string): Verifier {
    const verifiers = this.#current();
    if (verifiers.size === 0) throw invalid('This node accepts no access tokens: it has no access keys (SVC_ACCESS_KEYS)');
    const verifier = verifiers.get(issuerOf(token));
    if (!verifier) throw invalid('The access token names an unknown access key in iss');
    return verifier;
  }

  #current(): Map<string, Verifier> {
    const keys = this.#options.keys();
    if (keys !== this.#source) {
      this.#source = keys;
      this.#verifiers = new Map(keys.map((key) => [key.id, verifierOf(key)]));
    }
    return this.#verifiers;
  }
}

function verifierOf(key: AccessKey): Verifier {
  const { secret, publicKey } = key;
  if (publicKey === undefined) return { key, material: createSecretKey(secret ?? '', 'utf8'), algorithms: ['HS256'] };
  const algorithm = publicKeyAlgorithm(publicKey);
  // RFC 9864 names EdDSA with this curve Ed25519.
  return { key, material: createPublicKey(publicKey), algorithms: algorithm === 'EdDSA' ? ['EdDSA', 'Ed25519'] : ['ES256'] };
}

/** True if a token names the key of a backend, as access tokens do and peer tokens do not. Not verified. */
export function isAccessToken(token: string): boolean {
  try {
    return decodeJwt(token).iss !== undefined;
  } catch {
    return false;
  }
}

/** Not verified: it only selects the key. */
function issuerOf(token: string): string {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : '';
  } catch {
    throw invalid('The access token is not a JWT');
  }
}

function rejectionOf(error: unknown, { key, algorithms }: Verifier): ServiceError {
  if (error instanceof errors.JWTExpired) return invalid('The access token has expired');
  if (error instanceof errors.JWSSignatureVerificationFailed) return invalid(`The access token is not signed by the access key ${key.id}`);
  if (error instanceof errors.JOSEAlgNotAllowed) return invalid(`The access key ${key.id} requires tokens signed with ${algorithms[0]}`);
  if (error instanceof errors.JWTClaimValidationFailed)
    return invalid(
      error.claim === 'nbf' && error.reason === 'check_failed'
        ? 'The access token is not valid yet'
        : `The claim ${error.claim} of the access token is missing or invalid`,
    );
  return invalid('The access token is not a JWT');
}

function invalid(message: string): ServiceError {
  return new ServiceError('invalid_token', message);
}
