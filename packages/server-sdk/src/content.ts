// Recordings and streams.

import { sleep } from './deadline.ts';
import { MediaroomsError } from './errors.ts';
import type { Recordings as RecordingList, RecordingReport, Render, RenderOptions, ViewerToken } from './generated/schemas.ts';
import type { RequestOptions } from './options.ts';
import { retryDelay } from './retry.ts';
import type { Transport } from './transport.ts';

/** Longest silence within a file. */
const silence = 30_000;
/** How often a file is taken up again without a byte in between. */
const takeUps = 5;

export class Recordings {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Of the whole cluster; with `details` also what they are and how far their upload is. `incomplete` names nodes that did not answer. */
  async list({ details = false }: { details?: boolean } = {}, options?: RequestOptions): Promise<RecordingList> {
    return this.#transport.call('listRecordings', { query: details ? { details: 'true' } : {} }, options);
  }

  /** The report: tracks, files, times. */
  async report(recordingId: string, options?: RequestOptions): Promise<RecordingReport> {
    return this.#transport.call('getRecording', { path: { recordingId } }, options);
  }

  async delete(recordingId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('deleteRecording', { path: { recordingId } }, options);
  }

  /** Renders one MP4 of a recording, on the node that has it, behind everything live; it is then its file `rendered.mp4`. */
  async render(recordingId: string, render: RenderOptions = {}, options?: RequestOptions): Promise<Render> {
    return (await this.#transport.call('renderRecording', { path: { recordingId }, body: render }, options)).data;
  }

  /** How far it is. */
  async getRender(recordingId: string, options?: RequestOptions): Promise<Render> {
    return (await this.#transport.call('getRender', { path: { recordingId } }, options)).data;
  }

  /** Gives it up; what was rendered before stays. */
  async cancelRender(recordingId: string, options?: RequestOptions): Promise<void> {
    await this.#transport.call('cancelRender', { path: { recordingId } }, options);
  }

  /**
   * The bytes of a file, as they come; where the connection is lost it goes on at the same byte. To disk in Node.js:
   * `await pipeline(mediarooms.recordings.read(id, file), createWriteStream(path))`. @throws MediaroomsError
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
    if (!response) throw new MediaroomsError({ code: 'invalid_answer', message: 'There was no file in the answer' });
    return response;
  }
}

class LostConnection extends Error {}

function errorOf(error: unknown): unknown {
  if (!(error instanceof LostConnection)) return error;
  return new MediaroomsError({ code: 'connection_failed', message: 'The connection was lost within the file', cause: error.cause });
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
    if (bytes < length) throw new LostConnection('it ended early');
  } finally {
    await reader.cancel().catch(() => {});
  }
}

/** What the promise gives, unless nothing comes for too long or the caller does not want it any more. */
async function within<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  const stop = new AbortController();
  const end = () => stop.abort();
  signal?.addEventListener('abort', end, { once: true });
  if (signal?.aborted) end();
  const timer = sleep(silence, stop.signal).then(() => {
    throw new LostConnection('it was silent');
  });
  try {
    return await Promise.race([
      promise.catch((error: unknown) => {
        throw new LostConnection('it broke off', { cause: error });
      }),
      timer,
    ]);
  } finally {
    signal?.removeEventListener('abort', end);
    timer.catch(() => {});
    end();
  }
}

export class Hls {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** A link for players that cannot send headers; `expiresIn` is in seconds, an hour by default. The url has no scheme. */
  async createToken(roomId: string, viewer: { expiresIn?: number } = {}, options?: RequestOptions): Promise<ViewerToken> {
    return (await this.#transport.call('createViewerToken', { path: { roomId }, body: viewer }, options)).data;
  }
}
