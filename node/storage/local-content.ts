// HLS and recordings on this node's disk: `<resources>/hls/<room>/` and `<resources>/recordings/<id>/`, files right in them.
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rm, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { ServiceError } from '../errors.ts';
import {
  type ContentAnswer,
  type ContentKind,
  type ContentName,
  type ContentRequest,
  type ContentService,
  recordingIdSchema,
} from '../rooms/content.ts';
import { readRange } from './ranges.ts';
import { findInside, findItself } from './safe-paths.ts';

const folders: Record<ContentKind, string> = { hls: 'hls', recording: 'recordings' };
const types: Record<string, string> = {
  '.m3u8': 'application/vnd.apple.mpegurl',
  '.m4s': 'video/mp4',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.mkv': 'video/matroska',
  '.ogg': 'audio/ogg',
  '.json': 'application/json',
};
/** Bytes that are read ahead of each client. */
const readAhead = 256 * 1024;
/** Most recordings that are listed. */
const maxListed = 100_000;

export class LocalContent implements ContentService {
  readonly #resources: string;
  readonly #isRunning: (recordingId: string) => boolean;

  /** `resources`: absolute path of the resources directory. `isRunning`: whether this recording is being made here. */
  constructor(resources: string, isRunning: (recordingId: string) => boolean = () => false) {
    this.#resources = resources;
    this.#isRunning = isRunning;
  }

  /** Whether anything is here under this name. Never throws for a name. */
  async has(kind: ContentKind, folder: string): Promise<boolean> {
    const path = await this.#folder(kind, folder).catch(() => undefined);
    return path !== undefined;
  }

  async open(request: ContentRequest): Promise<ContentAnswer> {
    const handle = await this.#openFile(request);
    try {
      const { size, mtime } = await handle.stat();
      const etag = `"${size.toString(36)}-${mtime.getTime().toString(36)}"`;
      const modified = mtime.toUTCString();
      const headers: Record<string, string> = {
        'content-type': types[extname(request.file).toLowerCase()] ?? 'application/octet-stream',
        'accept-ranges': 'bytes',
        etag,
        'last-modified': modified,
      };
      const sameFile = request.ifRange === undefined || request.ifRange === etag || request.ifRange === modified;
      const range = request.method === 'GET' && sameFile ? readRange(request.range, size) : 'whole';
      if (range === 'unsatisfiable') {
        await handle.close();
        return { status: 416, headers: { 'content-range': `bytes */${size}` }, body: undefined };
      }
      const { start, end } = range === 'whole' ? { start: 0, end: size - 1 } : range;
      headers['content-length'] = String(end - start + 1);
      if (range !== 'whole') headers['content-range'] = `bytes ${start}-${end}/${size}`;
      const status = range === 'whole' ? 200 : 206;
      if (request.method === 'HEAD' || size === 0) {
        await handle.close();
        return { status, headers, body: undefined };
      }
      return { status, headers, body: handle.createReadStream({ start, end, highWaterMark: readAhead }) };
    } catch (error) {
      await handle.close();
      throw error;
    }
  }

  async listRecordings(): Promise<{ ids: string[]; incomplete: string[] }> {
    const entries = await readdir(join(this.#resources, folders.recording), { withFileTypes: true }).catch(ignoreMissing);
    const ids = (entries ?? []).filter((entry) => entry.isDirectory() && recordingIdSchema.safeParse(entry.name).success);
    const names = ids.map(({ name }) => name).sort();
    return { ids: names.slice(0, maxListed), incomplete: [] };
  }

  async deleteRecording(id: string): Promise<void> {
    const path = await this.#folder('recording', id);
    if (path === undefined) throw new ServiceError('not_found', `Recording ${id} does not exist`);
    if (this.#isRunning(id)) throw new ServiceError('conflict', `Recording ${id} is being made: it can be deleted once it has ended`);
    await rm(path, { recursive: true, force: true });
  }

  /** The folder itself may be no link: it would show what is another room's. */
  async #folder(kind: ContentKind, folder: string): Promise<string | undefined> {
    const path = await findItself(join(this.#resources, folders[kind]), folder);
    return path !== undefined && (await stat(path)).isDirectory() ? path : undefined;
  }

  async #openFile({ kind, folder, file }: ContentName): Promise<FileHandle> {
    const inside = await this.#folder(kind, folder);
    const path = inside === undefined ? undefined : await findInside(inside, file);
    // NONBLOCK: opening a pipe would wait for who writes to it. NOFOLLOW: the path was real a moment ago.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const handle = path === undefined ? undefined : await open(path, flags).catch(ignoreMissing);
    if (handle && (await handle.stat()).isFile()) return handle;
    await handle?.close();
    throw missing({ kind, folder, file });
  }
}

function missing({ kind, folder, file }: ContentName): ServiceError {
  return new ServiceError('not_found', `There is no file ${file} of ${kind === 'hls' ? 'room' : 'recording'} ${folder}`);
}

/** It went away in between, or is a socket, or a link. */
function ignoreMissing(error: unknown): undefined {
  if (['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
  throw error;
}
