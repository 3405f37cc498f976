// Event log: events of local rooms in order, passed to listeners and kept for clients that reconnect.
import { randomBytes } from 'node:crypto';
import type { RoomEvent } from '../../api/events.ts';
import type { Log } from '../common/log.ts';
import type { EventCursor, EventFeed, EventPage, SourcedEvent, SourcedEventListener } from '../rooms/event-feed.ts';

export type EventLogOptions = {
  /** Name of this node. */
  node: string;
  /** Maximum number of kept events. */
  capacity?: number;
  /** Maximum total bytes of JSON of the kept events. */
  bytes?: number;
};

/** A page has at most this many events and, from the second one on, bytes of JSON. */
const pageEvents = 500;
const pageBytes = 256 * 1024;

export class EventLog implements EventFeed {
  readonly source: string;
  readonly #log: Log;
  readonly #capacity: number;
  readonly #maxBytes: number;
  readonly #listeners = new Set<SourcedEventListener>();
  /** By index, oldest first. */
  readonly #kept = new Map<number, { sourced: SourcedEvent; bytes: number }>();
  #bytes = 0;
  #last = 0;

  constructor(log: Log, options: EventLogOptions) {
    this.#log = log;
    this.source = `${options.node}#${randomBytes(9).toString('base64url')}`;
    this.#capacity = options.capacity ?? 10_000;
    this.#maxBytes = options.bytes ?? 64 * 1024 * 1024;
  }

  /** Index of the newest event, 0 before the first. */
  get last(): number {
    return this.#last;
  }

  /** @returns a function that ends the subscription. */
  subscribe(listener: SourcedEventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** A listener that throws is logged, and the others still receive the event. */
  publish(event: RoomEvent): void {
    this.#last += 1;
    const sourced: SourcedEvent = { source: this.source, index: this.#last, event };
    this.#keep(sourced);
    for (const listener of this.#listeners) {
      try {
        listener(sourced);
      } catch (error) {
        this.#log.error({ err: error, event: event.type }, 'event listener failed');
      }
    }
  }

  cursor(): EventCursor {
    return { [this.source]: this.#last };
  }

  async since(source: string, index: number, limit?: number): Promise<EventPage | undefined> {
    return source === this.source ? this.after(index, limit) : undefined;
  }

  /** A page of events after this index. */
  after(index: number, limit: number = pageEvents): EventPage {
    const oldest = this.#last - this.#kept.size + 1;
    // An index that was never assigned belongs to another log: any event may be missing.
    const missing = index + 1 < oldest || index > this.#last;
    const from = index > this.#last ? oldest - 1 : Math.max(index, oldest - 1);
    const events: SourcedEvent[] = [];
    let bytes = 0;
    for (
      let next = this.#kept.get(from + 1);
      next && events.length < Math.min(limit, pageEvents);
      next = this.#kept.get(next.sourced.index + 1)
    ) {
      bytes += next.bytes;
      if (bytes > pageBytes && events.length > 0) break;
      events.push(next.sourced);
    }
    return { from, upTo: from + events.length, events, last: this.#last, missing };
  }

  #keep(sourced: SourcedEvent): void {
    const bytes = Buffer.byteLength(JSON.stringify(sourced.event));
    this.#kept.set(sourced.index, { sourced, bytes });
    this.#bytes += bytes;
    for (const [index, kept] of this.#kept) {
      if (this.#kept.size <= this.#capacity && this.#bytes <= this.#maxBytes) break;
      this.#kept.delete(index);
      this.#bytes -= kept.bytes;
    }
  }
}
