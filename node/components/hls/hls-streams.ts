// The streams of a node: made here, shown to viewers a while after their end, kept or removed, and finished where a crash left them.
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../common/errors.ts';
import type { Log } from '../../common/log.ts';
import { settleWithin, Timer } from '../../common/timer.ts';
import type { ComponentHost } from '../../rooms/interfaces.ts';
import { type ContentRequest, type ContentResponse, type LiveStreams, recordingIdOf } from '../../rooms/shapes/content.ts';
import type { Report } from '../../rooms/shapes/recording-report.ts';
import { reportName } from '../../storage/report-file.ts';
import type { Upload, Uploads } from '../../storage/upload.ts';
import type { Admission, ReleaseBudget } from '../process/admission.ts';
import { estimateCores, type VideoSize } from './composer/estimate.ts';
import { bitratesOf, type HlsOptions, segmentTimings } from './options.ts';
import { OrphanedStreams, recordingsFolder, streamsFolder } from './orphaned-streams.ts';
import { VodWriter } from './playlist/vod-writer.ts';
import { Stream } from './stream.ts';
import { StreamReport } from './stream-report.ts';

export type HlsStreamsOptions = {
  log: Log;
  /** Absolute path of the resources directory. */
  resources: string;
  /** Name of this node, for the reports. */
  node: () => string;
  uploads: Uploads;
  admission: Admission;
  now?: () => number;
  /** Milliseconds in which viewers still see the end. */
  grace?: number;
};

export type HlsStreamInit = {
  host: Pick<ComponentHost, 'log' | 'componentId' | 'room' | 'playable' | 'showProperties'>;
  options: HlsOptions;
};

const oneMore = 'one more stream';
const defaultGrace = 30_000;
/** Milliseconds that those who make streams get to end them when the node ends: more than composers get to write their last segments. */
const closeTimeoutMs = 12_000;

/** A stream at work. finish() is to be called when nothing more comes; it never fails and is idempotent. */
export type RunningStream = { id: string; stream: Stream; finish: () => Promise<void> };

/** `over` resolves once it is finished. */
type Entry = RunningStream & { giveBack: ReleaseBudget; linger: Timer | undefined; kept: boolean; over: Promise<void> };

export class HlsStreams implements LiveStreams {
  readonly #options: HlsStreamsOptions;
  readonly #now: () => number;
  readonly #left: OrphanedStreams;
  /** By id. */
  readonly #running = new Map<string, Entry>();
  /** By room: the newest, while it runs and a while longer. */
  readonly #shown = new Map<string, Entry>();
  #closed = false;

  constructor(options: HlsStreamsOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    const { resources, log, uploads } = options;
    this.#left = new OrphanedStreams({ resources, log, uploads, isRunning: (id) => this.#running.has(id), now: this.#now });
  }

  get hasServerS3(): boolean {
    return this.#options.uploads.hasPlace();
  }

  /** Finishes what was left. Never fails. */
  start(): Promise<void> {
    return this.#left.start();
  }

