// Webhook client: one request to one receiver, with pooled connections, timeout, no redirects, and blocked addresses.
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { request as httpRequest } from '../../common/builtin-http.ts';
import { type GuardedAgents, guardedAgents } from '../../common/guarded-agents.ts';
import { parseRetryAfter } from './retry-delay.ts';

/** Maximum bytes of a response that are read to reuse its connection. With more the connection is closed. */
const maxAnswer = 64 * 1024;
/** Maximum concurrent connections to all receivers, and idle connections per receiver. */
const maxConnections = 256;
const maxIdle = 8;
/** Idle timeout of a connection in milliseconds: lower than on common servers, so that they rarely close it first. */
const idleTime = 4_000;

/** `retryAfter` in milliseconds. */
export type DeliveryResponse = { status: number; retryAfter: number | undefined };

export type WebhookClientOptions = {
  allowPrivate: () => boolean;
  userAgent: string;
  /** Timeout of the whole request in milliseconds. */
  deadline?: number;
  lookup?: LookupFunction;
  /** PEM of trusted CAs, instead of those of the system. */
  ca?: string | undefined;
};

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #deadline: number;
  #agents: GuardedAgents;
  /** Value when the pooled connections were opened. */
  #allowPrivate: boolean;

  constructor(options: WebhookClientOptions) {
    this.#options = options;
    this.#deadline = options.deadline ?? 10_000;
    this.#allowPrivate = options.allowPrivate();
    this.#agents = this.#newAgents();
  }

  /** @throws ForbiddenAddressError, or any error of the connection; `TimeoutError` after the timeout. */
  async post(url: string, headers: Record<string, string>, body: string): Promise<DeliveryResponse> {
    const target = new URL(url);
    const allowPrivate = this.#options.allowPrivate();
    if (allowPrivate !== this.#allowPrivate) {
      this.close();
      this.#allowPrivate = allowPrivate;
      this.#agents = this.#newAgents();
    }
    const signal = AbortSignal.timeout(this.#deadline);
    try {
      return await this.#once(target, headers, body, signal);
    } catch (error) {
      // The receiver closed an idle connection just as it was used, which is no failure of the receiver.
      if (!(error instanceof StaleConnectionError)) throw error;
      return await this.#once(target, headers, body, signal);
    }
  }

  /** Closes the connections. */
  close(): void {
    this.#agents.http.destroy();
    this.#agents.https.destroy();
  }

  #newAgents(): GuardedAgents {
    const { allowPrivate, lookup } = this.#options;
    const options = { keepAlive: true, maxTotalSockets: maxConnections, maxFreeSockets: maxIdle, timeout: idleTime };
    return guardedAgents({ allowPrivate, lookup }, options);
  }

  #once(target: URL, headers: Record<string, string>, body: string, signal: AbortSignal): Promise<DeliveryResponse> {
    const { promise, resolve, reject } = Promise.withResolvers<DeliveryResponse>();
    const secure = target.protocol === 'https:';
    const options = {
      method: 'POST',
      agent: secure ? this.#agents.https : this.#agents.http,
      headers: {
        'content-type': 'application/json',
        ...headers,
        'content-length': Buffer.byteLength(body),
        'user-agent': this.#options.userAgent,
      },
      signal,
      ...(this.#options.ca !== undefined && { ca: this.#options.ca }),
    };
    const request = secure ? httpsRequest(target, options) : httpRequest(target, options);
    request.on('error', (error: NodeJS.ErrnoException) => {
      const stale = request.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
      reject(stale ? new StaleConnectionError(error.message) : signal.aborted ? (signal.reason as Error) : error);
    });
    request.on('response', (response) => {
      const answer = { status: response.statusCode ?? 0, retryAfter: parseRetryAfter(response.headers['retry-after'], Date.now()) };
      drain(response, () => resolve(answer));
    });
    request.end(body);
    return promise;
  }
}

class StaleConnectionError extends Error {}

/** The status decides, even if the rest of the response fails. */
function drain(response: IncomingMessage, done: () => void): void {
  let read = 0;
  response.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > maxAnswer) response.destroy();
  });
  response.on('error', () => {});
  response.on('close', done);
}
