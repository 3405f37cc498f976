// Event stream: a websocket with events of rooms that reconnects with exponential backoff.
import { serverSocketPath } from '../../../server-sdk/src/generated/operations.ts';
import type { RoomEvent } from '../../../server-sdk/src/generated/schemas.ts';

const firstDelay = 500;
const maxDelay = 5_000;
const pingIntervalMs = 5_000;
/** Time without a message after which a socket counts as lost: browsers do not expose pings of the server. */
const maxSilence = 12_000;

export type NotificationsOptions = {
  base: string;
  token: string;
  /** Subscribes to events of this room only. */
  room?: string;
  /** Starts with the events that the nodes still have, and continues at its cursor after each reconnect. */
  history?: boolean;
  /** Called after each subscription: missed state must be fetched. `gap`: a part of the history is no longer available. */
  onOpen: (gap: boolean) => void;
  onEvent: (event: RoomEvent) => void;
  onLost: () => void;
};

type Frame = { id?: number; ok?: boolean; event?: string; source?: string; index?: number; data?: unknown };
type Subscribed = { cursor?: Record<string, number>; incomplete?: readonly string[] };

export class Notifications {
  readonly #options: NotificationsOptions;
  #socket: WebSocket | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #pings: ReturnType<typeof setInterval> | undefined;
  #delay = firstDelay;
  #heard = 0;
  #closed = false;
  #cursor: Record<string, number> = {};

  constructor(options: NotificationsOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Closes the socket and clears its timers. Idempotent. */
  close(): void {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#drop();
  }

  #connect(): void {
    const url = new URL(serverSocketPath.slice(1), this.#options.base);
    url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
    const socket = new WebSocket(url);
    this.#socket = socket;
    this.#heard = Date.now();
    socket.onopen = () => {
      this.#send({ id: 1, method: 'authenticate', data: { token: this.#options.token } });
      const { room, history } = this.#options;
      const data = { events: 'all', ...(room !== undefined && { rooms: [room] }), ...(history && { cursor: this.#cursor }) };
      this.#send({ id: 2, method: 'subscribe', data });
    };
    socket.onmessage = ({ data }) => this.#receive(String(data));
    socket.onclose = () => this.#lost();
    this.#pings = setInterval(() => this.#check(), pingIntervalMs);
  }

  #check(): void {
    if (Date.now() - this.#heard > maxSilence) this.#lost();
    else if (this.#socket?.readyState === WebSocket.OPEN) this.#send({ id: 3, method: 'ping', data: {} });
  }

  #receive(text: string): void {
    this.#heard = Date.now();
    const frame = parse(text);
    if (frame.id === 2 && !frame.ok) {
      this.#lost();
    } else if (frame.id === 2) {
      const { cursor = {}, incomplete = [] } = (frame.data ?? {}) as Subscribed;
      this.#delay = firstDelay;
      this.#cursor = cursor;
      this.#options.onOpen(incomplete.length > 0);
    } else if (frame.event === 'roomEvent') {
      if (frame.source !== undefined && frame.index !== undefined) this.#cursor[frame.source] = frame.index;
      this.#options.onEvent(frame.data as RoomEvent);
    }
  }

  #lost(): void {
    this.#drop();
    if (this.#closed) return;
    this.#options.onLost();
    this.#timer = setTimeout(() => this.#connect(), this.#delay * (0.75 + Math.random() / 2));
    this.#delay = Math.min(maxDelay, this.#delay * 2);
  }

  #drop(): void {
    clearInterval(this.#pings);
    const socket = this.#socket;
    this.#socket = undefined;
    if (!socket) return;
    socket.onopen = null;
    socket.onmessage = null;
    socket.onclose = null;
    socket.close();
  }

  #send(frame: object): void {
    this.#socket?.send(JSON.stringify(frame));
  }
}

function parse(text: string): Frame {
  try {
    const frame: unknown = JSON.parse(text);
    return typeof frame === 'object' && frame !== null ? (frame as Frame) : {};
  } catch {
    return {};
  }
}
