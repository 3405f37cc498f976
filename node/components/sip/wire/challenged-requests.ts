// Challenged requests: detects retransmissions of a challenge, which SIP.js would treat as the response to its repeated request.
import type { MessageKey } from './retransmissions.ts';

/** The oldest are dropped: a response is retransmitted for at most 32 seconds (RFC 3261, section 17). */
const maxKept = 256;

export class ChallengedRequests {
  /** By request; the value acknowledges the challenge again, for INVITE. */
  readonly #kept = new Map<string, (() => void) | undefined>();

  /** @returns true if the response repeats a handled challenge: it is acknowledged again if necessary, and must be dropped */
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

  /** Called for every sent request. `send`: sends it again. */
  onRequest({ method, branch }: MessageKey, send: () => void): void {
    const key = keyOf({ method: 'INVITE', branch });
    if (method === 'ACK' && this.#kept.has(key)) this.#kept.set(key, send);
  }
}

function keyOf({ method, branch }: Pick<MessageKey, 'method' | 'branch'>): string {
  return `${method} ${branch}`;
}
