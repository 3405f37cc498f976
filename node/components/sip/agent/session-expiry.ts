// Session timers (RFC 4028): a call whose other end is gone without a word comes to its end. Refreshed by re-INVITE, as SIP.js has no UPDATE.
import { Timer } from '../../../timer.ts';

/** Seconds; sections 4 and 5. */
export const ownExpiry = 1800;
export const leastExpiry = 90;
const longestExpiry = 86_400;

export type Refresher = 'us' | 'them';
export type SessionExpiry = { /** Seconds. */ seconds: number; refresher: Refresher };

type SessionExpires = { seconds: number; refresher: 'uac' | 'uas' | undefined };

export function parseSessionExpires(value: string | undefined): SessionExpires | undefined {
  const match = /^(\d{1,9})\s*(;.*)?$/.exec(value?.trim() ?? '');
  if (!match) return undefined;
  const refresher = /;\s*refresher\s*=\s*(uac|uas)\b/i.exec(match[2] ?? '')?.[1]?.toLowerCase();
  const seconds = Math.min(Number(match[1]), longestExpiry);
  return { seconds, refresher: refresher === 'uac' || refresher === 'uas' ? refresher : undefined };
}

/** Headers of an INVITE. `seconds`: as another answer asked for. */
export function offerExpiry(seconds = ownExpiry, least = leastExpiry): string[] {
  return [`Session-Expires: ${Math.max(seconds, least)}`, `Min-SE: ${least}`];
}

/** Of the answer to our INVITE: undefined where the far side wants none. */
export function expiryOfAnswer(value: string | undefined): SessionExpiry | undefined {
  const parsed = parseSessionExpires(value);
  if (!parsed || parsed.seconds < leastExpiry) return undefined;
  return { seconds: parsed.seconds, refresher: parsed.refresher === 'uas' ? 'them' : 'us' };
}

export type ExpiryHeaders = { sessionExpires: string | undefined; supported: string | undefined };

/** For the answer to an INVITE (section 9). `tooShort`: it is to be refused with 422. */
export function answerExpiry({
  sessionExpires,
  supported,
}: ExpiryHeaders): { expiry: SessionExpiry; headers: string[] } | 'tooShort' | undefined {
  const parsed = parseSessionExpires(sessionExpires);
  if (!parsed) return undefined;
  if (parsed.seconds < leastExpiry) return 'tooShort';
  const theyCan = /(^|[\s,])timer([\s,]|$)/i.test(supported ?? '');
  const refresher = !theyCan || parsed.refresher === 'uas' ? 'us' : 'them';
  const named = refresher === 'us' ? 'uas' : 'uac';
  return {
    expiry: { seconds: parsed.seconds, refresher },
    headers: [`Session-Expires: ${parsed.seconds};refresher=${named}`, ...(theyCan ? ['Require: timer'] : [])],
  };
}

/** Milliseconds after which a refresh that brought nothing is made again, each time after twice as many: both sides may have begun one at once (RFC 3261, section 14.1). */
const firstRetry = 4000;

export type ExpiryTimerOptions = {
  /** Time to refresh it; again and again where set() does not follow. */
  onRefresh: () => void;
  /** Nobody has refreshed it. */
  onExpired: () => void;
};

export class ExpiryTimer {
  readonly #options: ExpiryTimerOptions;
  #refresh: Timer | undefined;
  #expiry: Timer | undefined;

  constructor(options: ExpiryTimerOptions) {
    this.#options = options;
  }

  /** Counts from now; undefined: there is none any more. */
  set(expiry: SessionExpiry | undefined): void {
    this.stop();
    if (!expiry) return;
    const { seconds, refresher } = expiry;
    if (refresher === 'us') this.#refreshIn(seconds * 500, firstRetry);
    // Section 10: a little before the far side takes it for over.
    this.#expiry = new Timer((seconds - Math.min(32, seconds / 3)) * 1000, () => {
      this.stop();
      this.#options.onExpired();
    });
  }

  stop(): void {
    this.#refresh?.stop();
    this.#expiry?.stop();
  }

  #refreshIn(delay: number, retry: number): void {
    this.#refresh = new Timer(delay, () => {
      this.#refreshIn(retry, retry * 2);
      this.#options.onRefresh();
    });
  }
}
