// Event stream: room events as an async iterator that resumes at its cursor after a connection loss, with a bounded buffer.
import { sleep } from './deadline.ts';
import { MediaroomsError } from './errors.ts';
import { type DisconnectInfo, EventConnection, type EventCursor } from './event-connection.ts';
import type { RoomEvent, RoomEventType } from './generated/events.ts';
import { serverSocketPath } from './generated/operations.ts';
import type { WebSocketConstructor } from './options.ts';
import { retryDelay } from './retry.ts';
import type { Transport } from './transport.ts';

export type EventStreamOptions = {
  /** Event types; default: all. */
  types?: readonly RoomEventType[];
  /** Room ids; default: all. */
  rooms?: readonly string[];
  /** Resume position: the `cursor` of an earlier stream. Default: events from now on. */
  cursor?: EventCursor;
  /** Ends the stream like `break`. */
  signal?: AbortSignal;
  /** Maximum number of buffered events; beyond it the server keeps them until there is room. Default: 1,000. */
  buffer?: number;
  /**
   * Events of these sources (starts of nodes) are lost, in part or completely: reload the state of the rooms. Called in order, between
   * events.
   */
  onGap?: (sources: readonly string[]) => void;
  /** The connection was lost or failed; the next attempt follows in `retryIn` milliseconds. */
  onDisconnect?: (error: MediaroomsError, retryIn: number) => void;
};

type Item = { event: RoomEvent; source: string; index: number } | { cursor: EventCursor } | { gap: string[] };

/**
 * Room events of the cluster, for a single reader. Ends without error after `signal`, close() or `break`.
 * @throws MediaroomsError if the server rejects the subscription permanently, for example `invalid_token`
 */
export class EventStream implements AsyncIterable<RoomEvent> {
  readonly #transport: Transport;
  readonly #webSocket: WebSocketConstructor | undefined;
  readonly #options: EventStreamOptions;
  readonly #maxItems: number;
  readonly #stop = new AbortController();
  readonly #items: Item[] = [];
  /** Position after the last event that was read. */
  #cursor: EventCursor | undefined;
  /** Position after the last event that was received. */
  #received: EventCursor | undefined;
  #connection: EventConnection | undefined;
  #failure: MediaroomsError | undefined;
  #started = false;
  #wake: () => void = () => {};
  #roomAgain: () => void = () => {};

  constructor(transport: Transport, webSocket: WebSocketConstructor | undefined, options: EventStreamOptions) {
    const { buffer = 1_000 } = options;
    if (!Number.isInteger(buffer) || buffer < 1) throw new TypeError('Expected buffer to be a positive integer');
    this.#transport = transport;
    this.#webSocket = webSocket;
    this.#options = options;
    this.#maxItems = buffer;
    this.#cursor = options.cursor && { ...options.cursor };
    this.#received = this.#cursor && { ...this.#cursor };
  }

  /** Position after the last event that was read: store it and pass it to the next stream. Undefined before the first connection. */
  get cursor(): EventCursor | undefined {
    return this.#cursor && { ...this.#cursor };
  }

  /** Idempotent. */
  close(): void {
    this.#stop.abort();
    this.#connection?.close();
    this.#wake();
    this.#roomAgain();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<RoomEvent, void, undefined> {
    if (this.#started) throw new TypeError('An event stream can be iterated only once');
    this.#started = true;
    const { signal, onGap } = this.#options;
    const close = () => this.close();
    signal?.addEventListener('abort', close, { once: true });
    if (signal?.aborted) close();
    void this.#keepConnected();
    try {
      while (!this.#stop.signal.aborted) {
        const item = this.#items.shift();
        if (this.#items.length <= this.#maxItems / 2) this.#roomAgain();
        if (!item) {
          if (this.#failure) throw this.#failure;
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        } else if ('event' in item) {
          // Events of a lost room that another node emits have no index of their source.
          this.#cursor = after(this.#cursor, item);
          yield item.event;
        } else if ('cursor' in item) this.#cursor = item.cursor;
        else onGap?.(item.gap);
      }
    } finally {
      signal?.removeEventListener('abort', close);
      this.close();
    }
  }

  /** Reconnects until the stream is closed or rejected permanently. Never fails. */
  async #keepConnected(): Promise<void> {
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; ) {
      const disconnectInfo = await this.#connect(failures);
      if (signal.aborted) return;
      if (disconnectInfo.final) {
        this.#failure = disconnectInfo.error;
        this.#wake();
        return;
      }
      if (disconnectInfo.full) {
        await this.#untilRoom();
        failures = 0;
        continue;
      }
      failures = disconnectInfo.subscribed ? 0 : failures + 1;
      const delay = retryDelay(failures, disconnectInfo.error.retryAfter, Math.random());
      this.#options.onDisconnect?.(disconnectInfo.error, delay);
      await sleep(delay, signal).catch(() => {});
    }
  }

  async #connect(attempt: number): Promise<DisconnectInfo> {
    const { types, rooms } = this.#options;
    const { urls } = this.#transport;
    try {
      const token = await this.#transport.token();
      if (this.#stop.signal.aborted) return { error: closed(), final: true, full: false, subscribed: false };
      this.#connection = new EventConnection({
        url: (urls[attempt % urls.length] ?? '').replace(/^http/, 'ws') + serverSocketPath,
        token,
        webSocket: this.#webSocket,
        types,
        rooms,
        cursor: this.#received,
        take: (item) => this.#take(item),
      });
      return await this.#connection.ended;
    } catch (error) {
      // The token function of the caller failed, or there is no WebSocket.
      const failure = error instanceof MediaroomsError ? error : undefined;
      const message = 'Could not open the event connection';
      return {
        error: failure ?? new MediaroomsError({ code: 'connection_failed', message, cause: error }),
        final: true,
        full: false,
        subscribed: false,
      };
    }
  }

  /** @returns true if there is room for more */
  #take(item: Item): boolean {
    if ('event' in item) this.#received = after(this.#received, item);
    else if ('cursor' in item) this.#received = { ...item.cursor };
    this.#items.push(item);
    this.#wake();
    return this.#items.length < this.#maxItems;
  }

  async #untilRoom(): Promise<void> {
    if (this.#items.length <= this.#maxItems / 2) return;
    await new Promise<void>((resolve) => {
      this.#roomAgain = resolve;
    });
  }
}

function after(
  cursor: EventCursor | undefined,
  { event, source, index }: { event: RoomEvent; source: string; index: number },
): EventCursor {
  // Events of a lost room that another node emits have no index of their source.
  return event.id.startsWith(`${event.incarnation}-lost`) ? { ...cursor } : { ...cursor, [source]: index };
}

function closed(): MediaroomsError {
  return new MediaroomsError({ code: 'aborted', message: 'The stream was closed' });
}
