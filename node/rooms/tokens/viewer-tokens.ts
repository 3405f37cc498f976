// Viewer tokens: authorize playback of the streams of a room, live and stored, until they expire.
import { z } from 'zod';
import { SigningKeys } from './signing-keys.ts';

/** `expiresAt`: milliseconds since 1970. */
export type ViewerClaims = { roomId: string; expiresAt: number };

const claimsSchema = z.object({ room: z.string(), exp: z.number() });
/** Maximum number of cached valid tokens: a player sends its token several times per second. */
const maxKnown = 10_000;

export class ViewerTokens {
  readonly #keys: SigningKeys;
  readonly #known = new Map<string, ViewerClaims>();

  /** SVC_SECRET_KEY_BASE: the first signs, all verify; without one, tokens are valid on this node only. */
  constructor(secrets: readonly string[]) {
    this.#keys = new SigningKeys('viewer', secrets);
  }

  /** Replaces the secrets. */
  replace(secrets: readonly string[]): void {
    this.#keys.replace(secrets);
    this.#known.clear();
  }

  /** `lifetime` in seconds. */
  sign(roomId: string, lifetime: number): Promise<string> {
    return this.#keys.sign({ room: roomId }, lifetime);
  }

  /** @returns undefined if the token is not valid */
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
