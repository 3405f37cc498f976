// Tokens of viewers: whoever has one may play what a room streams and what was kept of its streams, until it expires.
import { z } from 'zod';
import { SigningKeys } from './signing-keys.ts';

/** `expiresAt`: milliseconds since 1970. */
export type ViewerClaims = { roomId: string; expiresAt: number };

const claimsSchema = z.object({ room: z.string(), exp: z.number() });
/** Tokens that are known to be good: a player shows its own several times a second. */
const maxKnown = 10_000;

export class ViewerTokens {
  readonly #keys: SigningKeys;
  readonly #known = new Map<string, ViewerClaims>();

  /** SVC_SECRET_KEY_BASE: the first signs, all verify; without one, tokens are good on this node alone. */
  constructor(secrets: readonly string[]) {
    this.#keys = new SigningKeys('viewer', secrets);
  }

  /** Takes other secrets from now on. */
  replace(secrets: readonly string[]): void {
    this.#keys.replace(secrets);
    this.#known.clear();
  }

  /** `lifetime` in seconds. */
  sign(roomId: string, lifetime: number): Promise<string> {
    return this.#keys.sign({ room: roomId }, lifetime);
  }

  /** @returns undefined for everything but a good token */
  async verify(token: string): Promise<ViewerClaims | undefined> {
    const claims = this.#known.get(token) ?? (await this.#read(token));
    return claims && claims.expiresAt > Date.now() ? claims : undefined;
  }

  async #read(token: string): Promise<ViewerClaims | undefined> {
    try {
      const { room, exp } = claimsSchema.parse(await this.#keys.verify(token));
      const claims = { roomId: room, expiresAt: exp * 1000 };
      if (this.#known.size >= maxKnown) this.#known.delete(this.#known.keys().next().value ?? '');
      this.#known.set(token, claims);
      return claims;
    } catch {
      return undefined;
    }
  }
}
