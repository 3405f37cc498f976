// HTTP server: REST, documents, console and websocket upgrades on one port.
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server, ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConsoleSession } from '../../api/console-session.ts';
import type { HealthView } from '../../api/health.ts';
import { operations } from '../../api/operations/table.ts';
import type { Tracer } from '../../tracing/spans.ts';
import { createServer } from '../common/builtin-http.ts';
import type { Log } from '../common/log.ts';
import { readTlsPair, type TlsFiles, watchTlsPair } from '../common/tls-files.ts';
import { pathPrefixOfHost } from '../config/addresses.ts';
import type { ContentService, RecordingList } from '../rooms/services/content.ts';
import type { OperationRegistry, OperationRunner } from '../rooms/services/operations.ts';
import type { ApiTokens } from '../rooms/tokens/api-tokens.ts';
import type { SignedCalls } from '../rooms/tokens/signed-calls.ts';
import type { ViewerTokens } from '../rooms/tokens/viewer-tokens.ts';
import { ApiDocuments } from './api-documents.ts';
import { createApp } from './app.ts';
import type { RequestObservation } from './middleware/access-log.ts';
import { clientBehind, type TrustedProxies } from './middleware/client-address.ts';
import type { ForwardedBy } from './middleware/forwarded.ts';
import { stripPrefix } from './middleware/prefix.ts';
import { rawError } from './responses.ts';
import { hlsHandlers, recordingHandlers } from './routes/content-handlers.ts';
import { nodeHandlers } from './routes/node-handlers.ts';
import { routes } from './routes/routes.ts';
import { SocketByteCounter, type SocketBytes } from './socket-traffic.ts';

/** `client`: IP address of the client, resolved behind trusted proxies. */
export type UpgradeHandler = (request: IncomingMessage, socket: Duplex, head: Buffer, client: string) => void;

export type HttpOptions = {
  log: Log;
  tracer?: Tracer | undefined;
  operations: OperationRunner;
  /** Gets the operations of HTTP alone at the start. */
  registry: OperationRegistry;
  content: ContentService & RecordingList;
  viewerTokens: ViewerTokens;
  ip: string;
  /** 0: any free port. */
  port: number;
  /** SVC_HOST: `host[:port][/path]`. Every route is also served under that path. */
  host: () => string;
  /** Reloaded when the files change. */
  tls?: TlsFiles | undefined;
  apiTokens: ApiTokens;
  signedCalls: SignedCalls;
  /** `['*']`: any. */
  corsOrigins: () => readonly string[];
  /** The node and client of a proxied request; undefined for requests that no node sent. `path`: as signed. */
  forwardedBy?: ForwardedBy | undefined;
  /** Proxies whose X-Forwarded-For is trusted. */
  trustProxy: TrustedProxies;
  health: () => Promise<HealthView>;
  ready: () => boolean;
  /** SVC_HOST of the other nodes, to which the console may open websockets. */
  otherAddresses?: (() => readonly string[]) | undefined;
  /** Folder of the built console; without it `/` returns 404. */
  consoleDir?: string | undefined;
  consoleSession: () => ConsoleSession;
  /** The handler of websockets at a path (without query and without the path of SVC_HOST). */
  upgrade: (path: string) => UpgradeHandler | undefined;
  documents?: { asyncapi: () => object };
  /** Requests per second of one client, and of one token; undefined: no limit. */
  rateLimit?: () => number | undefined;
  /** Called for every request, for metrics. */
  observe?: (observation: RequestObservation) => void;
  timeouts?: Partial<HttpTimeouts>;
};

/**
 * Milliseconds. `headers` and `request`: timeouts until these are complete; `keepAlive`: idle timeout of connections; `stalled`: timeout of
 * connections without transfer; `check` and `watch`: intervals of timeout checks and of checks of the TLS files.
 */
export type HttpTimeouts = { headers: number; request: number; keepAlive: number; stalled: number; check: number; watch: number };
/** keepAlive is longer than the usual 60 s of proxies, so that they never use a connection that is being closed. */
const defaultTimeouts: HttpTimeouts = { headers: 10_000, request: 30_000, keepAlive: 65_000, stalled: 120_000, check: 2_000, watch: 1_000 };

export class HttpServer {
  readonly port: number;
  /** `ip:port` of the listener, IPv6 in brackets. */
  readonly address: string;
  readonly #server: Server;
  readonly #stopWatching: () => void;
  readonly #traffic: SocketByteCounter;
  #closing: Promise<void> | undefined;

  private constructor(server: Server, traffic: SocketByteCounter, stopWatching: () => void) {
    const { address, family, port } = server.address() as AddressInfo;
    this.port = port;
    this.address = family === 'IPv6' ? `[${address}]:${port}` : `${address}:${port}`;
    this.#server = server;
    this.#traffic = traffic;
    this.#stopWatching = stopWatching;
  }

