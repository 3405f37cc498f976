// Files of recordings for the browser itself: addresses with a viewer's token, or, with an API token that may only read, the bytes.
import type { Scope } from '../hooks/console-context.ts';
import { recordingEndpoints, roomOfRecording } from './recordings.ts';
import { type Api, ApiError } from './rest.ts';

/** Seconds that an address of a file is good for. */
const lifetime = 3600;
/** Bytes that are taken into memory where there is no address. */
const maxInMemory = 512 * 1000 * 1000;
const deadline = 10_000;

/** An address that media elements and links take. `close` lets go of what is behind it. */
export type OpenedFile = { url: string; close: () => void };
/** For hls.js: the playlist, and the header that every request needs where the address alone does not do. */
export type OpenedStream = { url: string; authorization: string | undefined };
export type FileName = { recordingId: string; file: string };

/** @param onProgress hears bytes, where they are taken into memory */
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

/** Resolves where the file can be had at that address. @throws ApiError with the server's sentence where it cannot */
export async function checkAddress(url: string, authorization: string | undefined, signal: AbortSignal): Promise<void> {
  const headers = { range: 'bytes=0-0', ...(authorization !== undefined && { authorization }) };
  const response = await ask(url, headers, signal, AbortSignal.timeout(deadline));
  // 416: it is there, and empty.
  if (!response.ok && response.status !== 416) await refuse(response);
  await response.body?.cancel();
}

async function addressOf(api: Api, roomId: string, name: FileName, signal: AbortSignal): Promise<string> {
  const { data } = await api.call('POST', `hls/${encodeURIComponent(roomId)}/token`, { expiresIn: lifetime }, signal);
  const url = new URL(plainAddress(api, name));
  url.searchParams.set('token', (data as { token: string }).token);
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
    const told = Number(response.headers.get('content-length'));
    const all = told > 0 ? told : undefined;
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
    throw cause instanceof ApiError ? cause : new ApiError(0, 'unreachable', 'The server ended before the file did', { cause });
  } finally {
    clearTimeout(timer);
    silent.abort();
  }
}

function tooLarge(): ApiError {
  return new ApiError(
    413,
    'too_large',
    'With a token that may only read, files of more than 512 MB cannot be opened here: copy the command for curl instead',
  );
}

async function ask(url: string, headers: Record<string, string>, ...signals: AbortSignal[]): Promise<Response> {
  try {
    return await fetch(url, { headers, cache: 'no-store', signal: AbortSignal.any(signals) });
  } catch (cause) {
    throw new ApiError(0, 'unreachable', 'The server does not answer', { cause });
  }
}

async function refuse(response: Response): Promise<never> {
  const answer: unknown = await response.json().catch(() => undefined);
  const { errors, code } = (typeof answer === 'object' && answer !== null ? answer : {}) as { errors?: unknown; code?: unknown };
  const sentence = typeof errors === 'string' ? errors : `The server answered ${response.status}`;
  throw new ApiError(response.status, typeof code === 'string' ? code : 'unknown', sentence);
}
