// Transport: one HTTP request with JSON to the API server, bounded in time and size. Every failure is a KubeError.
import type { IncomingHttpHeaders } from 'node:http';
import type { Readable } from 'node:stream';
import { parseJson } from '../../json.ts';
import type { ApiServerConnection } from './api-server-connection.ts';
import { clientError } from './kube-error.ts';
import { type Query, queryText } from './paths.ts';
import { describeRequest, invalidResponse, type RequestInfo, toStatusError, verbs } from './responses.ts';

/** `repeatable`: idempotent; everything except `create` is, if omitted. */
export type Request = {
  call: RequestInfo;
  path: string;
  query?: Query;
  body?: unknown;
  repeatable?: boolean;
  /** Requests only the metadata of the objects. */
  metadataOnly?: boolean | undefined;
};

/** Objects without spec, status and data: https://kubernetes.io/docs/reference/using-api/api-concepts/#metadata-only-fetches */
const acceptMetadata = 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json';
const acceptMetadataList = 'application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json';

/** A page of 500 Secrets of maximum size is longer; clusters with such Secrets need smaller pages. */
const maxResponseBytes = 128 * 2 ** 20;

type Answer = { status: number; headers: IncomingHttpHeaders; body: Readable };

export class Transport {
  readonly #apiServerConnection: ApiServerConnection;
  readonly #userAgent: string;
  readonly #longest: number;

  constructor(apiServerConnection: ApiServerConnection, userAgent: string, longest = maxResponseBytes) {
    this.#apiServerConnection = apiServerConnection;
    this.#userAgent = userAgent;
    this.#longest = longest;
  }

  get host(): string {
    return new URL(this.#apiServerConnection.origin).host;
  }

  /** Response body as JSON. @throws KubeError, or the reason of the signal */
  async json(request: Request, signal: AbortSignal): Promise<unknown> {
    const { status, headers, body } = await this.#send(request, signal);
    const text = await this.#text(request.call, body, signal);
    const json = parseJson(text);
    if (status < 200 || status > 299) throw toStatusError(request.call, status, json, headers['retry-after']);
    if (json === undefined) throw invalidResponse(request.call, 'returned invalid JSON');
    return json;
  }

  /** Response body as a stream. @throws KubeError, or the reason of the signal */
  async stream(request: Request, signal: AbortSignal): Promise<Readable> {
    const { status, headers, body } = await this.#send(request, signal);
    if (status === 200) return body;
    throw toStatusError(request.call, status, parseJson(await this.#text(request.call, body, signal)), headers['retry-after']);
  }

  close(): Promise<void> {
    return this.#apiServerConnection.close();
  }

  async #send(request: Request, signal: AbortSignal): Promise<Answer> {
    const { call, path, query, body } = request;
    const { method, contentType = 'application/json' } = verbs[call.verb];
    const { dispatcher, headers } = await until(signal, this.#apiServerConnection.access());
    try {
      const answer = await dispatcher.request({
        origin: this.#apiServerConnection.origin,
        path: `${this.#apiServerConnection.prefix}${path}${queryText(query ?? {})}`,
        method,
        headers: {
          accept: acceptOf(request),
          ...headers,
          'user-agent': this.#userAgent,
          ...(body === undefined ? {} : { 'content-type': contentType }),
        },
        body: body === undefined ? null : JSON.stringify(body),
        signal,
      });
      // The body may have no reader when the signal destroys it.
      answer.body.on('error', () => {});
      return { status: answer.statusCode, headers: answer.headers, body: answer.body };
    } catch (error) {
      throw toConnectionError(call, error, signal);
    }
  }

  async #text(requestInfo: RequestInfo, body: Readable, signal: AbortSignal): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of body as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > this.#longest) break;
        chunks.push(chunk);
      }
    } catch (error) {
      throw toConnectionError(requestInfo, error, signal);
    }
    if (size > this.#longest) throw invalidResponse(requestInfo, `returned more than ${this.#longest} bytes`);
    return Buffer.concat(chunks).toString();
  }
}

function acceptOf({ call, metadataOnly = false }: Request): string {
  if (!metadataOnly) return 'application/json';
  return call.verb === 'list' ? acceptMetadataList : acceptMetadata;
}

/** Error for a broken connection: the reason of the signal if that aborted it. */
export function toConnectionError(requestInfo: RequestInfo, error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  const code = (error as NodeJS.ErrnoException).code;
  const message = `Could not reach the API server for ${describeRequest(requestInfo)}${code === undefined ? '' : ` (${code})`}.`;
  return clientError('Unreachable', message, error);
}

/** The result of the promise, or the reason of the signal if that aborts first. */
async function until<V>(signal: AbortSignal, promise: Promise<V>): Promise<V> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
