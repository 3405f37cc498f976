// HTTP client for requests to other nodes: adds the node token and client address, limits time to first byte and concurrency.

import type { Agent as HttpAgent, IncomingMessage, RequestOptions } from 'node:http';
import { request as startTlsRequest, Agent as TlsAgent } from 'node:https';
import { traceparentHeader } from '../../../api/core/traceparent.ts';
import { ServiceError } from '../../../api/errors.ts';
import { proxiedHeader } from '../../../api/node.ts';
import { Agent, request as startRequest } from '../../common/builtin-http.ts';
import type { Log } from '../../common/log.ts';
import { currentRequestId, currentSpan } from '../../common/request-context.ts';
import type { ContentResponse } from '../../rooms/services/content.ts';
import type { NodeName } from '../cluster-transport.ts';
import { nodeTls } from './node-tls.ts';
import type { NodeTokens } from './node-tokens.ts';
import type { ProxyTarget } from './peer-socket-proxy.ts';

/** Milliseconds. `stalled`: no data was transferred, also while the client does not read. */
const firstByteTimeoutMs = 10_000;
const stalledTimeout = 120_000;
const maxRequests = 1_000;
const socketOptions = { keepAlive: true, maxSockets: 256, maxFreeSockets: 16 } as const;
/** Response headers of the other node that are passed to the client. */
const passedHeaders = [
  ...['content-type', 'content-length', 'content-encoding', 'content-range', 'accept-ranges'],
  ...['etag', 'last-modified', 'cache-control', 'vary', 'retry-after'],
];

export type NodeHttpClientOptions = {
  log: Log;
  tokens: Pick<NodeTokens, 'sign'>;
  /** PEM of this node's certificate. */
  ownCertificate?: (() => string | undefined) | undefined;
  /** Milliseconds. */
  firstByteTimeoutMs?: number;
};

export type NodeRequest = {
  method: 'GET' | 'HEAD';
  /** Path with query. */
  path: string;
  headers: Record<string, string>;
  /** IP address of the client on whose behalf the request is sent. */
  client: string;
  signal: AbortSignal;
  /** Timeout of the first byte in milliseconds, if it differs from the default. */
  deadline?: number;
};

type Known = { agent: HttpAgent; internalAddress: string; certificate: string | undefined };

/** Owns the connections to the other nodes until close(). */
export class NodeHttpClient {
  readonly #options: NodeHttpClientOptions;
  readonly #agents = new Map<NodeName, Known>();
  #running = 0;

  constructor(options: NodeHttpClientOptions) {
    this.#options = options;
  }

  /** Number of requests whose response has not ended. */
  get running(): number {
    return this.#running;
  }

  /** @throws ServiceError `node_unreachable`, also if the remote node rejects our token; `unavailable` if there are too many requests. */
  async fetch(target: ProxyTarget, request: NodeRequest): Promise<ContentResponse> {
    if (this.#running >= maxRequests) throw new ServiceError('unavailable', 'Too many requests are being proxied', { retryAfter: 1 });
    this.#running += 1;
    let response: IncomingMessage;
    try {
      response = await this.#ask(target, request);
    } catch (error) {
      this.#running -= 1;
      this.#options.log.info({ node: target.name, err: error }, 'proxied request failed');
      throw unreachable(target);
    }
    response.once('close', () => {
      this.#running -= 1;
    });
    const status = response.statusCode ?? 502;
    if (status === 401 || status === 403) {
      response.destroy();
      this.#options.log.warn({ node: target.name }, 'node token rejected by remote node: secret mismatch or clock skew');
      throw unreachable(target);
    }
    const headers: Record<string, string> = {};
    for (const name of passedHeaders) {
      const value = response.headers[name];
      if (typeof value === 'string') headers[name] = value;
    }
    if (request.method === 'GET') return { status, headers, body: response };
    response.resume();
    return { status, headers, body: undefined };
  }

  nodeDown(node: NodeName): void {
    this.#agents.get(node)?.agent.destroy();
    this.#agents.delete(node);
  }

  /** Aborts remaining requests. Idempotent. */
  close(): void {
    for (const node of [...this.#agents.keys()]) this.nodeDown(node);
  }

  async #ask(target: ProxyTarget, request: NodeRequest): Promise<IncomingMessage> {
    try {
      return await this.#askOnce(target, request);
    } catch (error) {
      // The remote node closed an idle connection a moment ago. These requests are safe, so they can be repeated.
      if (!(error instanceof StaleConnection) || request.signal.aborted) throw error;
      return this.#askOnce(target, request);
    }
  }

  #askOnce(target: ProxyTarget, { method, path, headers, client, signal, deadline: timeoutMs }: NodeRequest): Promise<IncomingMessage> {
    const agent = this.#agentOf(target);
    const url = URL.parse(`${target.tls ? 'https' : 'http'}://${target.internalAddress}`);
    if (!url) return Promise.reject(new Error(`invalid internal address ${target.internalAddress}`));
    const requestId = currentRequestId();
    const traceparent = currentSpan()?.traceparent;
    const options: RequestOptions = {
      method,
      // The path is signed, so it must not be normalized by URL.
      path,
      hostname: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port || (target.tls ? 443 : 80),
      agent,
      headers: {
        ...headers,
        ...(requestId !== undefined && { 'x-request-id': requestId }),
        ...(traceparent !== undefined && { [traceparentHeader]: traceparent }),
        [proxiedHeader]: this.#options.tokens.sign({ client, path, to: target.name }),
      },
      timeout: stalledTimeout,
      signal,
    };
    return new Promise((resolve, reject) => {
      const request = target.tls ? startTlsRequest(options) : startRequest(options);
      const deadline = setTimeout(
        () => request.destroy(new Error('timeout of first byte')),
        timeoutMs ?? this.#options.firstByteTimeoutMs ?? firstByteTimeoutMs,
      );
      request.on('timeout', () => request.destroy(new Error('transfer stalled')));
      request.on('response', (response) => {
        clearTimeout(deadline);
        resolve(response);
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        clearTimeout(deadline);
        reject(request.reusedSocket && error.code === 'ECONNRESET' ? new StaleConnection(error.message, { cause: error }) : error);
      });
      request.end();
    });
  }

  /** Connections are reused per node until its address or our certificate changes. */
  #agentOf(target: ProxyTarget): HttpAgent {
    const certificate = target.tls ? this.#options.ownCertificate?.() : undefined;
    const known = this.#agents.get(target.name);
    if (known?.internalAddress === target.internalAddress && known.certificate === certificate) return known.agent;
    known?.agent.destroy();
    const agent = target.tls ? new TlsAgent({ ...socketOptions, ...nodeTls(target, certificate) }) : new Agent(socketOptions);
    this.#agents.set(target.name, { agent, internalAddress: target.internalAddress, certificate });
    return agent;
  }
}

class StaleConnection extends Error {}

function unreachable({ name }: ProxyTarget): ServiceError {
  return new ServiceError('node_unreachable', `Node ${name} cannot be reached`, { retryAfter: 1 });
}
