// Requests that were challenged: SIP.js asks again in their place, and would take a late repetition of the challenge for an answer to that.
import type { MessageKey } from './retransmissions.ts';

/** The oldest are forgotten: nobody repeats an answer for longer than 32 seconds (RFC 3261, section 17). */
const maxKept = 256;

export class ChallengedRequests {
  /** By request; with what acknowledges the challenge again, for INVITE. */
  readonly #kept = new Map<string, (() => void) | undefined>();

  /** Takes an answer. @returns whether it is a challenge that was taken before: it is acknowledged again, where that is due, and to be dropped */
  isRepeated(messageKey: MessageKey): boolean {
    if (messageKey.status !== 401 && messageKey.status !== 407) return false;
    const key = keyOf(messageKey);
    if (this.#kept.has(key)) {
      this.#kept.get(key)?.();
      return true;
    }
    this.#kept.set(key, undefined);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxKept && oldest !== undefined) this.#kept.delete(oldest);
    return false;
  }

  /** Is told of every request that goes out. `send`: sends it again. */
  onRequest({ method, branch }: MessageKey, send: () => void): void {
    const key = keyOf({ method: 'INVITE', branch });
    if (method === 'ACK' && this.#kept.has(key)) this.#kept.set(key, send);
  }
}

function keyOf({ method, branch }: Pick<MessageKey, 'method' | 'branch'>): string {
  return `${method} ${branch}`;
}
