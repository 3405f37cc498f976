// Own folders: identifies our recordings in a bucket that may be shared. Each has a marker object, which is written first.
import { text } from 'node:stream/consumers';
import { maxReport } from '../../api/recording-report.ts';
import { mapConcurrent } from './map-concurrent.ts';
import { reportName } from './report-file.ts';
import { StorageError } from './s3/s3-errors.ts';
import type { S3Store } from './s3/s3-store.ts';
import { listChunks, parseChunk } from './uploads/chunks.ts';

/** `<room>-<start time>`. */
const archivedId = /^[A-Za-z0-9_-]{1,128}-\d{8}T\d{9}Z$/;
const markers = '.mediarooms/';
/** Folders inspected concurrently. */
const looksAtOnce = 16;
/** Maximum number of cached ids. */
const maxKnown = 50_000;

/** Name of the empty object that marks a folder as ours. */
export function markerOf(id: string): string {
  return `${markers}${id}`;
}

/** All methods fail with StorageError. Times are milliseconds per request. */
export class OwnFolders {
  readonly #store: S3Store;
  readonly #deadline: number;
  readonly #known = new Set<string>();

  constructor(store: S3Store, deadline: number) {
    this.#store = store;
    this.#deadline = deadline;
  }

  async has(id: string, signal: AbortSignal): Promise<boolean> {
    if (!archivedId.test(id)) return false;
    if (this.#known.has(id)) return true;
    if (!(await this.#store.head(markerOf(id), signal, this.#deadline))) return this.#adopt(id, signal);
    this.#remember(id);
    return true;
  }

  async list(signal: AbortSignal): Promise<string[]> {
    const [folders, objects] = await Promise.all([
      this.#store.folders(signal, this.#deadline),
      this.#store.list(markers, signal, this.#deadline),
    ]);
    const marked = new Set(objects.map(({ name }) => name.slice(markers.length)));
    const ids = folders.filter((folder) => archivedId.test(folder));
    const own = await mapConcurrent(ids, looksAtOnce, async (id) => marked.has(id) || this.#known.has(id) || this.#adopt(id, signal));
    return ids.filter((_, index) => own[index]);
  }

  forget(id: string): void {
    this.#known.delete(id);
  }

  /**
   * Releases up to 0.7.0 created no markers. A folder is ours if its report names it, or it has chunks with our names. It then gets a
   * marker.
   */
  async #adopt(id: string, signal: AbortSignal): Promise<boolean> {
    if (!(await this.#isNamedByReport(id, signal)) && !(await this.#hasPieces(id, signal))) return false;
    // Read-only keys are sufficient: then each process inspects the folder once.
    await this.#store.putText(markerOf(id), '', signal).catch(() => {});
    this.#remember(id);
    return true;
  }

  async #isNamedByReport(id: string, signal: AbortSignal): Promise<boolean> {
    try {
      const body = await this.#store.read(`${id}/${reportName}`, { start: 0, end: maxReport - 1 }, signal, this.#deadline);
      const report: unknown = JSON.parse(await text(body));
      return typeof report === 'object' && report !== null && 'id' in report && report.id === id;
    } catch (error) {
      if (error instanceof SyntaxError || (error instanceof StorageError && error.fault === 'missing')) return false;
      throw error;
    }
  }

  async #hasPieces(id: string, signal: AbortSignal): Promise<boolean> {
    const objects = await this.#store.list(listChunks(id), signal, this.#deadline);
    return objects.some(({ name }) => parseChunk(name) !== undefined);
  }

  #remember(id: string): void {
    if (this.#known.size >= maxKnown) this.#known.clear();
    this.#known.add(id);
  }
}
