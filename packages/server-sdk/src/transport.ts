// REST transport: sends requests with a timeout, retries where it is safe and useful, and converts all failures to MediaroomsError.
import { boundedText } from './bounded-body.ts';
import { aborted, Deadline, sleep } from './deadline.ts';
import { MediaroomsError } from './errors.ts';
import { type OperationId, type Operations, operations } from './generated/operations.ts';
import { type Input, targetOf } from './operation-target.ts';
import { baseUrls, defaults, type MediaroomsOptions, type RequestOptions } from './options.ts';
import { isRetryable, mayHaveSucceeded, readRetryAfter, retryDelay } from './retry.ts';

const maxAnswerBytes = 64 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

type SentInput<Id extends OperationId> = Input<Id> & { headers?: Record<string, string> };

export class Transport {
  readonly urls: readonly string[];
  readonly #options: MediaroomsOptions;
  /** Index of the current address. */
  #current = 0;

  constructor(options: MediaroomsOptions) {
    this.urls = baseUrls(options.url);
    this.#options = options;
  }

  async token(): Promise<string> {
    const { token } = this.#options;
    return typeof token === 'string' ? token : token();
  }

  /** @returns the parsed response body. @throws MediaroomsError */
  async call<Id extends OperationId>(id: Id, input: SentInput<Id> = {}, options: RequestOptions = {}): Promise<Operations[Id]['answer']> {
    const read = async (response: Response) => (await readJson(response)) as Operations[Id]['answer'];
    return (await this.request(id, input, read, options)) as Operations[Id]['answer'];
  }

  /** Like call(), but `read` consumes the response within the timeout. */
  async request<Id extends OperationId, T>(
    id: Id,
    input: SentInput<Id>,
    read: (response: Response) => Promise<T>,
    {
      timeout = this.#options.timeout ?? defaults.timeout,
      retries = this.#options.retries ?? defaults.retries,
      signal,
    }: RequestOptions = {},
  ): Promise<T | undefined> {
    const { method, repeatable } = operations[id];
    const target = targetOf(id, input);
    const deadline = new Deadline(timeout, signal);
    const until = Date.now() + timeout;
    let uncertain = false;
    try {
      for (let attempt = 0; ; attempt += 1) {
        try {
          return await this.#try(method, target, input, read, deadline.signal);
        } catch (error) {
          if (deadline.signal.aborted) throw deadline.signal.reason;
          if (!(error instanceof MediaroomsError)) throw error;
          // An earlier attempt deleted it, and only its response was lost.
          if (uncertain && method === 'DELETE' && error.status === 404) return undefined;
          uncertain ||= mayHaveSucceeded(error);
          const delay = retryDelay(attempt, error.retryAfter, Math.random());
          if (attempt >= retries || !isRetryable(error, repeatable) || Date.now() + delay >= until) throw error;
          await sleep(delay, deadline.signal);
        }
      }
    } catch (error) {
      throw deadline.signal.aborted ? deadline.signal.reason : error;
    } finally {
      deadline.end();
    }
  }

  async #try<T>(
    method: string,
    target: string,
    { body, headers }: { body?: unknown; headers?: Record<string, string> },
    read: (response: Response) => Promise<T>,
    whole: AbortSignal,
  ): Promise<T> {
    const token = await this.token();
    const deadline = new Deadline(this.#options.tryTimeout ?? defaults.tryTimeout, whole);
    const { signal } = deadline;
    const base = this.#current;
    try {
      const response = await (this.#options.fetch ?? fetch)(`${this.urls[base]}${target}`, {
        method,
        headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        // The server never redirects, and the token must not be sent elsewhere.
        redirect: 'manual',
        signal,
      });
      if (!response.ok) throw await refusal(response);
      return await read(response);
    } catch (error) {
      const failure = asFailure(error, signal);
      // The next attempt uses the next address, unless a concurrent request has switched already.
      if (mayHaveSucceeded(failure) && base === this.#current) this.#current = (base + 1) % this.urls.length;
      throw failure;
    } finally {
      deadline.end();
    }
  }
}

async function readJson(response: Response): Promise<unknown> {
  const text = await boundedText(response.body, maxAnswerBytes);
  return text === '' ? undefined : JSON.parse(text);
}

async function refusal(response: Response): Promise<MediaroomsError> {
  const { status, headers } = response;
  const retryAfter = readRetryAfter(headers.get('retry-after'), Date.now());
  const facts = { status, retryAfter, requestId: headers.get('x-request-id') ?? undefined };
  const body = await readJsonQuietly(response);
  if (typeof body !== 'object' || body === null || !('errors' in body) || !('code' in body)) {
    return new MediaroomsError({ ...facts, code: 'http_error', message: `Unexpected response with status ${status}` });
  }
  const { errors, code, field, reason } = body as Record<string, unknown>;
  return new MediaroomsError({ ...facts, code: String(code), message: String(errors), field: textOf(field), reason: textOf(reason) });
}

/** Servers before 0.8 have neither field nor reason. */
function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

async function readJsonQuietly(response: Response): Promise<unknown> {
  try {
    return JSON.parse(await boundedText(response.body, maxErrorBytes));
  } catch {
    return undefined;
  }
}

function asFailure(error: unknown, signal: AbortSignal): MediaroomsError {
  if (error instanceof MediaroomsError) return error;
  if (signal.aborted) return signal.reason instanceof MediaroomsError ? signal.reason : aborted(signal);
  if (error instanceof SyntaxError || error instanceof RangeError) {
    return new MediaroomsError({ code: 'invalid_answer', message: 'The response could not be parsed', cause: error });
  }
  return new MediaroomsError({ code: 'connection_failed', message: `The server could not be reached${reasonOf(error)}`, cause: error });
}

/** Code of the system error, for example ECONNREFUSED. */
function reasonOf(error: unknown): string {
  const { cause } = error as { cause?: { code?: unknown } };
  return typeof cause?.code === 'string' ? ` (${cause.code})` : '';
}
