// Session timer (RFC 4028): ends a call whose remote party vanished without BYE. It refreshes by re-INVITE, because SIP.js has no UPDATE.
import { Timer } from '../../../common/timer.ts';

/** Seconds; sections 4 and 5. */
const sessionExpires = 1800;
export const minSe = 90;
const maxSessionExpires = 86_400;

export type Refresher = 'local' | 'remote';
export type SessionTimerParams = { /** Seconds. */ seconds: number; refresher: Refresher };

type SessionExpires = { seconds: number; refresher: 'uac' | 'uas' | undefined };

function parseSessionExpires(value: string | undefined): SessionExpires | undefined {
  const match = /^(\d{1,9})\s*(;.*)?$/.exec(value?.trim() ?? '');
  if (!match) return undefined;
  const refresher = /;\s*refresher\s*=\s*(uac|uas)\b/i.exec(match[2] ?? '')?.[1]?.toLowerCase();
  const seconds = Math.min(Number(match[1]), maxSessionExpires);
  return { seconds, refresher: refresher === 'uac' || refresher === 'uas' ? refresher : undefined };
}

/** Headers of an INVITE. `seconds`: interval that an earlier response requested. */
export function requestSessionTimer(seconds = sessionExpires, least = minSe): string[] {
  return [`Session-Expires: ${Math.max(seconds, least)}`, `Min-SE: ${least}`];
}

/** Parameters in the response to an INVITE; undefined if the remote party uses no session timer. */
export function parseSessionTimerResponse(value: string | undefined): SessionTimerParams | undefined {
  const parsed = parseSessionExpires(value);
  if (!parsed || parsed.seconds < minSe) return undefined;
  return { seconds: parsed.seconds, refresher: parsed.refresher === 'uas' ? 'remote' : 'local' };
}

export type SessionTimerHeaders = { sessionExpires: string | undefined; supported: string | undefined };

/** Response to an INVITE (section 9). `tooShort`: reject it with 422. */
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

/**
 * Milliseconds until a failed refresh is retried; doubles with each retry. Both sides may have sent one at once (RFC 3261, section 14.1).
 */
const firstRetry = 4000;

export type SessionTimerOptions = {
  /** A refresh is due; called again until set() is called. */
  onRefresh: () => void;
  /** The session was not refreshed in time. */
  onExpired: () => void;
};

export class SessionTimer {
  readonly #options: SessionTimerOptions;
  #refresh: Timer | undefined;
  #expiry: Timer | undefined;

  constructor(options: SessionTimerOptions) {
    this.#options = options;
  }

  /** Restarts the timer; undefined stops it. */
  set(expiry: SessionTimerParams | undefined): void {
    this.stop();
    if (!expiry) return;
    const { seconds, refresher } = expiry;
    if (refresher === 'local') this.#refreshIn(seconds * 500, firstRetry);
    // Section 10: some time before the session expires at the remote party.
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
