// HTTP client of the kit for the API server and etcd: JSON over kept-alive connections, and watches. Independent of the tested client.
import { once } from 'node:events';
import { request as requestHttp } from 'node:http';
import { Agent, request as requestHttps } from 'node:https';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

export type HttpAnswer = { status: number; body: unknown };
export type CallOptions = {
  method?: string;
  body?: unknown;
  contentType?: string;
  signal?: AbortSignal;
};

const deadline = 20_000;

/** A client of one server with one user. */
export class JsonClient {
  readonly #server: URL;
  readonly #token: string | undefined;
  // The server belongs to this test, on loopback; its certificate does not exist yet while it starts.
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false });

  constructor(server: string, token?: string) {
    this.#server = new URL(server);
    this.#token = token;
  }

  /** @throws if no response arrives; an error status is a response */
  async call(path: string, options: CallOptions = {}): Promise<HttpAnswer> {
    const stream = await this.#open(path, { ...options, signal: options.signal ?? AbortSignal.timeout(deadline) });
    let text = '';
    for await (const chunk of stream.setEncoding('utf8')) text += chunk;
    return { status: stream.statusCode ?? 0, body: parsed(text) };
  }

  /** Calls onLine with each object of a stream of JSON lines until it ends. @returns the status of the response */
  async lines(path: string, signal: AbortSignal, onLine: (value: unknown) => void): Promise<number> {
    const stream = await this.#open(path, { signal });
    const status = stream.statusCode ?? 0;
    for await (const line of createInterface({ input: stream })) if (status === 200) onLine(JSON.parse(line));
    return status;
  }

  close(): void {
    this.#agent.destroy();
  }

  async #open(path: string, options: CallOptions): Promise<Readable & { statusCode?: number }> {
    const { method = 'GET', body, contentType = 'application/json', signal } = options;
    const url = new URL(path, this.#server);
    const secure = url.protocol === 'https:';
    const payload = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const headers = {
      accept: 'application/json',
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(payload === undefined ? {} : { 'content-type': contentType, 'content-length': payload.length }),
    };
    const request = secure
      ? requestHttps(url, { method, headers, signal, agent: this.#agent })
      : requestHttp(url, { method, headers, signal });
    const answered = once(request, 'response') as Promise<[Readable & { statusCode?: number }]>;
    request.end(payload);
    try {
      const [response] = await answered;
      return response;
    } catch (error) {
      // The server may have closed a kept-alive connection just then; an API server does so after 90 s without a request.
      const ended = request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes((error as NodeJS.ErrnoException).code ?? '');
      if (!ended || method !== 'GET') throw error;
      return this.#open(path, options);
    }
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
