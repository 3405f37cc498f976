// Signing keys: JSON Web Tokens (RFC 7519) of one purpose, signed with HS256 by keys derived from the secret key base with HKDF (RFC 5869).
import { createHash, createSecretKey, hkdfSync, randomBytes, type webcrypto } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';

type Key = { id: string; secret: Uint8Array };
type ImportedKey = { id: string; key: webcrypto.CryptoKey };

/** Signs with the first secret, verifies with all. Each secret of SVC_SECRET_KEY_BASE gives one key per purpose, for example `peer`. */
export class SigningKeys {
  readonly #purpose: string;
  #keys: ImportedKey[] = [];

  constructor(purpose: string, secrets: readonly string[]) {
    this.#purpose = purpose;
    this.replace(secrets);
  }

  /** Replaces the secrets; an empty list keeps the current keys, or initially creates a random one. */
  replace(secrets: readonly string[]): void {
    const sources = secrets.length > 0 ? secrets : this.#keys.length > 0 ? undefined : [randomBytes(48).toString('base64')];
    if (sources) this.#keys = sources.map((secret) => imported(deriveKey(secret, this.#purpose)));
  }

  /** A token with these claims, valid for `lifetime` seconds on every node with the same secret. */
  async sign(claims: Record<string, string>, lifetime: number): Promise<string> {
    const key = this.#keys[0];
    if (!key) throw new Error('no signing key');
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT(claims)
      .setProtectedHeader({ alg: 'HS256', kid: key.id, typ: this.#purpose })
      .setJti(randomBytes(9).toString('base64url'))
      .setIssuedAt(now)
      .setExpirationTime(now + lifetime)
      .sign(key.key);
  }

  /** The claims of a valid token. @throws Error for any other text */
  async verify(token: string): Promise<unknown> {
    const { payload } = await jwtVerify(token, ({ kid }) => this.#find(kid), { algorithms: ['HS256'], typ: this.#purpose });
    return payload;
  }

  #find(id: string | undefined): webcrypto.CryptoKey {
    const key = this.#keys.find((each) => each.id === id);
    if (!key) throw new Error('unknown key');
    return key.key;
  }
}

/** The key of one purpose and its public id (the start of its hash). */
export function deriveKey(secret: string, purpose: string): Key {
  const bytes = new Uint8Array(hkdfSync('sha256', secret, 'mediarooms', purpose, 32));
  return { id: createHash('sha256').update(bytes).digest('base64url').slice(0, 11), secret: bytes };
}

/** Imported once: jose would import the bytes again for each token. */
function imported({ id, secret }: Key): ImportedKey {
  const key = createSecretKey(secret).toCryptoKey({ name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
  return { id, key };
}
