// Traffic meter: bytes sent and received over WebRTC transports, read on request and once before a transport closes.
import { withTimeout } from './timeout.ts';

/**
 * Bytes since the start, as payload of UDP and TCP: RTP, RTCP and DTLS with their headers. Of STUN only the responses, because the worker
 * does not count received requests. Never decreases.
 */
export type MediaTraffic = { received: number; sent: number };

/** The used part of a transport. */
export type MeteredTransport = { getStats(): Promise<readonly { bytesReceived: number; bytesSent: number }[]> };
/** Last counted values of a transport: totals grow by the difference. */
type Reading = MediaTraffic & { group: object };

/** Timeout of a reading of all transports, in milliseconds; late values count next time. */
const readTimeoutMs = 2000;

export class TrafficMeter {
  readonly #total: MediaTraffic = { received: 0, sent: 0 };
  readonly #living = new Map<MeteredTransport, Reading>();
  /** Open transports by group (closed together). */
  readonly #groups = new Map<object, Set<MeteredTransport>>();
  /** Final readings of closed transports. */
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

  /** Call it right before the transport is closed: the worker answers in order, so this reading is the last one. Idempotent. */
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

  /** Calls leave() for all transports of a group. */
  leaveAll(group: object): void {
    for (const transport of [...(this.#groups.get(group) ?? [])]) this.leave(transport);
  }

  /** Current totals; after the timeout the last known ones. Never rejects. */
  async read(): Promise<MediaTraffic> {
    const readings = [...this.#living].map(([transport, reading]) => this.#read(transport, reading));
    // An unresponsive worker is detected elsewhere.
    await withTimeout(Promise.all([...readings, ...this.#last]), 'traffic', undefined, this.#deadline).catch(() => {});
    return { ...this.#total };
  }

  async #read(transport: MeteredTransport, reading: Reading): Promise<void> {
    try {
      const [stat] = await transport.getStats();
      if (!stat) return;
      // Responses to two readings of one transport may be processed in any order.
      const received = Math.max(stat.bytesReceived, reading.received);
      const sent = Math.max(stat.bytesSent, reading.sent);
      this.#total.received += received - reading.received;
      this.#total.sent += sent - reading.sent;
      reading.received = received;
      reading.sent = sent;
    } catch {
      // The worker died; bytes since the last reading are lost.
    }
  }
}
