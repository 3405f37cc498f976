// One request to one receiver: connections kept and bounded, deadline, no redirects, and no address that is forbidden.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { LookupFunction } from 'node:net';
import { type GuardedAgents, guardedAgents } from '../../common/guarded-agents.ts';
import { parseRetryAfter } from './retry-delay.ts';

/** Bytes of an answer that are read so that its connection can be used again; one with more loses it. */
const maxAnswer = 64 * 1024;
/** Connections at the same time to all receivers, and of those kept open without a request per receiver. */
const maxConnections = 256;
const maxIdle = 8;
/** How long an idle connection is kept, in milliseconds: below what servers commonly allow, so that they rarely close it under us. */
const idleTime = 4_000;

/** `retryAfter` in milliseconds. */
export type DeliveryResponse = { status: number; retryAfter: number | undefined };

export type WebhookClientOptions = {
  allowPrivate: () => boolean;
  userAgent: string;
  /** Milliseconds for the whole of a request. */
  deadline?: number;
  lookup?: LookupFunction;
  /** PEM of the authorities that are believed, instead of the system's. */
  ca?: string | undefined;
};

export class WebhookClient {
  readonly #options: WebhookClientOptions;
  readonly #deadline: number;
  #agents: GuardedAgents;
  /** As it was when the connections that are kept were made. */
  #allowPrivate: boolean;

  constructor(options: WebhookClientOptions) {
    this.#options = options;
    this.#deadline = options.deadline ?? 10_000;
    this.#allowPrivate = options.allowPrivate();
    this.#agents = this.#newAgents();
  }

  /** @throws ForbiddenAddressError, or any error of the connection; `TimeoutError` beyond the deadline. */
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
      // The receiver closed a kept connection just as it was used: that says nothing of the receiver.
      if (!(error instanceof StaleConnectionError)) throw error;
      return await this.#once(target, headers, body, signal);
    }
  }

  /** Ends the connections. */
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
        ...headers,
        'content-type': 'application/json',
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

/** What the status line said counts, whatever becomes of the rest of the answer. */
function drain(response: IncomingMessage, done: () => void): void {
  let read = 0;
  response.on('data', (chunk: Buffer) => {
    read += chunk.length;
    if (read > maxAnswer) response.destroy();
  });
  response.on('error', () => {});
  response.on('close', done);
}
