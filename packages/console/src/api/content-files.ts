// Recording files for the browser: URLs with a viewer token or, with a read-only API token, the content itself.
import type { Scope } from '../hooks/console-context.ts';
import { operationRequest } from './operation-request.ts';
import { recordingEndpoints, roomOfRecording } from './recordings.ts';
import { type Api, ApiError } from './rest.ts';

/** Seconds that a viewer token is valid. */
const lifetime = 3600;
/** Maximum bytes of a file that is loaded into memory because no URL is available. */
const maxInMemory = 512 * 1000 * 1000;
const deadline = 10_000;

/** A URL for media elements and links. `close` releases its content. */
export type OpenedFile = { url: string; close: () => void };
/** For hls.js: the playlist, and the header of every request if the URL has no token. */
export type OpenedStream = { url: string; authorization: string | undefined };
export type FileName = { recordingId: string; file: string };

/** @param onProgress receives the number of bytes while a file is loaded into memory */
export async function openFile(
  api: Api,
  scope: Scope,
  name: FileName,
  signal: AbortSignal,
  onProgress: (bytes: number, all: number | undefined) => void,
): Promise<OpenedFile> {
  const room = roomOfRecording(name.recordingId);
  if (scope === 'full' && room !== undefined) return { url: await addressOf(api, room, name, signal), close: () => undefined };
  const bytes = await readWhole(api, name, signal, onProgress);
  const url = URL.createObjectURL(bytes);
  return { url, close: () => URL.revokeObjectURL(url) };
}

export async function openStream(api: Api, scope: Scope, name: FileName, signal: AbortSignal): Promise<OpenedStream> {
  const room = roomOfRecording(name.recordingId);
  if (scope === 'full' && room !== undefined) return { url: await addressOf(api, room, name, signal), authorization: undefined };
  return { url: plainAddress(api, name), authorization: `Bearer ${api.token}` };
}

/** Resolves if the file is available at that URL. @throws ApiError with the message of the server if it is not */
export async function checkAddress(url: string, authorization: string | undefined, signal: AbortSignal): Promise<void> {
  const headers = { range: 'bytes=0-0', ...(authorization !== undefined && { authorization }) };
  const response = await ask(url, headers, signal, AbortSignal.timeout(deadline));
  // 416: the file exists and is empty.
  if (!response.ok && response.status !== 416) await refuse(response);
  await response.body?.cancel();
}

async function addressOf(api: Api, roomId: string, name: FileName, signal: AbortSignal): Promise<string> {
  const { data } = await api.send(operationRequest('createViewerToken', { path: { roomId }, body: { expiresIn: lifetime } }), signal);
  const url = new URL(plainAddress(api, name));
  url.searchParams.set('token', data.token);
  return url.href;
}

function plainAddress(api: Api, { recordingId, file }: FileName): string {
  return new URL(recordingEndpoints.file(recordingId, file).path, api.base).href;
}

async function readWhole(
  api: Api,
  name: FileName,
  signal: AbortSignal,
  onProgress: (bytes: number, all: number | undefined) => void,
): Promise<Blob> {
  const silent = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const wait = () => {
    clearTimeout(timer);
    timer = setTimeout(() => silent.abort(), deadline);
  };
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let size = 0;
  try {
    wait();
    const response = await ask(plainAddress(api, name), { authorization: `Bearer ${api.token}` }, signal, silent.signal);
    if (!response.ok) await refuse(response);
    const contentLength = Number(response.headers.get('content-length'));
    const all = contentLength > 0 ? contentLength : undefined;
    if ((all ?? 0) > maxInMemory) throw tooLarge();
    for (const reader = response.body?.getReader(); reader; wait()) {
      const { done, value } = await reader.read();
      if (done) break;
      chunks.push(value);
      size += value.length;
      if (size > maxInMemory) throw tooLarge();
      onProgress(size, all);
    }
    return new Blob(chunks, { type: response.headers.get('content-type') ?? '' });
  } catch (cause) {
    if (cause instanceof ApiError) throw cause;
    throw new ApiError(0, 'unreachable', 'The server closed the connection before the end of the file', { cause });
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

function tooLarge(): ApiError {
  return new ApiError(413, 'too_large', 'Files over 512 MB cannot be opened with a read-only token; use “Copy as curl” instead');
}

async function ask(url: string, headers: Record<string, string>, ...signals: AbortSignal[]): Promise<Response> {
  try {
    return await fetch(url, { headers, cache: 'no-store', signal: AbortSignal.any(signals) });
  } catch (cause) {
    throw new ApiError(0, 'unreachable', 'Cannot reach the server', { cause });
  }
}

async function refuse(response: Response): Promise<never> {
  const answer: unknown = await response.json().catch(() => undefined);
  const { errors, code } = (typeof answer === 'object' && answer !== null ? answer : {}) as { errors?: unknown; code?: unknown };
  const message = typeof errors === 'string' ? errors : `The server responded with status ${response.status}`;
  throw new ApiError(response.status, typeof code === 'string' ? code : 'unknown', message);
}
