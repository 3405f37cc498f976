// One connection to the notification socket: authenticates, subscribes, hands on what comes, watches that the server is there.
import { MediaroomsError } from './errors.ts';
import type { RoomEvent } from './generated/events.ts';
import type { WebSocketConstructor, WebSocketLike } from './options.ts';

/** By source: the index of the last event that was seen. Plain JSON, to be kept. */
export type EventCursor = Record<string, number>;

/** Until it is subscribed, in milliseconds. */
const startTimeout = 10_000;
const pingInterval = 15_000;
const pongTimeout = 10_000;
/** Longest frame that is read, in UTF-16 units. */
const maxFrame = 4 * 1024 * 1024;
/** Refusals that pass by themselves. */
const passing: ReadonlySet<string> = new Set(['too_many_requests', 'unavailable', 'node_unreachable', 'conflict', 'internal']);

const [authenticate, subscribe] = [1, 2];
const open = 1;

export type ReceivedEvent = { event: RoomEvent; source: string; index: number } | { cursor: EventCursor } | { gap: string[] };

export type DisconnectInfo = {
  error: MediaroomsError;
  /** Trying again would not help. */
  final: boolean;
  /** It was closed since whoever takes had no room for more. */
  full: boolean;
  /** It had come so far. */
  subscribed: boolean;
};

export type EventConnectionOptions = {
  url: string;
  token: string;
  webSocket: WebSocketConstructor | undefined;
  types: readonly string[] | undefined;
  rooms: readonly string[] | undefined;
  cursor: EventCursor | undefined;
  /** @returns whether there is room for more */
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

  /** @throws MediaroomsError where there is no WebSocket */
  constructor(options: EventConnectionOptions) {
    const WebSocket = options.webSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (!WebSocket) {
      const message = 'This runtime has no WebSocket: give one as the option webSocket';
      throw new MediaroomsError({ code: 'connection_failed', message });
    }
    this.#options = options;
    this.ended = new Promise((resolve) => {
      this.#end = resolve;
    });
    this.#timer = setTimeout(() => this.#fail(`it did not subscribe within ${startTimeout} ms`), startTimeout);
    const socket = new WebSocket(options.url);
    this.#socket = socket;
    socket.onopen = () => this.#send(authenticate, 'authenticate', { token: options.token });
    socket.onmessage = ({ data }: { data: unknown }) => this.#receive(data);
    socket.onclose = ({ code }: { code?: number }) => this.#fail(`it was closed with ${code}`);
    socket.onerror = () => this.#fail('it could not be reached or was lost');
  }

  /** Idempotent. */
  close(): void {
    this.#finish({ error: new MediaroomsError({ code: 'aborted', message: 'The stream was closed' }), final: false, full: false });
  }

  #receive(text: unknown): void {
    if (this.#over) return;
    const frame = typeof text === 'string' && text.length <= maxFrame ? parse(text) : undefined;
    if (!frame) {
      this.#fail('a frame was too long or no JSON');
      return;
    }
    const { id, event, source, index, data } = frame;
    if (event === 'roomEvent' && typeof source === 'string' && typeof index === 'number' && typeof data?.type === 'string') {
      this.#take({ event: data as unknown as RoomEvent, source, index });
    } else if (typeof id === 'number') this.#answered(id, frame);
    // Frames of kinds that only later servers send are none of ours.
  }

  #take(item: ReceivedEvent): void {
    if (this.#options.take(item)) return;
    const error = new MediaroomsError({ code: 'aborted', message: 'Events are not read as fast as they come' });
    this.#finish({ error, final: false, full: true });
  }

  #answered(id: number, { ok, error, data }: Frame): void {
    const { types, rooms, cursor } = this.#options;
    if (ok !== true) {
      const code = String(error?.code ?? 'internal');
      const final = !passing.has(code);
      this.#finish({ error: new MediaroomsError({ code, message: String(error?.message ?? 'The server refused') }), final, full: false });
      return;
    }
    if (id === authenticate) {
      this.#send(subscribe, 'subscribe', { events: types ?? 'all', ...(rooms && { rooms }), ...(cursor && { cursor }) });
      return;
    }
    if (id === subscribe) {
      this.#subscribed = true;
      const gone = data?.incomplete;
      if (cursor && Array.isArray(gone) && gone.length > 0) this.#take({ gap: gone.map(String) });
    }
    if (isCursor(data?.cursor)) this.#take({ cursor: data.cursor });
    if (!this.#over) this.#pingLater();
  }

  /** The next ping goes out after a while; no answer to it in time ends the connection. */
  #pingLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#nextId += 1;
      this.#send(this.#nextId, 'ping', {});
      this.#timer = setTimeout(() => this.#fail(`it was silent for ${pongTimeout} ms`), pongTimeout);
    }, pingInterval);
  }

  #send(id: number, method: string, data: unknown): void {
    if (this.#socket.readyState === open) this.#socket.send(JSON.stringify({ id, method, data }));
  }

  #fail(why: string): void {
    this.#finish({
      error: new MediaroomsError({ code: 'connection_failed', message: `The connection for events ended: ${why}` }),
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
      // One that never opened.
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
