// Server websocket: sends room events to clients with an API token.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { ServiceError } from '../../api/errors.ts';
import { eventTypes } from '../../api/events.ts';
import type { SocketResponse } from '../../api/socket/peer.ts';
import { type ServerMethod, type ServerResponseData, serverRequestSchemas } from '../../api/socket/server.ts';
import type { Log } from '../common/log.ts';
import { TokenBucket } from '../common/token-bucket.ts';
import type { EventFeed, SourcedEvent } from '../rooms/event-feed.ts';
import type { ApiTokens } from '../rooms/tokens/api-tokens.ts';
import { isSignature, type SignedCalls } from '../rooms/tokens/signed-calls.ts';
import type { OriginRule } from '../websocket/origin.ts';
import type { TextSocket, TextSocketListener } from '../websocket/text-socket.ts';
import type { ClientAddress } from '../websocket/upgrade.ts';
import { EventFrame, EventSubscription } from './event-subscription.ts';
import { errorResponse, parseData, parseRequest, type Request } from './frames.ts';
import { defaultLimits, type Limits } from './limits.ts';
import { WebSocketAcceptor } from './websocket-acceptor.ts';

/** Maximum clients that catch up at the same time, because each holds a page of events in memory. */
const maxCatchingUp = 64;

export type ServerSocketsOptions = {
  log: Log;
  apiTokens: ApiTokens;
  signedCalls: SignedCalls;
  events: EventFeed;
  /** Messages per second and socket; no limit if undefined or null. */
  rateLimit: () => number | null | undefined;
  checkOrigin: () => OriginRule;
  /** The `host[:port][/path]` of the node. */
  address: () => string;
  limits?: Partial<Limits>;
};

type Client = {
  socket: TextSocket;
  token: string;
  bucket: TokenBucket;
  subscription: EventSubscription | undefined;
};

export class ServerSockets {
  readonly #options: ServerSocketsOptions;
  readonly #limits: Limits;
  readonly #webSocketAcceptor: WebSocketAcceptor;
  readonly #clients = new Set<Client>();
  readonly #unsubscribe: () => void;
  #catchingUp = 0;

