// Event connection: one WebSocket to the notification endpoint. Authenticates, subscribes, delivers events and detects a lost server.
import { MediaroomsError } from './errors.ts';
import type { RoomEvent } from './generated/events.ts';
import type { WebSocketConstructor, WebSocketLike } from './options.ts';

/** Index of the last seen event, by source. Plain JSON that can be stored. */
export type EventCursor = Record<string, number>;

/** Timeout until the subscription, in milliseconds. */
const startTimeout = 10_000;
const pingInterval = 15_000;
const pongTimeout = 10_000;
/** Maximum frame length, in UTF-16 units. */
const maxFrame = 4 * 1024 * 1024;
/** Error codes of temporary rejections. */
const passing: ReadonlySet<string> = new Set(['too_many_requests', 'unavailable', 'node_unreachable', 'conflict', 'internal']);

const [authenticate, subscribe] = [1, 2];
const open = 1;

export type ReceivedEvent = { event: RoomEvent; source: string; index: number } | { cursor: EventCursor } | { gap: string[] };

export type DisconnectInfo = {
  error: MediaroomsError;
  /** True if a retry would not help. */
  final: boolean;
  /** Closed because the buffer of the reader was full. */
  full: boolean;
  /** True if the subscription succeeded. */
  subscribed: boolean;
};

export type EventConnectionOptions = {
  url: string;
  token: string;
  webSocket: WebSocketConstructor | undefined;
  types: readonly string[] | undefined;
  rooms: readonly string[] | undefined;
  cursor: EventCursor | undefined;
  /** @returns true if there is room for more */
  take: (item: ReceivedEvent) => boolean;
};

type Frame = {
  id?: unknown;
  ok?: unknown;
  error?: { code?: unknown; message?: unknown };
  event?: unknown;
  source?: unknown;
  index?: unknown;
  data?: { cursor?: unknown; incomplete?: unknown; type?: unknown };
};

export class EventConnection {
  readonly ended: Promise<DisconnectInfo>;
  readonly #options: EventConnectionOptions;
  readonly #socket: WebSocketLike;
  #end: (disconnectInfo: DisconnectInfo) => void = () => {};
  #timer: ReturnType<typeof setTimeout>;
  #nextId = subscribe;
  #subscribed = false;
  #over = false;

  /** @throws MediaroomsError if this runtime has no WebSocket */
  constructor(options: EventConnectionOptions) {
    const WebSocket = options.webSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (!WebSocket) {
      const message = 'This runtime has no WebSocket: pass one as the option webSocket';
      throw new MediaroomsError({ code: 'connection_failed', message });
    }
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#timer = setTimeout(() => this.#fail(`no subscription within ${startTimeout} ms`), startTimeout);
    const socket = new WebSocket(options.url);
    this.#socket = socket;
    socket.onopen = () => this.#send(authenticate, 'authenticate', { token: options.token });
    socket.onmessage = ({ data }: { data: unknown }) => this.#receive(data);
    socket.onclose = ({ code }: { code?: number }) => this.#fail(`closed with code ${code}`);
    socket.onerror = () => this.#fail('connection failed');
  }

  /** Idempotent. */
  close(): void {
    this.#finish({ error: new MediaroomsError({ code: 'aborted', message: 'The stream was closed' }), final: false, full: false });
  }

  #receive(text: unknown): void {
    if (this.#over) return;
    const frame = typeof text === 'string' && text.length <= maxFrame ? parse(text) : undefined;
    if (!frame) {
      this.#fail('invalid or too long frame');
      return;
    }
    const { id, event, source, index, data } = frame;
    if (event === 'roomEvent' && typeof source === 'string' && typeof index === 'number' && typeof data?.type === 'string') {
      this.#take({ event: data as unknown as RoomEvent, source, index });
    } else if (typeof id === 'number') this.#answered(id, frame);
    // Unknown frames of later servers are ignored.
  }

  #take(item: ReceivedEvent): void {
    if (this.#options.take(item)) return;
    const error = new MediaroomsError({ code: 'aborted', message: 'The reader is slower than the events' });
    this.#finish({ error, final: false, full: true });
  }

  #answered(id: number, { ok, error, data }: Frame): void {
    const { types, rooms, cursor } = this.#options;
    if (ok !== true) {
      const code = String(error?.code ?? 'internal');
      const final = !passing.has(code);
      this.#finish({ error: new MediaroomsError({ code, message: String(error?.message ?? 'Request rejected') }), final, full: false });
      return;
    }
    if (id === authenticate) {
      this.#send(subscribe, 'subscribe', { events: types ?? 'all', ...(rooms && { rooms }), ...(cursor && { cursor }) });
      return;
    }
    if (id === subscribe) {
      this.#subscribed = true;
      const lost = data?.incomplete;
      if (cursor && Array.isArray(lost) && lost.length > 0) this.#take({ gap: lost.map(String) });
    }
    if (isCursor(data?.cursor)) this.#take({ cursor: data.cursor });
    if (!this.#over) this.#pingLater();
  }

  /** Sends the next ping after an interval; the connection ends without a timely response. */
  #pingLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#nextId += 1;
      this.#send(this.#nextId, 'ping', {});
      this.#timer = setTimeout(() => this.#fail(`no response to ping within ${pongTimeout} ms`), pongTimeout);
    }, pingInterval);
  }

  #send(id: number, method: string, data: unknown): void {
    if (this.#socket.readyState === open) this.#socket.send(JSON.stringify({ id, method, data }));
  }

  #fail(why: string): void {
    this.#finish({
      error: new MediaroomsError({ code: 'connection_failed', message: `The event connection ended: ${why}` }),
      final: false,
      full: false,
    });
  }

  #finish(ending: Omit<DisconnectInfo, 'subscribed'>): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    try {
      this.#socket.close();
    } catch {
      // The socket was never open.
    }
    this.#end({ ...ending, subscribed: this.#subscribed });
  }
}

function parse(text: string): Frame | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isCursor(value: unknown): value is EventCursor {
  return typeof value === 'object' && value !== null && Object.values(value).every((index) => typeof index === 'number');
}
