// Content file: responds to a request for a file with the whole file, a range, or headers only.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import type { ContentResponse } from '../rooms/services/content.ts';
import { type FileRequest, planFileResponse } from './file-response.ts';

/** Bytes read ahead for each client. */
const readAhead = 256 * 1024;

/** @returns undefined if there is no readable file at this real path. */
export async function openContentFile(path: string): Promise<FileHandle | undefined> {
  // NONBLOCK: opening a pipe would wait for its writer. NOFOLLOW: the resolved path must not have become a link.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(path, flags).catch(ignoreMissing);
  if (!handle || (await handle.stat()).isFile()) return handle;
  await handle.close();
  return undefined;
}

/** Takes ownership of the handle. `more`: headers in addition to those of the file. */
export async function openFileResponse(
  handle: FileHandle,
  request: FileRequest,
  more: Record<string, string> = {},
): Promise<ContentResponse> {
  try {
    const { size, mtime } = await handle.stat();
    const { status, headers, bytes } = planFileResponse({ size, modified: mtime.getTime() }, request, more);
    if (bytes) return { status, headers, body: handle.createReadStream({ ...bytes, highWaterMark: readAhead }) };
    await handle.close();
    return { status, headers, body: undefined };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The file was deleted meanwhile, or is a socket or link. */
export function ignoreMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw error;
}
