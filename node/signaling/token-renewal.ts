// A peer's token is renewed before it expires, so that a client that was here for days can still come back.
import type { Log } from '../common/log.ts';
import { Timer } from '../common/timer.ts';
import type { PeerClaims } from '../rooms/tokens/peer-tokens.ts';

/** Least time before the expiry, in milliseconds, for tokens that live long enough. */
const margin = 10 * 60 * 1000;
/** Between attempts, in milliseconds, where signing failed or tokens live very short. */
const minDelayMs = 1_000;

/** Milliseconds until a token that lives this long should be renewed: at 80 % of it or 10 minutes before its end, whichever is later. */
export function renewalDelay(remaining: number): number {
  return Math.max(minDelayMs, remaining * 0.8, remaining - margin);
}

export type TokenRenewalOptions = {
  log: Log;
  signToken: (peer: { roomId: string; peerId: string }) => Promise<string>;
  verifyToken: (token: string) => Promise<PeerClaims | undefined>;
  renewed: (token: string) => void;
};

/** Owns one timer; stop() ends it for good. */
export class TokenRenewal {
  readonly #options: TokenRenewalOptions;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(options: TokenRenewalOptions) {
    this.#options = options;
  }

  /** Starts anew with the token that the peer holds now. */
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
      log.error({ err: error }, 'could not renew a peer token');
      if (claims.expiresAt > Date.now()) this.schedule(claims);
    }
  }
}
