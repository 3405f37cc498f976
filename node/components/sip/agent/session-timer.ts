// Session timers (RFC 4028): a call whose other end is gone without a word comes to its end. Refreshed by re-INVITE, as SIP.js has no UPDATE.
import { Timer } from '../../../common/timer.ts';

/** Seconds; sections 4 and 5. */
export const sessionExpires = 1800;
export const minSe = 90;
const maxSessionExpires = 86_400;

export type Refresher = 'local' | 'remote';
export type SessionTimerParams = { /** Seconds. */ seconds: number; refresher: Refresher };

type SessionExpires = { seconds: number; refresher: 'uac' | 'uas' | undefined };

export function parseSessionExpires(value: string | undefined): SessionExpires | undefined {
  const match = /^(\d{1,9})\s*(;.*)?$/.exec(value?.trim() ?? '');
  if (!match) return undefined;
  const refresher = /;\s*refresher\s*=\s*(uac|uas)\b/i.exec(match[2] ?? '')?.[1]?.toLowerCase();
  const seconds = Math.min(Number(match[1]), maxSessionExpires);
  return { seconds, refresher: refresher === 'uac' || refresher === 'uas' ? refresher : undefined };
}

/** Headers of an INVITE. `seconds`: as another answer asked for. */
export function requestSessionTimer(seconds = sessionExpires, least = minSe): string[] {
  return [`Session-Expires: ${Math.max(seconds, least)}`, `Min-SE: ${least}`];
}

/** Of the answer to our INVITE: undefined where the far side wants none. */
export function parseSessionTimerResponse(value: string | undefined): SessionTimerParams | undefined {
  const parsed = parseSessionExpires(value);
  if (!parsed || parsed.seconds < minSe) return undefined;
  return { seconds: parsed.seconds, refresher: parsed.refresher === 'uas' ? 'remote' : 'local' };
}

export type SessionTimerHeaders = { sessionExpires: string | undefined; supported: string | undefined };

/** For the answer to an INVITE (section 9). `tooShort`: it is to be refused with 422. */
export function respondSessionTimer({
  sessionExpires,
  supported,
}: SessionTimerHeaders): { expiry: SessionTimerParams; headers: string[] } | 'tooShort' | undefined {
  const parsed = parseSessionExpires(sessionExpires);
  if (!parsed) return undefined;
  if (parsed.seconds < minSe) return 'tooShort';
  const theyCan = /(^|[\s,])timer([\s,]|$)/i.test(supported ?? '');
  const refresher = !theyCan || parsed.refresher === 'uas' ? 'local' : 'remote';
  const named = refresher === 'local' ? 'uas' : 'uac';
  return {
    expiry: { seconds: parsed.seconds, refresher },
    headers: [`Session-Expires: ${parsed.seconds};refresher=${named}`, ...(theyCan ? ['Require: timer'] : [])],
  };
}

/** Milliseconds after which a refresh that brought nothing is made again, each time after twice as many: both sides may have begun one at once (RFC 3261, section 14.1). */
const firstRetry = 4000;

export type SessionTimerOptions = {
  /** Time to refresh it; again and again where set() does not follow. */
  onRefresh: () => void;
  /** Nobody has refreshed it. */
  onExpired: () => void;
};

export class SessionTimer {
  readonly #options: SessionTimerOptions;
  #refresh: Timer | undefined;
  #expiry: Timer | undefined;

  constructor(options: SessionTimerOptions) {
    this.#options = options;
  }

  /** Counts from now; undefined: there is none any more. */
  set(expiry: SessionTimerParams | undefined): void {
    this.stop();
    if (!expiry) return;
    const { seconds, refresher } = expiry;
    if (refresher === 'local') this.#refreshIn(seconds * 500, firstRetry);
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
