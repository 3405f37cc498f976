// Recorder process of a recording, with the feed of its tracks. It is not reused after it ends.
import { extname, join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import { Timer } from '../../common/timer.ts';
import type { ComponentHost, EgressTrack, SubscribableTrack } from '../../rooms/interfaces.ts';
import { ComponentProcess, startTimeoutMs } from '../process/component-process.ts';
import { TrackFeed } from '../process/track-feed.ts';
import { extensionOf, isRecorded, type RecordedEncoding } from './codecs.ts';
import { type RecorderCommand, type RecorderReport, recorderReportSchema } from './recorder-messages.ts';
import type { Recording } from './recording.ts';

export type RecorderProcessOptions = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  recording: Recording;
  /** It crashed while it processed these tracks; called at most once. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
  onTrackBroken: (trackId: string, reason: string) => void;
  /** Writing a file failed. */
  onFailed: (reason: string) => void;
};

type RecordedTrack = SubscribableTrack & { encoding: RecordedEncoding };

/** Has the extension of this file: compiled or not. */
const module = join(import.meta.dirname, `recorder-main${extname(import.meta.filename)}`);
/** Milliseconds to finish its files and exit. */
const finishTimeoutMs = 8000;
const endTimeoutMs = 2000;

export class RecorderProcess {
  readonly #options: RecorderProcessOptions;
  readonly #process: ComponentProcess<RecorderCommand, RecorderReport>;
  readonly #tracks: TrackFeed<RecordedTrack>;
  readonly #listening = Promise.withResolvers<number>();
  readonly #finished = Promise.withResolvers<void>();
  readonly #unfinished = new Set<number>();
  #over = false;
  #closed: Promise<void> | undefined;

  constructor(options: RecorderProcessOptions) {
    this.#options = options;
    this.#tracks = new TrackFeed({
      host: options.host,
      takes: (track): track is RecordedTrack => this.#takes(track),
      add: (track, rtp) => this.#add(track, rtp),
      remove: (entry) => this.#process.send({ type: 'remove', entry }),
    });
    this.#listening.promise.catch(() => {});
    this.#process = new ComponentProcess({
      log: options.host.log,
      module,
      writes: [options.recording.folder],
      reportSchema: recorderReportSchema,
      onReport: (report) => this.#hear(report),
      onExit: (reason, entries) => this.#gone(reason, entries),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when tracks can be added. @throws ServiceError */
  async start(): Promise<void> {
    const timer = new Timer(startTimeoutMs, () =>
      this.#listening.reject(new ServiceError('unavailable', 'The recorder did not start in time')),
    );
    try {
      const port = await this.#listening.promise;
      const { ip, port: feedback } = await this.#tracks.connect(port);
      if (this.#over) throw notStarted();
      this.#process.send({ type: 'connect', ip, port: feedback });
    } finally {
      timer.stop();
    }
  }

  /** Replaces the set of recorded tracks. */
  receive(tracks: readonly SubscribableTrack[]): void {
    this.#tracks.receive(tracks);
  }

  /** Finishes its files and ends. Idempotent; never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    this.#tracks.stop();
    const timer = new Timer(finishTimeoutMs, () => this.#finished.resolve());
    this.#process.send({ type: 'close' });
    await this.#finished.promise;
    timer.stop();
    await this.#process.end(endTimeoutMs);
    this.#tracks.close();
    await this.#recoverFiles();
  }

  #takes(track: SubscribableTrack): boolean {
    const { id: trackId, kind: type, encoding, origin, metadata } = track;
    if (isRecorded(encoding)) return true;
    const { host, recording } = this.#options;
    host.log.warn({ track: trackId, encoding }, 'could not record track');
    const problem = `Tracks with codec ${encoding} cannot be recorded`;
    recording.addProblem({ trackId, type, encoding, origin, metadata, problem });
    return false;
  }

  /** @returns the number of its file */
  #add({ id: trackId, kind: type, encoding, origin, metadata }: RecordedTrack, { ssrc, clockRate, channels }: EgressTrack): number {
    const facts = { trackId, type, encoding, clockRate, ...(type === 'audio' && { channels }), origin, metadata };
    const { entry, path } = this.#options.recording.add(facts, extensionOf(encoding));
    this.#unfinished.add(entry);
    this.#process.send({ type: 'add', entry, ssrc, encoding, clockRate, channels, path });
    return entry;
  }

  #hear(report: RecorderReport): void {
    const { recording, onFailed } = this.#options;
    if (report.type === 'listening') this.#listening.resolve(report.port);
    else if (report.type === 'closed') this.#finished.resolve();
    else if (report.type === 'failed') onFailed(report.reason);
    else if (report.type === 'broken') this.#broken(report.entry, report.reason);
    else if (report.type === 'added') this.#tracks.added(report.entry);
    else {
      const { type, entry, ...facts } = report;
      recording.update(entry, facts);
      if (type === 'ended') this.#unfinished.delete(entry);
    }
  }

  #broken(entry: number, reason: string): void {
    const problem = `Could not record track: ${reason}`;
    this.#options.recording.update(entry, { problem });
    for (const trackId of this.#tracks.named([entry])) this.#options.onTrackBroken(trackId, problem);
  }

  #gone(reason: string, entries: readonly number[]): void {
    this.#over = true;
    this.#finished.resolve();
    this.#listening.reject(notStarted());
    if (this.#closed) return;
    const tracks = this.#tracks.named(entries);
    if (tracks.length === 1)
      for (const entry of entries) this.#options.recording.update(entry, { problem: `Track crashed the recorder: ${reason}` });
    this.#tracks.close();
    this.#closed = this.#recoverFiles();
    this.#options.onCrashed(reason, tracks);
  }

  async #recoverFiles(): Promise<void> {
    for (const entry of this.#unfinished) await this.#options.recording.recover(entry);
    this.#unfinished.clear();
  }
}

function notStarted(): ServiceError {
  return new ServiceError('unavailable', 'Could not start the recorder');
}
