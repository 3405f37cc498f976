// Token renewal: renews the token of a peer before it expires, so that a client can reconnect even after days.
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';

/** Minimum time before expiry in milliseconds, for tokens with a long validity. */
const margin = 10 * 60 * 1000;
/** Delay between attempts in milliseconds, if signing failed or tokens have a very short validity. */
const minDelayMs = 1_000;

/** Milliseconds until a token with this remaining validity is renewed: at 80 % of it or 10 minutes before its end, whichever is later. */
export function renewalDelay(remaining: number): number {
  return Math.max(minDelayMs, remaining * 0.8, remaining - margin);
}

/** `expiresAt`: milliseconds since 1970. */
export type RenewedToken = { token: string; expiresAt: number };
export type TokenRenewalOptions = {
  log: Log;
  /** Resolves with undefined if the token cannot be renewed, which is final. */
  renew: () => Promise<RenewedToken | undefined>;
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

  /** Restarts with the expiry of the current token of the peer. */
  schedule(expiresAt: number): void {
    this.#timer?.stop();
    if (this.#stopped) return;
    this.#timer = new Timer(renewalDelay(expiresAt - Date.now()), () => void this.#renew(expiresAt));
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.stop();
  }

  async #renew(expiresAt: number): Promise<void> {
    const { renew, renewed, log } = this.#options;
    try {
      const next = await renew();
      if (this.#stopped || !next) return;
      renewed(next.token);
      this.schedule(next.expiresAt);
    } catch (error) {
      log.error({ err: error }, 'could not renew peer token');
      if (expiresAt > Date.now()) this.schedule(expiresAt);
    }
  }
}
