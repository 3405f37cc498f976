// Bytes that clients sent and got over transports: read from the worker when asked for, and once more right before a transport ends.
import { withTimeout } from './timeout.ts';

/**
 * Bytes since the start, as payload of UDP and TCP: RTP, RTCP and DTLS with their headers; of STUN, which the worker does not count as
 * received, the answers. Never less than before.
 */
export type MediaTraffic = { received: number; sent: number };

/** What is asked of a transport. */
export type MeteredTransport = { getStats(): Promise<readonly { bytesReceived: number; bytesSent: number }[]> };
/** What was counted of a transport so far: a total grows by the difference. */
type Reading = MediaTraffic & { group: object };

/** Longest that a reading of all transports may take, in milliseconds; what is not there by then counts the next time. */
const readTimeoutMs = 2000;

export class TrafficMeter {
  readonly #total: MediaTraffic = { received: 0, sent: 0 };
  readonly #living = new Map<MeteredTransport, Reading>();
  /** Transports that live, by what they end with. */
  readonly #groups = new Map<object, Set<MeteredTransport>>();
  /** Last readings of transports that are over. */
  readonly #last = new Set<Promise<void>>();
  readonly #deadline: number;

  constructor(deadline: number = readTimeoutMs) {
    this.#deadline = deadline;
  }

  add(transport: MeteredTransport, group: object): void {
    this.#living.set(transport, { received: 0, sent: 0, group });
    const transports = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, transports.add(transport));
  }

  /** To be called right before the transport is closed: the worker answers in order, so this reading is its last. Idempotent. */
  leave(transport: MeteredTransport): void {
    const reading = this.#living.get(transport);
    if (!reading) return;
    this.#living.delete(transport);
    const transports = this.#groups.get(reading.group);
    transports?.delete(transport);
    if (transports?.size === 0) this.#groups.delete(reading.group);
    const last = this.#read(transport, reading).finally(() => this.#last.delete(last));
    this.#last.add(last);
  }

  /** leave() for all of a group. */
  leaveAll(group: object): void {
    for (const transport of [...(this.#groups.get(group) ?? [])]) this.leave(transport);
  }

  /** True at this moment; after the deadline without an answer what is known. Never rejects. */
  async read(): Promise<MediaTraffic> {
    const readings = [...this.#living].map(([transport, reading]) => this.#read(transport, reading));
    // A worker that does not answer is found out by those who need something of it.
    await withTimeout(Promise.all([...readings, ...this.#last]), 'traffic', undefined, this.#deadline).catch(() => {});
    return { ...this.#total };
  }

  async #read(transport: MeteredTransport, reading: Reading): Promise<void> {
    try {
      const [stat] = await transport.getStats();
      if (!stat) return;
      // Answers to two readings of one transport may be seen in any order.
      const received = Math.max(stat.bytesReceived, reading.received);
      const sent = Math.max(stat.bytesSent, reading.sent);
      this.#total.received += received - reading.received;
      this.#total.sent += sent - reading.sent;
      reading.received = received;
      reading.sent = sent;
    } catch {
      // The worker died, and with it what it counted since the last reading.
    }
  }
}
