// S3 archive: serves recordings from the S3 storage of the node if no node has them, including files that were uploaded only in chunks.
import { basename } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { S3Target } from '../../api/component/s3-target.ts';
import { ServiceError } from '../../api/errors.ts';
import { fileNameSchema, latestRecordingIds, type RecordingSummary, recordingSummarySchema } from '../../api/recording.ts';
import { maxReport } from '../../api/recording-report.ts';
import type { ContentRequest, ContentResponse, RecordingArchive } from '../rooms/services/content.ts';
import type { RenderSource } from '../rooms/services/renders.ts';
import { planFileResponse } from './file-response.ts';
import { mapConcurrent } from './map-concurrent.ts';
import { markerOf, OwnFolders } from './own-folders.ts';
import { reportFileSchema, reportName, reportText } from './report-file.ts';
import { NodeS3Store } from './s3/node-s3-store.ts';
import { StorageError } from './s3/s3-errors.ts';
import type { S3Store } from './s3/s3-store.ts';
import { concatenatedChunks, listChunks, parseChunk } from './uploads/chunks.ts';

/** Milliseconds for a response of S3, for the deletion of a recording, and for a stalled body, for example because its reader is slow. */
const responseTimeoutMs = 5000;
const removeTimeoutMs = 60_000;
const idleTimeoutMs = 10 * 60_000;
const maxSockets = 500;
/** Maximum number of reports read for a list (the newest), and their concurrency. */
const maxReports = 200;
const reportsAtOnce = 16;

type Piece = { name: string; offset: number; size: number; modified: number };

export class S3Archive implements RecordingArchive, RenderSource {
  readonly #store: NodeS3Store;
  readonly #own = new WeakMap<S3Store, OwnFolders>();

  /** `place`: the current storage. */
  constructor(place: () => S3Target | null) {
    this.#store = new NodeS3Store(place, { idle: idleTimeoutMs, maxSockets });
  }

  isThere(): boolean {
    return this.#store.current() !== undefined;
  }

  async open(request: ContentRequest): Promise<ContentResponse | undefined> {
    const { kind, folder, file, signal } = request;
    const store = this.#store.current();
    if (!store || kind !== 'recording' || !fileNameSchema.safeParse(file).success) return undefined;
    return forClients(async () => {
      if (!(await this.#ownOf(store).has(folder, signal))) return undefined;
      const name = `${folder}/${file}`;
      const whole = await store.head(name, signal, responseTimeoutMs);
      const pieces = whole ? [{ ...whole, offset: 0 }] : await piecesOf(store, folder, file, signal);
      if (pieces.length === 0) return undefined;
      const size = pieces.reduce((sum, piece) => sum + piece.size, 0);
      const modified = Math.max(...pieces.map((piece) => piece.modified));
      const { status, headers, bytes } = planFileResponse({ size, modified }, request);
      if (!bytes) return { status, headers, body: undefined };
      return { status, headers, body: await bodyOf(store, pieces, bytes, signal) };
    });
  }

  async list(): Promise<string[]> {
    const store = this.#store.current();
    if (!store) return [];
    return forClients(() => this.#ownOf(store).list(AbortSignal.timeout(4 * responseTimeoutMs)));
  }

  async describe(ids: readonly string[]): Promise<RecordingSummary[]> {
    const store = this.#store.current();
    if (!store) return [];
    const found = await mapConcurrent(latestRecordingIds(ids, maxReports), reportsAtOnce, (id) =>
      this.#reportOf(store, id).catch(() => undefined),
    );
    return found.filter((summary) => summary !== undefined);
  }

  async add(id: string, path: string, changeReport: (report: object) => object, signal: AbortSignal): Promise<void> {
    const store = this.#store.current();
    if (!store) throw new ServiceError('unavailable', 'The server has no S3 storage any more');
    await forClients(async () => {
      if (!(await this.#ownOf(store).has(id, signal))) throw new StorageError('missing', 'S3 has no such recording');
      await store.putFile(`${id}/${basename(path)}`, path, signal);
      const report = await readObject(store, `${id}/${reportName}`, signal);
      await store.putText(`${id}/${reportName}`, reportText(changeReport(reportFileSchema.parse(JSON.parse(report)))), signal);
    }, 'written');
  }

  async remove(id: string): Promise<boolean> {
    const store = this.#store.current();
    if (!store) return false;
    return forClients(async () => {
      const signal = AbortSignal.timeout(removeTimeoutMs);
      const own = this.#ownOf(store);
      if (!(await own.has(id, signal))) return false;
      const names = (await store.list(`${id}/`, signal, responseTimeoutMs)).map(({ name }) => name);
      await store.abortUploads(`${id}/`, signal);
      // The marker last: objects that could not be deleted are still ours.
      await store.remove(names, signal);
      await store.remove([markerOf(id)], signal);
      own.forget(id);
      return names.length > 0;
    });
  }

  close(): void {
    this.#store.close();
  }

  async #reportOf(store: S3Store, id: string): Promise<RecordingSummary | undefined> {
    const signal = AbortSignal.timeout(responseTimeoutMs);
    if (!(await this.#ownOf(store).has(id, signal))) return undefined;
    const report = await readObject(store, `${id}/${reportName}`, signal);
    return recordingSummarySchema.safeParse(JSON.parse(report)).data;
  }

  #ownOf(store: S3Store): OwnFolders {
    const own = this.#own.get(store) ?? new OwnFolders(store, responseTimeoutMs);
    this.#own.set(store, own);
    return own;
  }
}

async function piecesOf(store: S3Store, id: string, file: string, signal: AbortSignal): Promise<Piece[]> {
  const objects = await store.list(listChunks(id, file), signal, responseTimeoutMs);
  return concatenatedChunks(objects.flatMap((object) => ({ ...object, offset: parseChunk(object.name)?.offset ?? -1 })));
}

/** The first chunk is requested immediately, so that an error becomes an error response and not a broken body. */
async function bodyOf(
  store: S3Store,
  pieces: readonly Piece[],
  { start, end }: { start: number; end: number },
  signal: AbortSignal,
): Promise<Readable> {
  const wanted = pieces.filter(({ offset, size }) => offset <= end && offset + size > start);
  const read = ({ name, offset, size }: Piece) => {
    const range = { start: Math.max(start - offset, 0), end: Math.min(end - offset, size - 1) };
    return store.read(name, range, signal, responseTimeoutMs);
  };
  const [first, ...rest] = wanted;
  const body = first && (await read(first));
  if (!body) return Readable.from([]);
  if (rest.length === 0) return body;
  return Readable.from(
    (async function* bytes() {
      yield* body;
      for (const piece of rest) yield* await read(piece);
    })(),
    { objectMode: false },
  );
}

async function readObject(store: S3Store, name: string, signal: AbortSignal): Promise<string> {
  return text(await store.read(name, { start: 0, end: maxReport - 1 }, signal, responseTimeoutMs));
}

/** Converts errors of S3 to errors for clients. */
async function forClients<Result>(run: () => Promise<Result>, what = 'read'): Promise<Result> {
  try {
    return await run();
  } catch (error) {
    if (error instanceof StorageError && error.fault === 'missing') throw new ServiceError('not_found', 'The file does not exist any more');
    const why = error instanceof StorageError ? error.message : 'S3 did not respond in time';
    throw new ServiceError('unavailable', `The recordings in S3 cannot be ${what}: ${why}`, { cause: error, retryAfter: 5 });
  }
}
