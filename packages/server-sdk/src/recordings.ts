// Recordings: their methods, and reading of files that resumes after a connection loss.

import { sleep } from './deadline.ts';
import { MediaroomsError } from './errors.ts';
import { Recordings as RecordingMethods } from './generated/methods.ts';
import type { RequestOptions } from './options.ts';
import { retryDelay } from './retry.ts';
import type { Transport } from './transport.ts';

/** Maximum time without data within a file, in milliseconds. */
const silence = 30_000;
/** Maximum number of consecutive resumes without progress. */
const takeUps = 5;

export class Recordings extends RecordingMethods {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    super(transport);
    this.#transport = transport;
  }

  /**
   * Streams a file; after a connection loss it resumes at the same byte. To save it in Node.js: `await
   * pipeline(mediarooms.recordings.read(id, file), createWriteStream(path))`.
   * @throws MediaroomsError `not_found`, `connection_failed`, `invalid_answer` if the file changed meanwhile
   */
  async *read(recordingId: string, file: string, options: RequestOptions = {}): AsyncGenerator<Uint8Array, void, undefined> {
    let position = 0;
    let etag: string | null = null;
    for (let failures = 0; ; ) {
      const headers: Record<string, string> =
        position > 0 ? { range: `bytes=${position}-`, ...(etag !== null && { 'if-range': etag }) } : {};
      const response = await this.#open({ recordingId, file }, headers, options);
      if (position > 0 && response.status !== 206) {
        await response.body?.cancel();
        throw new MediaroomsError({ code: 'invalid_answer', message: 'The file changed while it was read', status: response.status });
      }
      etag = response.headers.get('etag');
      try {
        for await (const chunk of chunksOf(response, options.signal)) {
          failures = 0;
          position += chunk.byteLength;
          yield chunk;
        }
        return;
      } catch (error) {
        failures += 1;
        if (options.signal?.aborted || !(error instanceof LostConnection) || failures > takeUps) throw errorOf(error);
        await sleep(retryDelay(failures, undefined, Math.random()), options.signal);
      }
    }
  }

  async #open(path: { recordingId: string; file: string }, headers: Record<string, string>, options: RequestOptions): Promise<Response> {
    const response = await this.#transport.request('getRecordingFile', { path, headers }, async (answer) => answer, options);
    if (!response) throw new MediaroomsError({ code: 'invalid_answer', message: 'The response has no body' });
    return response;
  }
}

class LostConnection extends Error {}

function errorOf(error: unknown): unknown {
  if (!(error instanceof LostConnection)) return error;
  return new MediaroomsError({ code: 'connection_failed', message: 'The connection was lost while reading the file', cause: error.cause });
}

/** @throws LostConnection, MediaroomsError `aborted` */
async function* chunksOf(response: Response, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, undefined> {
  if (!response.body) return;
  const length = Number(response.headers.get('content-length') ?? Number.NaN);
  const reader = response.body.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await within(reader.read(), signal);
      if (done) break;
      bytes += value.byteLength;
      yield value;
    }
    if (bytes < length) throw new LostConnection('response ended early');
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** Resolves with the promise, unless no data arrives in time or the caller aborts. */
async function within<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const stop = new AbortController();
  const end = () => stop.abort();
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  const timer = sleep(silence, stop.signal).then(() => {
    throw new LostConnection('response stalled');
  });
  try {
    return await Promise.race([
      promise.catch((error: unknown) => {
        throw new LostConnection('response aborted', { cause: error });
      }),
      timer,
    ]);
  } finally {
    signal?.removeEventListener('abort', end);
    timer.catch(() => {});
    end();
  }
}