  /** Starts listening. @throws Error with a message if the address is not available or the TLS files are invalid. */
  static async start(options: HttpOptions): Promise<HttpServer> {
    const timeouts = { ...defaultTimeouts, ...options.timeouts };
    let self: HttpServer | undefined;
    const prefix = () => pathPrefixOfHost(options.host());
    const clientAddress = clientBehind(options.trustProxy);
    serveHttpOperations(options, new ApiDocuments(prefix, options.documents?.asyncapi));
    const app = createApp({
      ...options,
      clientAddress,
      consoleDir: options.consoleDir,
      addresses: () => [options.host(), ...(options.otherAddresses?.() ?? [])],
      rateLimit: options.rateLimit ?? (() => undefined),
      isSocket: (path) => options.upgrade(path) !== undefined,
      closing: () => self?.isClosing ?? false,
      answered: () => self?.answered(),
      observe: options.observe,
    });
    const listener: RequestListener = (request, response) => {
      const path = prefix();
      if (request.url === path && path !== '') {
        // Relative URLs of the page must resolve below this path.
        response.writeHead(308, { location: `${path}/`, 'content-length': 0 }).end();
        return;
      }
      request.url = stripPrefix(request.url ?? '/', path);
      app(request, response);
    };
    const server = createListener(options, timeouts, listener);
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) =>
      upgrade(options, { prefix: prefix(), client: clientAddress(request) }, request, socket, head),
    );
    // RFC 9110, section 10.1.1: unknown expectations may be ignored. Without a listener Node.js responds in another shape.
    server.on('checkExpectation', listener);
    server.on('clientError', refuseUnreadable);
    server.timeout = timeouts.stalled;
    const traffic = new SocketByteCounter();
    traffic.watch(server);
    await listen(server, options.ip, options.port);
    // For example no file descriptor is left for a new connection. Existing connections continue.
    server.on('error', (error) => options.log.error({ err: error }, 'HTTP server error'));
    const stopWatching = options.tls ? watchTls(server, options.tls, options.log, timeouts.watch) : () => {};
    self = new HttpServer(server, traffic, stopWatching);
    return self;
  }

  /** Bytes over all connections since the start, including websockets. */
  get traffic(): SocketBytes {
    return this.#traffic.read();
  }

  get isClosing(): boolean {
    return this.#closing !== undefined;
  }

  /** A request has ended. While closing, its connection is not needed any more. */
  answered(): void {
    // One turn later, when the connection counts as idle.
    if (this.isClosing) setImmediate(() => this.#server.closeIdleConnections());
  }

  /**
   * Accepts no new connections, lets requests finish, and closes the remaining ones after `deadline` milliseconds. Websockets stay open,
   * since they have other owners.
   */
  close(deadline: number): Promise<void> {
    this.#closing ??= this.#close(deadline);
    return this.#closing;
  }

  async #close(deadline: number): Promise<void> {
    this.#stopWatching();
    const timer = setTimeout(() => this.#server.closeAllConnections(), deadline);
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
    clearTimeout(timer);
  }
}

/** Registers the operations that need the HTTP request. @throws Error if any other operation has no handler */
function serveHttpOperations(options: HttpOptions, documents: ApiDocuments): void {
  options.registry.serve(operations, {
    ...nodeHandlers({ ...options, documents }),
    ...recordingHandlers(options.content),
    ...hlsHandlers(options.content, options.viewerTokens, options.host),
  });
  const missing = routes.filter((operation) => !options.registry.serves(operation));
  if (missing.length > 0) throw new Error(`no handler of ${missing.map(({ id }) => id).join(', ')}`);
}

function createListener(options: HttpOptions, timeouts: HttpTimeouts, listener: RequestListener): Server {
  const settings: ServerOptions = {
    headersTimeout: timeouts.headers,
    requestTimeout: timeouts.request,
    keepAliveTimeout: timeouts.keepAlive,
    connectionsCheckingInterval: timeouts.check,
    // The application responds to that in our shape.
    requireHostHeader: false,
    shouldUpgradeCallback: (request) => request.headers.upgrade?.toLowerCase() === 'websocket',
  };
  return options.tls
    ? createTlsServer({ ...settings, ...readTlsPair(options.tls), minVersion: 'TLSv1.2' }, listener)
    : createServer(settings, listener);
}

async function listen(server: Server, ip: string, port: number): Promise<void> {
  try {
    server.listen({ host: ip, port });
    await once(server, 'listening');
  } catch (cause) {
    throw new Error(`Cannot listen on ${ip} port ${port}: ${(cause as Error).message}`, { cause });
  }
}

function watchTls(server: Server, files: TlsFiles, log: Log, interval: number): () => void {
  return watchTlsPair(
    files,
    log,
    (pair) => (server as ReturnType<typeof createTlsServer>).setSecureContext({ ...pair, minVersion: 'TLSv1.2' }),
    interval,
  );
}

function upgrade(
  options: HttpOptions,
  { prefix, client }: { prefix: string; client: string },
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const url = stripPrefix(request.url ?? '/', prefix);
  const handler = options.upgrade(url.split('?', 1)[0] ?? '/');
  if (handler) {
    handler(request, socket, head, client);
    return;
  }
  socket.on('error', () => socket.destroy());
  socket.end(rawError('not_found', 'There is no websocket at this address'), () => socket.destroy());
}

/** Requests that the parser of Node.js rejects (RFC 9110, section 15.5). */
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Duplex): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(unreadable(error.code), () => socket.destroy());
}

function unreadable(code: string | undefined): string {
  if (code === 'HPE_HEADER_OVERFLOW') return rawError('headers_too_large', 'The address and headers of the request are too long');
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT') return rawError('request_timeout', 'The request did not arrive in time');
  return rawError('bad_request', 'The request is not valid HTTP');
}