  /** The first one always may. @throws ServiceError `unavailable` where the machine cannot carry one more of this size */
  assertCapacity(picture: VideoSize): void {
    if (this.#running.size === 0) return;
    const cores = estimateCores(picture);
    this.#options.admission.requireBudget(oneMore, cores);
    this.#options.admission.requireIdleCpu(oneMore, cores);
  }

  has(roomId: string): boolean {
    return this.#shown.has(roomId);
  }

  async open(request: ContentRequest): Promise<ContentResponse> {
    const entry = this.#shown.get(request.folder);
    if (!entry) throw new ServiceError('not_found', `There is no stream of room ${request.folder}`);
    return entry.stream.open(request);
  }

  /** @throws ServiceError where the machine or the disk refuses */
  async begin({ host, options }: HlsStreamInit): Promise<RunningStream> {
    this.assertCapacity(options);
    const { roomId } = host.room;
    const begun = this.#now();
    const refuse = (error: unknown): never => {
      host.log.error({ err: error }, 'a stream cannot be begun');
      throw new ServiceError('unavailable', 'The stream cannot be written to the disk', { cause: error });
    };
    const { id, folder, mark } = await this.#makeFolder(host, begun).catch(refuse);
    const { room, componentId } = host;
    const onProblem = (uploadProblem: string | null) => host.showProperties({ uploadProblem });
    const upload = options.persistent
      ? await this.#options.uploads
          .begin({ id, kind: 'hls', room, componentId, place: options.s3, onProblem }, folder)
          .catch(async (error: unknown) => {
            // Else it would look as if somebody were at work on it.
            mark.close();
            await rm(folder, { recursive: true, force: true }).catch(() => {});
            return refuse(error);
          })
      : undefined;
    const { times } = segmentTimings(options);
    const { video, audio } = bitratesOf(options);
    const archive = options.persistent
      ? new VodWriter({ log: host.log, folder, target: times.target, upload, now: () => performance.now() })
      : undefined;
    const stream = new Stream({
      log: host.log,
      folder,
      times,
      window: options.targetWindowDuration === null ? null : options.targetWindowDuration * 1000,
      picture: options,
      bitrate: video + audio,
      // Seconds since 1970: no stream of a room has names of an earlier one, which caches may still have.
      firstSegment: Math.floor(begun / 1000),
      archive,
      onPlayable: host.playable,
      now: () => performance.now(),
    });
    const over = Promise.withResolvers<void>();
    let finished: Promise<void> | undefined;
    const entry: Entry = {
      id,
      stream,
      giveBack: this.#options.admission.take(estimateCores(options)),
      linger: undefined,
      kept: false,
      over: over.promise,
      finish: () => {
        finished ??= this.#finish(entry, roomId, { archive, upload, mark, log: host.log }).finally(over.resolve);
        return finished;
      },
    };
    const before = this.#shown.get(roomId);
    this.#running.set(id, entry);
    this.#shown.set(roomId, entry);
    if (before) await this.#forget(before, roomId);
    return entry;
  }

  /** Resolves when those that run are finished: by who makes them, since their composers still have the end, or here at a deadline. Nothing is shown any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#left.close();
    // Not finished from here: what its process still writes belongs to it.
    await settleWithin(
      closeTimeoutMs,
      [...this.#running.values()].map(({ over }) => over),
    );
    await Promise.all([...this.#running.values()].map(({ finish }) => finish()));
    await Promise.all([...this.#shown].map(([roomId, entry]) => this.#forget(entry, roomId)));
  }

  /** With its report. @throws Error where the disk refuses */
  async #makeFolder({ room, log }: HlsStreamInit['host'], begun: number): Promise<{ id: string; folder: string; mark: StreamReport }> {
    const { roomId } = room;
    await mkdir(streamsFolder(this.#options.resources), { recursive: true, mode: 0o750 });
    for (let start = begun; ; start += 1) {
      const startTime = new Date(start).toISOString();
      const id = recordingIdOf(roomId, startTime);
      const folder = join(streamsFolder(this.#options.resources), id);
      try {
        await mkdir(folder, { mode: 0o750 });
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        continue;
      }
      const report: Report = {
        id,
        type: 'hls',
        roomId,
        node: this.#options.node(),
        state: 'running',
        startTime,
        endTime: null,
        tracks: [],
      };
      try {
        return { id, folder, mark: await StreamReport.create(folder, report, log) };
      } catch (error) {
        await rm(folder, { recursive: true, force: true });
        throw error;
      }
    }
  }

  async #finish(entry: Entry, roomId: string, parts: FinishParts): Promise<void> {
    const { stream, id } = entry;
    const { archive, upload, mark, log } = parts;
    await stream.end();
    const summary = stream.summary();
    try {
      if (archive && summary && !archive.empty) {
        await archive.finish(summary);
        await mark.finish({ state: 'finished', endTime: new Date(this.#now()).toISOString() });
        await this.#keep(entry, upload);
        log.info({ recording: id }, 'a stream was kept');
      } else {
        mark.close();
        upload?.discard();
      }
    } catch (error) {
      mark.close();
      log.error({ err: error, recording: id }, 'a stream cannot be kept in full');
      await this.#keepListed(entry, upload, log);
    }
    this.#running.delete(id);
    entry.giveBack();
    if (this.#closed) return;
    entry.linger = new Timer(this.#options.grace ?? defaultGrace, () => void this.#forget(entry, roomId));
  }

  async #keep(entry: Entry, upload: Upload | undefined): Promise<void> {
    const { resources } = this.#options;
    await mkdir(recordingsFolder(resources), { recursive: true });
    const folder = join(recordingsFolder(resources), entry.id);
    await rename(entry.stream.folder, folder);
    this.#kept(entry, folder, upload);
  }

  /** The disk refuses the end of it. Never fails. */
  async #keepListed(entry: Entry, upload: Upload | undefined, log: Log): Promise<void> {
    try {
      const folder = await this.#left.keep(entry.id);
      if (folder) this.#kept(entry, folder, upload);
      else upload?.discard();
    } catch (error) {
      log.error({ err: error, recording: entry.id }, 'a stream cannot be kept: it is tried again when the node starts');
      entry.kept = true;
    }
  }

  #kept(entry: Entry, folder: string, upload: Upload | undefined): void {
    entry.kept = true;
    entry.stream.moved(folder);
    upload?.relocated(folder);
    upload?.add(reportName);
    upload?.finish();
  }

  /** It is not shown any more. Resolves when it is finished, and gone where it is not kept. */
  async #forget(entry: Entry, roomId: string): Promise<void> {
    entry.linger?.stop();
    if (this.#shown.get(roomId) === entry) this.#shown.delete(roomId);
    await entry.over;
    entry.linger?.stop();
    if (!entry.kept) await entry.stream.remove();
  }
}

type FinishParts = { archive: VodWriter | undefined; upload: Upload | undefined; mark: StreamReport; log: Log };
