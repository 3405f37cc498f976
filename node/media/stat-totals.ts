// Stat totals: sums counters of mediasoup over all subjects since the start, read on request and once before a subject closes.
import { withTimeout } from './timeout.ts';

/** The used part of a transport, producer or consumer. */
export type Counted<Field extends string> = { getStats(): Promise<readonly Partial<Record<Field, number>>[]> };
/** Last counted values of a subject: totals grow by the difference. */
type Reading<Field extends string> = { values: Map<Field, number>; group: object };

/** Timeout of a reading of all subjects, in milliseconds; late values count next time. */
const readTimeoutMs = 2000;

/** Totals never decrease. */
export class StatTotals<Field extends string> {
  readonly #fields: readonly Field[];
  readonly #total = new Map<Field, number>();
  readonly #living = new Map<Counted<Field>, Reading<Field>>();
  /** Open subjects by group (closed together). */
  readonly #groups = new Map<object, Set<Counted<Field>>>();
  /** Final readings of closed subjects. */
  readonly #last = new Set<Promise<void>>();
  readonly #deadline: number;

  constructor(fields: readonly Field[], deadline: number = readTimeoutMs) {
    this.#fields = fields;
    this.#deadline = deadline;
  }

  /** Number of open subjects. */
  get size(): number {
    return this.#living.size;
  }

  add(subject: Counted<Field>, group: object): void {
    this.#living.set(subject, { values: new Map(), group });
    const subjects = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, subjects.add(subject));
  }

  /** Call it right before the subject is closed: the worker answers in order, so this reading is the last one. Idempotent. */
  leave(subject: Counted<Field>): void {
    const reading = this.#living.get(subject);
    if (!reading) return;
    this.#living.delete(subject);
    const subjects = this.#groups.get(reading.group);
    subjects?.delete(subject);
    if (subjects?.size === 0) this.#groups.delete(reading.group);
    const last = this.#read(subject, reading).finally(() => this.#last.delete(last));
    this.#last.add(last);
  }

  /** Calls leave() for all subjects of a group. */
  leaveAll(group: object): void {
    for (const subject of [...(this.#groups.get(group) ?? [])]) this.leave(subject);
  }

  /** Current totals; after the timeout the last known ones. Never rejects. */
  async read(): Promise<Record<Field, number>> {
    const readings = [...this.#living].map(([subject, reading]) => this.#read(subject, reading));
    // An unresponsive worker is detected elsewhere.
    await withTimeout(Promise.all([...readings, ...this.#last]), 'statistics', undefined, this.#deadline).catch(() => {});
    return Object.fromEntries(this.#fields.map((field) => [field, this.#total.get(field) ?? 0])) as Record<Field, number>;
  }

  async #read(subject: Counted<Field>, { values }: Reading<Field>): Promise<void> {
    try {
      const stats = await subject.getStats();
      for (const field of this.#fields) {
        const before = values.get(field) ?? 0;
        // Responses to two readings of one subject may be processed in any order.
        const now = Math.max(
          before,
          stats.reduce((sum, stat) => sum + (stat[field] ?? 0), 0),
        );
        this.#total.set(field, (this.#total.get(field) ?? 0) + now - before);
        values.set(field, now);
      }
    } catch {
      // The worker died; what it counted since the last reading is lost.
    }
  }
}

/**
 * Bytes over WebRTC transports, as payload of UDP and TCP: RTP, RTCP and DTLS with their headers. Of STUN only the responses, because the
 * worker does not count received requests.
 */
export type PeerTraffic = StatTotals<'bytesReceived' | 'bytesSent'>;
