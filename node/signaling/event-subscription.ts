// Event subscription of one client: sends missed events first, then live ones, without duplicates and gaps.

import { type EventType, isOfLostRoom } from '../../api/events.ts';
import type { ServerEvent } from '../../api/socket/server.ts';
import type { EventCursor, EventFeed, SourcedEvent } from '../rooms/event-feed.ts';

/** Maximum live events held until the client has received the missed ones. Beyond it the client is too slow. */
const maxHeld = 10_000;
/** Maximum lost sources kept in a cursor: their nodes may only be unreachable. */
const maxLost = 500;

/** Bytes of a frame, serialized once for all clients, and only if a client needs it. */
export class EventFrame {
  readonly sourced: SourcedEvent;
  #bytes: Buffer | undefined;

  constructor(sourced: SourcedEvent) {
    this.sourced = sourced;
  }

  get bytes(): Buffer {
    const { source, index, event } = this.sourced;
    this.#bytes ??= Buffer.from(JSON.stringify({ event: 'roomEvent', source, index, data: event } satisfies ServerEvent));
    return this.#bytes;
  }
}

export type SubscriptionOptions = {
  feed: EventFeed;
  types: ReadonlySet<EventType>;
  /** Undefined: all rooms. */
  rooms: ReadonlySet<string> | undefined;
  send: (frame: Buffer) => void;
  /** True if too much data is buffered to send more of the missed events. */
  busy: () => boolean;
  /** Resolves when most of the buffered data was sent. */
  drained: () => Promise<void>;
  /**
   * The subscription cannot continue. `tooSlow`: the client reads too slowly; `sourceLost`: the queried node was lost. Both may subscribe
   * again.
   */
  failed: (why: 'tooSlow' | 'sourceLost') => void;
};

export type SubscriptionStart = { cursor: EventCursor; incomplete: string[] };

export class EventSubscription {
  readonly #options: SubscriptionOptions;
  /** By source: index of the last event that was sent or filtered out. */
  readonly #position = new Map<string, number>();
  readonly #backlog: { source: string; until: number }[] = [];
  #held: EventFrame[] | undefined;
  #stopped = false;

  constructor(options: SubscriptionOptions) {
    this.#options = options;
  }

  get cursor(): EventCursor {
    const present = this.#options.feed.cursor();
    const lost = [...this.#position].filter(([source]) => present[source] === undefined).slice(-maxLost);
    const here = [...this.#position].filter(([source]) => present[source] !== undefined);
    return Object.fromEntries([...lost, ...here]);
  }

  /** Starts with live events. */
  startNow(): EventCursor {
    for (const [source, index] of Object.entries(this.#options.feed.cursor())) this.#position.set(source, index);
    return this.cursor;
  }

  /** Determines the start position. Live events are held until catchUp(). */
  async startAt(cursor: EventCursor): Promise<SubscriptionStart> {
    const now = this.#options.feed.cursor();
    this.#held = [];
    const sources = new Set([...Object.keys(cursor), ...Object.keys(now)]);
    const complete = await Promise.all([...sources].map((source) => this.#take(source, cursor[source] ?? 0, now[source])));
    return { cursor: this.cursor, incomplete: [...sources].filter((_, at) => !complete[at]).sort() };
  }

  /** Sends the missed events, then the held ones. After that events are sent as they occur. */
  async catchUp(): Promise<void> {
    for (const { source, until } of this.#backlog.splice(0)) {
      if (!(await this.#sendUntil(source, until))) return;
    }
    while (this.#held && !this.#stopped) {
      const held = this.#held.splice(0, 100);
      if (held.length === 0) this.#held = undefined;
      for (const frame of held) await this.#deliverInTime(frame);
    }
  }

  take(frame: EventFrame): void {
    if (this.#stopped) return;
    if (!this.#held) this.#deliver(frame);
    else if (this.#held.length < maxHeld) this.#held.push(frame);
    else this.#fail('tooSlow');
  }

  /** Sends nothing more. */
  stop(): void {
    this.#stopped = true;
    this.#held = undefined;
  }

  /** @returns true if all events since `from` are available. */
  async #take(source: string, from: number, until: number | undefined): Promise<boolean> {
    this.#position.set(source, from);
    if (until === undefined) return false;
    if (from === until) return true;
    // A position beyond the events known to this node may be valid: the client received them elsewhere, and the source can confirm it.
    const page = await this.#options.feed.since(source, from, 1).catch(() => undefined);
    if (!page || (page.missing && page.from < from)) {
      this.#position.set(source, until);
      return false;
    }
    this.#position.set(source, page.from);
    if (page.from < until) this.#backlog.push({ source, until });
    return !page.missing;
  }

  async #sendUntil(source: string, until: number): Promise<boolean> {
    for (let at = this.#position.get(source) ?? 0; at < until; ) {
      const page = await this.#options.feed.since(source, at).catch(() => undefined);
      if (this.#stopped) return false;
      if (!page || page.upTo <= at) return this.#fail('sourceLost');
      if (page.missing) return this.#fail('tooSlow');
      for (const sourced of page.events) {
        if (sourced.index > until) break;
        await this.#deliverInTime(new EventFrame(sourced));
        if (this.#stopped) return false;
      }
      at = Math.min(page.upTo, until);
      this.#position.set(source, at);
    }
    return !this.#stopped;
  }

  /** Missed events are sent only as fast as the client reads them. */
  async #deliverInTime(frame: EventFrame): Promise<void> {
    if (this.#stopped) return;
    if (this.#options.busy()) await this.#options.drained();
    if (!this.#stopped) this.#deliver(frame);
  }

  #deliver(frame: EventFrame): void {
    const { types, rooms, send } = this.#options;
    const { source, index, event } = frame.sourced;
    // Events of a lost room, sent by another node, have no index in the source.
    if (!isOfLostRoom(event)) {
      if (index <= (this.#position.get(source) ?? 0)) return;
      this.#position.set(source, index);
    }
    if (!types.has(event.type) || (rooms && !rooms.has(event.roomId))) return;
    send(frame.bytes);
  }

  #fail(why: 'tooSlow' | 'sourceLost'): false {
    if (!this.#stopped) {
      this.stop();
      this.#options.failed(why);
    }
    return false;
  }
}
