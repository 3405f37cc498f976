// Retransmission over UDP (RFC 3261, section 17: timers A, E and G), which SIP.js leaves to its transport.
import { Timer } from '../../../common/timer.ts';

const t1 = 500;
const t2 = 4000;
/** Milliseconds after which a transaction has ended (64 * T1). */
const lifetime = 64 * t1;
const maxRunning = 2000;

type Running = { timer: Timer | undefined; interval: number; left: number };

export class Retransmissions {
  readonly #running = new Map<string, Running>();

  get size(): number {
    return this.#running.size;
  }

  /** The caller sends first; then repeats until stop(). `capped`: intervals are at most T2. */
  start(key: string, send: () => void, capped: boolean): void {
    this.stop(key);
    if (this.#running.size >= maxRunning) return;
    const running: Running = { timer: undefined, interval: t1, left: lifetime };
    this.#running.set(key, running);
    this.#arm(key, send, capped, running);
  }

  stop(key: string): void {
    this.#running.get(key)?.timer?.stop();
    this.#running.delete(key);
  }

  stopAll(): void {
    for (const key of [...this.#running.keys()]) this.stop(key);
  }

  #arm(key: string, send: () => void, capped: boolean, running: Running): void {
    const delay = Math.min(running.interval, running.left);
    running.timer = new Timer(delay, () => {
      running.left -= delay;
      if (running.left <= 0) {
        this.#running.delete(key);
        return;
      }
      send();
      running.interval = capped ? Math.min(running.interval * 2, t2) : running.interval * 2;
      this.#arm(key, send, capped, running);
    });
  }
}

export type MessageKey = { method: string; status: number | undefined; branch: string };

/** Key of the retransmission of a sent message, if it is retransmitted. */
export function retransmissionKey({ method, status, branch }: MessageKey): { key: string; capped: boolean } | undefined {
  if (status === undefined) return method === 'ACK' ? undefined : { key: `request ${branch} ${method}`, capped: method !== 'INVITE' };
  // The dialog retransmits 2xx responses (section 13.3.1.4).
  return method === 'INVITE' && status >= 300 ? { key: `answer ${branch}`, capped: true } : undefined;
}

/** Key of the retransmission that this received message ends. */
export function stopsRetransmissionOf({ method, status, branch }: MessageKey): string | undefined {
  if (status === undefined) return method === 'ACK' ? `answer ${branch}` : undefined;
  // A provisional response to other methods would only slow down retransmission (section 17.1.2.2), which is not implemented.
  return status >= 200 || method === 'INVITE' ? `request ${branch} ${method}` : undefined;
}
