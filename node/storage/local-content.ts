// What this node has for viewers: streams that are made here, and recordings on its disk, `<resources>/recordings/<id>/`, files right in them.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../common/errors.ts';
import {
  type ContentKind,
  type ContentRequest,
  type ContentResponse,
  type ContentService,
  type LiveStreams,
  recordingIdSchema,
} from '../rooms/shapes/content.ts';
import { ignoreMissing, openContentFile, openFileResponse } from './content-file.ts';
import { resolveFileInside, resolveWithoutLinks } from './safe-paths.ts';

const recordings = 'recordings';
/** Most recordings that are listed. */
const maxListed = 100_000;

export class LocalContent implements ContentService {
  readonly #resources: string;
  readonly #streams: LiveStreams | undefined;
  readonly #isRunning: (recordingId: string) => boolean;

  /** `resources`: absolute path of the resources directory. `isRunning`: whether this recording is being made here. */
  constructor(resources: string, isRunning: (recordingId: string) => boolean = () => false, streams?: LiveStreams) {
    this.#resources = resources;
    this.#streams = streams;
    this.#isRunning = isRunning;
  }

  /** Whether anything is here under this name. Never throws for a name. */
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
    if (!handle) throw new ServiceError('not_found', `There is no file ${request.file} of recording ${request.folder}`);
    return openFileResponse(handle, request);
  }

  #openStream(request: ContentRequest): Promise<ContentResponse> {
    if (!this.#streams) throw new ServiceError('not_found', `There is no stream of room ${request.folder}`);
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
    if (this.#isRunning(id)) throw new ServiceError('conflict', `Recording ${id} is being made: it can be deleted once it has ended`);
    await rm(path, { recursive: true, force: true });
  }

  /** The folder itself may be no link: it would show what is another room's. */
  async #folder(id: string): Promise<string | undefined> {
    const path = await resolveWithoutLinks(join(this.#resources, recordings), id);
    return path !== undefined && (await stat(path)).isDirectory() ? path : undefined;
  }
}
