// Local content: HLS streams of this node, and recordings on its disk (`<resources>/recordings/<id>/`, without subfolders).
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../api/errors.ts';
import { recordingIdSchema } from '../../api/recording.ts';
import type { ContentKind, ContentRequest, ContentResponse, ContentService, LiveStreams } from '../rooms/services/content.ts';
import { ignoreMissing, openContentFile, openFileResponse } from './content-file.ts';
import { resolveFileInside, resolveWithoutLinks } from './safe-paths.ts';

const recordings = 'recordings';
/** Maximum number of listed recordings. */
const maxListed = 100_000;

export class LocalContent implements ContentService {
  readonly #resources: string;
  readonly #streams: LiveStreams | undefined;
  readonly #isRunning: (recordingId: string) => boolean;

  /** `resources`: absolute path of the resources directory. `isRunning`: true while the recording is written on this node. */
  constructor(resources: string, isRunning: (recordingId: string) => boolean = () => false, streams?: LiveStreams) {
    this.#resources = resources;
    this.#streams = streams;
    this.#isRunning = isRunning;
  }

  /** True if this node has content under this name. Never throws because of the name. */
  async has(kind: ContentKind, folder: string): Promise<boolean> {
    if (kind === 'hls') return this.#streams?.has(folder) ?? false;
    const path = await this.#folder(folder).catch(() => undefined);
    return path !== undefined;
  }

  async open(request: ContentRequest): Promise<ContentResponse> {
    if (request.kind === 'hls') return this.#openStream(request);
    const inside = await this.#folder(request.folder);
    const path = inside === undefined ? undefined : await resolveFileInside(inside, request.file);
    const handle = path === undefined ? undefined : await openContentFile(path);
    if (!handle) throw new ServiceError('not_found', `Recording ${request.folder} has no file ${request.file}`);
    return openFileResponse(handle, request);
  }

  #openStream(request: ContentRequest): Promise<ContentResponse> {
    if (!this.#streams) throw new ServiceError('not_found', `Room ${request.folder} has no stream`);
    return this.#streams.open(request);
  }

  async listRecordings(): Promise<{ ids: string[]; incomplete: string[] }> {
    const entries = await readdir(join(this.#resources, recordings), { withFileTypes: true }).catch(ignoreMissing);
    const ids = (entries ?? []).filter((entry) => entry.isDirectory() && recordingIdSchema.safeParse(entry.name).success);
    const names = ids.map(({ name }) => name).sort();
    return { ids: names.slice(0, maxListed), incomplete: [] };
  }

  async deleteRecording(id: string): Promise<void> {
    const path = await this.#folder(id);
    if (path === undefined) throw new ServiceError('not_found', `Recording ${id} does not exist`);
    if (this.#isRunning(id)) throw new ServiceError('conflict', `Recording ${id} is in progress: it can be deleted once it has ended`);
    await rm(path, { recursive: true, force: true });
  }

  /** The folder must not be a link: it could expose content of another room. */
  async #folder(id: string): Promise<string | undefined> {
    const path = await resolveWithoutLinks(join(this.#resources, recordings), id);
    return path !== undefined && (await stat(path)).isDirectory() ? path : undefined;
  }
}
