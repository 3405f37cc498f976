// Tokens of peers: JSON Web Tokens (RFC 7519) signed with HS256 by keys that HKDF (RFC 5869) makes of the secret key base.
import { createHash, hkdfSync, randomBytes } from 'node:crypto';
import { decodeJwt, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { isValidId } from './ids.ts';

/** Lifetime of a peer token in seconds. */
export const peerTokenLifetime = 24 * 60 * 60;

export type PeerClaims = { roomId: string; peerId: string; expiresAt: number };
type Key = { id: string; secret: Uint8Array };

const claimsSchema = z.object({ room: z.string(), peer: z.string(), exp: z.number() });

/** Signs with the first secret, verifies with all. A secret is one of SVC_SECRET_KEY_BASE, for one purpose, e.g. `peer`. */
export class TokenKeys {
  readonly #purpose: string;
  #keys: Key[] = [];

  constructor(purpose: string, secrets: readonly string[]) {
    this.#purpose = purpose;
    this.replace(secrets);
  }

  /** Takes other secrets from now on; without any, one that nobody else has. */
  replace(secrets: readonly string[]): void {
    const sources = secrets.length > 0 ? secrets : this.#keys.length > 0 ? undefined : [randomBytes(48).toString('base64')];
    if (sources) this.#keys = sources.map((secret) => deriveKey(secret, this.#purpose));
  }

  /** A token for the peer, good for `lifetime` seconds on every node with the same secret. */
  async sign(claims: { roomId: string; peerId: string }, lifetime: number = peerTokenLifetime): Promise<string> {
    const key = this.#keys[0];
    if (!key) throw new Error('no signing key');
    const now = Math.floor(Date.now() / 1000);
    return new SignJWT({ room: claims.roomId, peer: claims.peerId })
      .setProtectedHeader({ alg: 'HS256', kid: key.id, typ: this.#purpose })
      .setJti(randomBytes(9).toString('base64url'))
      .setIssuedAt(now)
      .setExpirationTime(now + lifetime)
      .sign(key.secret);
  }

  /** What a good token says; undefined for every other text. `expiresAt` in milliseconds since 1970. */
  async verify(token: string): Promise<PeerClaims | undefined> {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => this.#find(kid), { algorithms: ['HS256'], typ: this.#purpose });
      const claims = claimsSchema.parse(payload);
      return { roomId: claims.room, peerId: claims.peer, expiresAt: claims.exp * 1000 };
    } catch {
      return undefined;
    }
  }

  #find(id: string | undefined): Uint8Array {
    const key = this.#keys.find((each) => each.id === id);
    if (!key) throw new Error('unknown key');
    return key.secret;
  }
}

/**
 * The room that a token names, unproven: enough to find the node that owns the room, which verifies it. Without a common
 * SVC_SECRET_KEY_BASE no other node can.
 */
export function roomOfUnverified(token: string): string | undefined {
  try {
    const { room } = claimsSchema.parse(decodeJwt(token));
    return isValidId(room) ? room : undefined;
  } catch {
    return undefined;
  }
}

/** The key of one purpose and its public name (the start of its own hash). */
export function deriveKey(secret: string, purpose: string): Key {
  const bytes = new Uint8Array(hkdfSync('sha256', secret, 'mediarooms', purpose, 32));
  return { id: createHash('sha256').update(bytes).digest('base64url').slice(0, 11), secret: bytes };
}
