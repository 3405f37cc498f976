// The server notification socket: holders of an API token get the events of rooms as they happen.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../errors.ts';
import type { Log } from '../log.ts';
import { eventTypes, type RoomEvent, type RoomEventListener } from '../rooms/events.ts';
import { Door } from './door.ts';
import { type Request, readData, readRequest, refusal } from './frames.ts';
import { defaultLimits, type Limits } from './limits.ts';
import type { Answer } from './messages.ts';
import type { OriginRule } from './origin.ts';
import { type ServerAnswerData, type ServerEvent, type ServerMethod, serverRequestSchemas } from './server-messages.ts';
import type { TextSocket, TextSocketListener } from './text-socket.ts';
import { TokenBucket } from './token-bucket.ts';

export const serverSocketPath = '/socket/server/websocket';

export type ServerSocketsOptions = {
  log: Log;
  verifyApiToken: (token: string) => { name: string; scope: 'admin' | 'read' } | undefined;
  /** Calls back for every event from now on, until the answer is called. */
  subscribeEvents: (listener: RoomEventListener) => () => void;
  /** Messages a second and socket; none where undefined or null. */
  rateLimit: () => number | null | undefined;
  checkOrigin: () => OriginRule;
  /** The node's own `host[:port][/path]`. */
  address: () => string;
  limits?: Partial<Limits>;
};

type Client = {
  socket: TextSocket;
  token: string;
  bucket: TokenBucket;
  wanted: { types: Set<string>; rooms: Set<string> | undefined } | undefined;
};

export class ServerSockets {
  readonly #options: ServerSocketsOptions;
  readonly #limits: Limits;
  readonly #door: Door;
  readonly #clients = new Set<Client>();
  readonly #unsubscribe: () => void;

  constructor(options: ServerSocketsOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#door = new Door({
      limits: this.#limits,
      checkOrigin: options.checkOrigin,
      address: options.address,
      authenticate: async (socket, text) => this.#authenticate(socket, text),
    });
    this.#unsubscribe = options.subscribeEvents((event) => this.#publish(event));
  }

  get sockets(): number {
    return this.#door.sockets;
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#door.handleUpgrade(request, socket, head);
  }

  /** API tokens changed: sockets of those that are no longer good are closed. */
  tokensChanged(): void {
    for (const client of [...this.#clients]) {
      if (!this.#options.verifyApiToken(client.token)) this.#close(client, 'unauthenticated');
    }
  }

  /** Closes every socket with 1001 and resolves when all are gone. Idempotent. */
  async close(): Promise<void> {
    this.#unsubscribe();
    this.#clients.clear();
    await this.#door.close();
  }

  #authenticate(socket: TextSocket, text: string): TextSocketListener | undefined {
    const frame = readRequest(text, this.#limits.depth);
    if (!frame) {
      socket.close('malformed');
      return undefined;
    }
    const { id, method } = frame.request;
    try {
      if (method !== 'authenticate') throw new ServiceError('missing_token', 'Expected the first request to be authenticate');
      const { token } = readData(serverRequestSchemas.authenticate, frame.request.data);
      const holder = this.#options.verifyApiToken(token);
      if (!holder) throw new ServiceError('invalid_token', 'Invalid token');
      const client: Client = { socket, token, bucket: new TokenBucket(this.#options.rateLimit, this.#limits.burst), wanted: undefined };
      this.#clients.add(client);
      const answer: ServerAnswerData<'authenticate'> = { name: holder.name, scope: holder.scope, svcAddress: this.#options.address() };
      this.#send(client, { id, ok: true, data: answer });
      return { message: (next) => this.#receive(client, next), lost: () => void this.#clients.delete(client) };
    } catch (error) {
      if (error instanceof ServiceError) socket.send(JSON.stringify(refusal(id, error)));
      else this.#options.log.error({ err: error }, 'authentication of a server socket failed');
      socket.close(error instanceof ServiceError ? 'unauthenticated' : 'internalError');
      return undefined;
    }
  }

  #receive(client: Client, text: string): void {
    if (!client.bucket.take()) {
      client.socket.refuse('tooFast');
      return;
    }
    const frame = readRequest(text, this.#limits.depth);
    if (!frame) {
      client.socket.refuse('malformed');
      return;
    }
    const { request } = frame;
    if (frame.refusal) {
      this.#send(client, frame.refusal);
      return;
    }
    try {
      this.#send(client, { id: request.id, ok: true, data: handle(client, request) });
    } catch (error) {
      if (error instanceof ServiceError) {
        this.#send(client, refusal(request.id, error));
        return;
      }
      this.#options.log.error({ err: error }, 'a request of a server socket failed');
      this.#close(client, 'internalError');
    }
  }

  #publish(event: RoomEvent): void {
    let text: string | undefined;
    for (const client of [...this.#clients]) {
      const { wanted } = client;
      if (!wanted?.types.has(event.type) || (wanted.rooms && !wanted.rooms.has(event.roomId))) continue;
      text ??= JSON.stringify({ event: 'roomEvent', data: event } satisfies ServerEvent);
      this.#sendText(client, text);
    }
  }

  #send(client: Client, answer: Answer): void {
    this.#sendText(client, JSON.stringify(answer));
  }

  #sendText(client: Client, text: string): void {
    // Half of what cuts the socket off: the closing frame shall still find a place.
    if (client.socket.bufferedBytes > this.#limits.bufferedBytes / 2) {
      this.#close(client, 'tooSlow');
      return;
    }
    client.socket.send(text);
  }

  #close(client: Client, name: 'unauthenticated' | 'internalError' | 'tooSlow'): void {
    this.#clients.delete(client);
    client.socket.close(name);
  }
}

function handle(client: Client, request: Request): ServerAnswerData<ServerMethod> {
  switch (request.method) {
    case 'authenticate':
      throw new ServiceError('conflict', 'This socket has authenticated already');
    case 'subscribe': {
      const { events, rooms } = readData(serverRequestSchemas.subscribe, request.data);
      const types = events === 'all' ? [...eventTypes] : [...new Set(events)];
      client.wanted = { types: new Set(types), rooms: rooms && new Set(rooms) };
      return { events: types, rooms: rooms ?? null };
    }
    case 'unsubscribe':
      readData(serverRequestSchemas.unsubscribe, request.data);
      client.wanted = undefined;
      return {};
    case 'ping':
      readData(serverRequestSchemas.ping, request.data);
      return {};
    default:
      throw new ServiceError('bad_request', `Unknown method: ${JSON.stringify(request.method)}`);
  }
}
