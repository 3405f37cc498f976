// Token renewal: renews the token of a peer before it expires, so that a client can reconnect even after days.
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import type { PeerClaims } from '../rooms/tokens/peer-tokens.ts';

/** Minimum time before expiry in milliseconds, for tokens with a long validity. */
const margin = 10 * 60 * 1000;
/** Delay between attempts in milliseconds, if signing failed or tokens have a very short validity. */
const minDelayMs = 1_000;

/** Milliseconds until a token with this remaining validity is renewed: at 80 % of it or 10 minutes before its end, whichever is later. */
export function renewalDelay(remaining: number): number {
  return Math.max(minDelayMs, remaining * 0.8, remaining - margin);
}

export type TokenRenewalOptions = {
  log: Log;
  signToken: (peer: { roomId: string; peerId: string }) => Promise<string>;
  verifyToken: (token: string) => Promise<PeerClaims | undefined>;
  renewed: (token: string) => void;
};

/** Owns one timer; stop() is final. */
export class TokenRenewal {
  readonly #options: TokenRenewalOptions;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: TokenRenewalOptions) {
    this.#options = options;
  }

  /** Restarts with the current token of the peer. */
  schedule(claims: PeerClaims): void {
    this.#timer?.stop();
    if (this.#stopped) return;
    this.#timer = new Timer(renewalDelay(claims.expiresAt - Date.now()), () => void this.#renew(claims));
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  async #renew(claims: PeerClaims): Promise<void> {
    const { signToken, verifyToken, renewed, log } = this.#options;
    try {
      const token = await signToken({ roomId: claims.roomId, peerId: claims.peerId });
      const next = await verifyToken(token);
      if (this.#stopped) return;
      renewed(token);
      if (next) this.schedule(next);
    } catch (error) {
      log.error({ err: error }, 'could not renew peer token');
      if (claims.expiresAt > Date.now()) this.schedule(claims);
    }
  }
}
