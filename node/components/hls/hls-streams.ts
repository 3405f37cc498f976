// HLS streams of a node: creates them, serves them for a grace period after their end, stores or deletes them, and recovers orphaned ones.
import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import { recordingIdOf } from '../../../api/recording.ts';
import type { Report } from '../../../api/recording-report.ts';
import type { Log } from '../../common/log.ts';
import { settleWithin, Timer } from '../../common/timer.ts';
import type { ComponentHost } from '../../rooms/interfaces.ts';
import type { ContentRequest, ContentResponse, LiveStreams } from '../../rooms/services/content.ts';
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
  /** Node name for reports. */
  node: string;
  uploads: Uploads;
  admission: Admission;
  now?: () => number;
  /** Milliseconds for which an ended stream is still served. */
  grace?: number;
};

export type HlsStreamInit = {
  host: Pick<ComponentHost, 'log' | 'componentId' | 'room' | 'playable' | 'showProperties'>;
  options: HlsOptions;
};

const oneMore = 'one more stream';
const defaultGrace = 30_000;
/** Milliseconds for runners to end their streams at shutdown: longer than the timeout in which composers write their last segments. */
const closeTimeoutMs = 12_000;

/** A running stream. Call finish() after the last part; it never rejects and is idempotent. */
export type RunningStream = { id: string; stream: Stream; finish: () => Promise<void> };

/** `over` resolves when the stream is finished. */
type Entry = RunningStream & { giveBack: ReleaseBudget; linger: Timer | undefined; kept: boolean; over: Promise<void> };

export class HlsStreams implements LiveStreams {
  readonly #options: HlsStreamsOptions;
  readonly #now: () => number;
  readonly #left: OrphanedStreams;
  /** By id. */
  readonly #running = new Map<string, Entry>();
  /** By room: the newest stream, while it runs and for the grace period. */
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

  /** Recovers orphaned streams. Never rejects. */
  start(): Promise<void> {
    return this.#left.start();
  }

  /** The first stream is always allowed. @throws ServiceError `unavailable` if the node has no capacity for a stream of this size */
  assertCapacity(videoSize: VideoSize): void {
    if (this.#running.size === 0) return;
    const cores = estimateCores(videoSize);
    this.#options.admission.requireBudget(oneMore, cores);
    this.#options.admission.requireIdleCpu(oneMore, cores);
  }

  has(roomId: string): boolean {
    return this.#shown.has(roomId);
  }

  async open(request: ContentRequest): Promise<ContentResponse> {
    const entry = this.#shown.get(request.folder);
    if (!entry) throw new ServiceError('not_found', `No stream exists for room ${request.folder}`);
    return entry.stream.open(request);
  }

  /** @throws ServiceError if CPU capacity is missing or the disk write fails */
  async begin({ host, options }: HlsStreamInit): Promise<RunningStream> {
    this.assertCapacity(options);
    const { roomId } = host.room;
    const begun = this.#now();
    const refuse = (error: unknown): never => {
      host.log.error({ err: error }, 'could not start stream');
      throw new ServiceError('unavailable', 'Could not write the stream to disk', { cause: error });
    };
    const { id, folder, mark } = await this.#makeFolder(host, begun).catch(refuse);
    const { room, componentId } = host;
    const onProblem = (uploadProblem: string | null) => host.showProperties({ uploadProblem });
    const upload = options.persistent
      ? await this.#options.uploads
          .begin({ id, kind: 'hls', room, componentId, place: options.s3, onProblem }, folder)
          .catch(async (error: unknown) => {
            // Otherwise the heartbeat would mark the stream as running.
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
      video: options,
      bitrate: video + audio,
      // Seconds since 1970, so that no stream reuses segment names of an earlier one that caches may have.
      firstSegment: Math.floor(begun / 1000),
      captions: options.captions,
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

  /** Resolves when the running streams are finished by their runners, or at a deadline. Nothing is served any more. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#left.close();
    // Runners finish their streams, because their composers still write to them.
    await settleWithin(
      closeTimeoutMs,
      [...this.#running.values()].map(({ over }) => over),
    );
    await Promise.all([...this.#running.values()].map(({ finish }) => finish()));
    await Promise.all([...this.#shown].map(([roomId, entry]) => this.#forget(entry, roomId)));
  }

  /** Creates the folder with its report. @throws Error if the disk write fails */
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
        node: this.#options.node,
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
        log.info({ recording: id }, 'stream saved');
      } else {
        mark.close();
        upload?.discard();
      }
    } catch (error) {
      mark.close();
      log.error({ err: error, recording: id }, 'could not save complete stream');
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

  /** Saves what the playlist lists if the end of the stream cannot be written. Never rejects. */
  async #keepListed(entry: Entry, upload: Upload | undefined, log: Log): Promise<void> {
    try {
      const folder = await this.#left.keep(entry.id);
      if (folder) this.#kept(entry, folder, upload);
      else upload?.discard();
    } catch (error) {
      log.error({ err: error, recording: entry.id }, 'could not save stream, retrying at next start');
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

  /** Stops serving the stream. Resolves when it is finished, and deleted unless it is persistent. */
  async #forget(entry: Entry, roomId: string): Promise<void> {
    entry.linger?.stop();
    if (this.#shown.get(roomId) === entry) this.#shown.delete(roomId);
    await entry.over;
    entry.linger?.stop();
    if (!entry.kept) await entry.stream.remove();
  }
}

type FinishParts = { archive: VodWriter | undefined; upload: Upload | undefined; mark: StreamReport; log: Log };
