// A file as the answer to a request for it: whole, a range of it, or nothing but its headers.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { ContentResponse } from '../rooms/shapes/content.ts';
import { type FileRequest, planFileResponse } from './file-response.ts';

/** Bytes that are read ahead of each client. */
const readAhead = 256 * 1024;

/** @returns undefined where there is no file that can be read under this real path. */
export async function openContentFile(path: string): Promise<FileHandle | undefined> {
  // NONBLOCK: opening a pipe would wait for who writes to it. NOFOLLOW: the path was real a moment ago.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(path, flags).catch(ignoreMissing);
  if (!handle || (await handle.stat()).isFile()) return handle;
  await handle.close();
  return undefined;
}

/** Takes the handle over. `more`: headers of the answer beside those of the file. */
export async function openFileResponse(
  handle: FileHandle,
  request: FileRequest,
  more: Record<string, string> = {},
): Promise<ContentResponse> {
  try {
    const { size, mtime } = await handle.stat();
    const modified = mtime.getTime();
    const etag = `"${size.toString(36)}-${modified.toString(36)}"`;
    const { status, headers, bytes } = planFileResponse({ size, modified, etag }, request, more);
    if (bytes) return { status, headers, body: handle.createReadStream({ ...bytes, highWaterMark: readAhead }) };
    await handle.close();
    return { status, headers, body: undefined };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** It went away in between, or is a socket, or a link. */
export function ignoreMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw error;
}
