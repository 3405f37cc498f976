// Connection to the notification websocket of a node: authenticates, subscribes, delivers events and detects a dead connection.
import { z } from 'zod';
import { parseJson } from '../json.ts';
import { type NodeEvent, nodeEventSchema } from './schemas.ts';
import { signedSocket } from './signature.ts';

/** Index of the last received event by source. */
export type EventCursor = Record<string, number>;

/** Timeout until subscribed, in milliseconds. */
const startTimeoutMs = 5_000;
const pingIntervalMs = 15_000;
const pongTimeoutMs = 10_000;
/** Maximum length of a frame, in UTF-16 units. */
const maxFrame = 1024 * 1024;

const cursorSchema = z.record(z.string().max(600), z.int().min(0));
const answerSchema = z.object({
  id: z.int(),
  ok: z.boolean(),
  error: z.object({ code: z.string().max(128), message: z.string().max(4096) }).optional(),
  data: z.object({ cursor: cursorSchema.optional(), incomplete: z.array(z.string().max(600)).max(10_000).optional() }).optional(),
});
type Answer = z.infer<typeof answerSchema>;
const [authenticate, subscribe, firstPing] = [1, 2, 3];

export type EventSocketOptions = {
  /** `ws://host:port/socket/server/websocket` */
  url: string;
  token: string;
  /** The token is used for a signature, not sent. */
  signed: boolean;
  /** Event types. */
  types: readonly string[];
  /** Position to resume from; new events only if omitted. */
  cursor: EventCursor | undefined;
  /** Subscribed. `complete`: no event since the cursor is missing. */
  onSubscribed: (complete: boolean) => void;
  onEvent: (event: NodeEvent) => void;
  /** Position after the received events. */
  onCursor: (cursor: EventCursor) => void;
  pingIntervalMs?: number;
};

export class EventSocket {
  readonly #options: EventSocketOptions;
  readonly #socket: WebSocket;
  readonly #ended = Promise.withResolvers<string>();
  #timer: NodeJS.Timeout;
  #cursor: EventCursor = {};
  #nextPing = firstPing;
  #over = false;

  constructor(options: EventSocketOptions) {
    this.#options = options;
    this.#timer = setTimeout(() => this.close(`it did not subscribe within ${startTimeoutMs / 1000} s`), startTimeoutMs);
    this.#socket = new WebSocket(options.url);
    this.#socket.addEventListener('open', () => this.#authenticate());
    this.#socket.addEventListener('message', ({ data }) => this.#receive(data));
    this.#socket.addEventListener('close', ({ code }) => this.close(`it was closed with ${code}`));
    this.#socket.addEventListener('error', () => this.close('it could not be reached'));
  }

  /** Resolves with the reason of the end, as part of a message. */
  get ended(): Promise<string> {
    return this.#ended.promise;
  }

  /** Idempotent. */
  close(why: string): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#timer);
    this.#socket.close();
    this.#ended.resolve(why);
  }

  #authenticate(): void {
    const { token, url, signed } = this.#options;
    this.#send(authenticate, 'authenticate', { token: signed ? signedSocket({ token, url }) : token });
  }

  #receive(data: unknown): void {
    if (this.#over) return;
    if (typeof data !== 'string' || data.length > maxFrame) {
      this.close('a frame was too long or not text');
      return;
    }
    const frame = parseJson(data);
    const event = nodeEventSchema.safeParse(frame);
    if (event.success) {
      this.#take(event.data);
      return;
    }
    const answer = answerSchema.safeParse(frame);
    // Frame types of newer nodes are ignored.
    if (answer.success) this.#answered(answer.data);
  }

  #take({ source, index, data }: z.infer<typeof nodeEventSchema>): void {
    // The event of a room lost with its node has no index.
    if (data.seq !== undefined) this.#cursor[source] = index;
    this.#options.onEvent(data);
    this.#options.onCursor(this.#cursor);
  }

  #answered({ id, ok, error, data }: Answer): void {
    const { types, cursor, onSubscribed, onCursor } = this.#options;
    if (!ok) {
      this.close(`it was rejected: ${error?.message ?? 'no reason given'}`);
      return;
    }
    if (id === authenticate) {
      this.#send(subscribe, 'subscribe', { events: types, ...(cursor && { cursor }) });
      return;
    }
    if (data?.cursor) {
      this.#cursor = data.cursor;
      onCursor(this.#cursor);
    }
    this.#pingLater();
    if (id === subscribe) onSubscribed(cursor !== undefined && (data?.incomplete ?? []).length === 0);
  }

  /** Sends a ping after a pause; a missing pong closes the connection. */
  #pingLater(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#nextPing += 1;
      this.#send(this.#nextPing, 'ping', {});
      this.#timer = setTimeout(() => this.close(`it did not respond for ${pongTimeoutMs / 1000} s`), pongTimeoutMs);
    }, this.#options.pingIntervalMs ?? pingIntervalMs);
  }

  #send(id: number, method: string, data: unknown): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ id, method, data }));
  }
}