  constructor(options: ServerSocketsOptions) {
    this.#options = options;
    this.#limits = { ...defaultLimits, ...options.limits };
    this.#webSocketAcceptor = new WebSocketAcceptor({
      limits: this.#limits,
      checkOrigin: options.checkOrigin,
      address: options.address,
      authenticate: async (socket, text, clientAddress) => this.#authenticate(socket, text, clientAddress),
    });
    this.#unsubscribe = options.events.subscribe((sourced) => this.#publish(sourced));
  }

  get sockets(): number {
    return this.#webSocketAcceptor.sockets;
  }

  handleUpgrade(request: IncomingMessage, socket: Duplex, head: Buffer, client?: string): void {
    this.#webSocketAcceptor.handleUpgrade(request, socket, head, client);
  }

  /** API tokens changed: closes sockets with invalid tokens. */
  tokensChanged(): void {
    for (const client of [...this.#clients]) {
      if (!this.#options.apiTokens.find(client.token)) this.#close(client, 'unauthenticated');
    }
  }

  /** Closes every socket with 1001 and resolves when all are closed. Idempotent. */
  async close(): Promise<void> {
    this.#unsubscribe();
    for (const client of this.#clients) this.#forget(client);
    await this.#webSocketAcceptor.close();
  }

  #authenticate(socket: TextSocket, text: string, clientAddress: ClientAddress): TextSocketListener | undefined {
    const frame = parseRequest(text, this.#limits.depth);
    if (!frame) {
      socket.close('malformed');
      return undefined;
    }
    const { id, method } = frame.request;
    try {
      if (method !== 'authenticate') throw new ServiceError('missing_token', 'Expected the first request to be authenticate');
      const { token } = parseData(serverRequestSchemas.authenticate, frame.request.data);
      const { apiTokens, signedCalls } = this.#options;
      const holder = isSignature(token)
        ? signedCalls.socket(token, clientAddress.address)
        : apiTokens.authenticate(token, clientAddress.address);
      const client: Client = {
        socket,
        token: holder.token,
        bucket: new TokenBucket(this.#options.rateLimit, this.#limits.burst),
        subscription: undefined,
      };
      this.#clients.add(client);
      const answer: ServerResponseData<'authenticate'> = { name: holder.name, scope: holder.scope, svcAddress: this.#options.address() };
      this.#send(client, { id, ok: true, data: answer });
      return { message: (next) => this.#receive(client, next), lost: () => this.#forget(client) };
    } catch (error) {
      if (error instanceof ServiceError) socket.send(JSON.stringify(errorResponse(id, error)));
      else this.#options.log.error({ err: error }, 'authentication of server socket failed');
      socket.close(closingOf(error));
      return undefined;
    }
  }

  #receive(client: Client, text: string): void {
    if (!client.bucket.take()) {
      client.socket.refuse('tooFast');
      return;
    }
    const frame = parseRequest(text, this.#limits.depth);
    if (!frame) {
      client.socket.refuse('malformed');
      return;
    }
    const { request } = frame;
    if (frame.refusal) {
      this.#send(client, frame.refusal);
      return;
    }
    void this.#handle(client, request);
  }

  async #handle(client: Client, request: Request): Promise<void> {
    try {
      if (request.method === 'subscribe') await this.#subscribe(client, request);
      else this.#send(client, { id: request.id, ok: true, data: handle(client, request) });
    } catch (error) {
      if (error instanceof ServiceError) {
        this.#send(client, errorResponse(request.id, error));
        return;
      }
      this.#options.log.error({ err: error }, 'request of server socket failed');
      this.#close(client, 'internalError');
    }
  }

  async #subscribe(client: Client, request: Request): Promise<void> {
    const { events, rooms, cursor } = parseData(serverRequestSchemas.subscribe, request.data);
    const types = events === 'all' ? [...eventTypes] : [...new Set(events)];
    const subscription = new EventSubscription({
      feed: this.#options.events,
      types: new Set(types),
      rooms: rooms && new Set(rooms),
      send: (frame) => this.#sendFrame(client, frame),
      busy: () => client.socket.bufferedBytes > this.#limits.bufferedBytes / 4,
      drained: () => client.socket.drained(),
      failed: (why) => this.#close(client, why === 'tooSlow' ? 'tooSlow' : 'goingAway'),
    });
    if (cursor && this.#catchingUp >= maxCatchingUp) {
      throw new ServiceError('unavailable', 'Too many clients are catching up, try again', { retryAfter: 1 });
    }
    client.subscription?.stop();
    client.subscription = subscription;
    if (cursor === undefined) {
      const started = subscription.startNow();
      this.#send(client, { id: request.id, ok: true, data: { events: types, rooms: rooms ?? null, cursor: started, incomplete: [] } });
      return;
    }
    this.#catchingUp += 1;
    try {
      const subscriptionStart = await subscription.startAt(cursor);
      if (client.subscription !== subscription) throw new ServiceError('conflict', 'A later request replaced this subscription');
      this.#send(client, { id: request.id, ok: true, data: { events: types, rooms: rooms ?? null, ...subscriptionStart } });
      await subscription.catchUp();
    } finally {
      this.#catchingUp -= 1;
    }
  }

  #publish(sourced: SourcedEvent): void {
    const frame = new EventFrame(sourced);
    for (const client of [...this.#clients]) client.subscription?.take(frame);
  }

  #send(client: Client, answer: SocketResponse): void {
    this.#sendFrame(client, JSON.stringify(answer));
  }

  #sendFrame(client: Client, frame: string | Buffer): void {
    // Half of the limit at which the socket is terminated, so that the close frame still fits.
    if (client.socket.bufferedBytes > this.#limits.bufferedBytes / 2) {
      this.#close(client, 'tooSlow');
      return;
    }
    client.socket.send(frame);
  }

  #close(client: Client, name: 'unauthenticated' | 'internalError' | 'tooSlow' | 'goingAway'): void {
    this.#forget(client);
    client.socket.close(name);
  }

  #forget(client: Client): void {
    client.subscription?.stop();
    client.subscription = undefined;
    this.#clients.delete(client);
  }
}

function closingOf(error: unknown): 'unauthenticated' | 'tooFast' | 'internalError' {
  if (!(error instanceof ServiceError)) return 'internalError';
  return error.code === 'too_many_requests' ? 'tooFast' : 'unauthenticated';
}

function handle(client: Client, request: Request): ServerResponseData<Exclude<ServerMethod, 'subscribe'>> {
  switch (request.method) {
    case 'authenticate':
      throw new ServiceError('conflict', 'This socket is already authenticated');
    case 'unsubscribe':
      parseData(serverRequestSchemas.unsubscribe, request.data);
      client.subscription?.stop();
      client.subscription = undefined;
      return {};
    case 'ping':
      parseData(serverRequestSchemas.ping, request.data);
      return client.subscription ? { cursor: client.subscription.cursor } : {};
    default:
      throw new ServiceError('bad_request', `Unknown method: ${JSON.stringify(request.method)}`);
  }
}
