// One process that records, with the way for tracks to it: given up as a whole when it ends.
import { extname, join } from 'node:path';
import { ServiceError } from '../../errors.ts';
import type { ComponentHost, ReceivableTrack, RoomOutput } from '../../rooms/ports.ts';
import { Timer } from '../../timer.ts';
import { AvProcess } from '../av/av-process.ts';
import { extensionOf, isRecorded } from './codecs.ts';
import { type RecorderCommand, type RecorderReport, recorderReportSchema } from './recorder-messages.ts';
import type { Recording } from './recording.ts';

export type RecorderProcessOptions = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  recording: Recording;
  /** It ended without being told to; called at most once. */
  onCrashed: (reason: string) => void;
  /** A file cannot be written. */
  onFailed: (reason: string) => void;
};

/** Compiled or not, as this file is. */
const module = join(import.meta.dirname, `recorder-child${extname(import.meta.filename)}`);
/** Milliseconds for it to listen, to finish its files, and to end. */
const startDeadline = 10_000;
const finishDeadline = 8000;
const endDeadline = 2000;

export class RecorderProcess {
  readonly #options: RecorderProcessOptions;
  readonly #process: AvProcess<RecorderCommand, RecorderReport>;
  readonly #output: RoomOutput;
  readonly #listening = Promise.withResolvers<number>();
  readonly #finished = Promise.withResolvers<void>();
  /** By track: the number of its file; undefined while it is being subscribed. */
  readonly #tracks = new Map<string, number | undefined>();
  readonly #unfinished = new Set<number>();
  #over = false;
  #closed: Promise<void> | undefined;

  constructor(options: RecorderProcessOptions) {
    this.#options = options;
    this.#output = options.host.openOutput();
    this.#listening.promise.catch(() => {});
    this.#process = new AvProcess({
      log: options.host.log,
      module,
      reportSchema: recorderReportSchema,
      onReport: (report) => this.#hear(report),
      onExit: (reason) => this.#gone(reason),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when tracks can come. @throws ServiceError */
  async start(): Promise<void> {
    const timer = new Timer(startDeadline, () =>
      this.#listening.reject(new ServiceError('unavailable', 'The recorder did not start in time')),
    );
    try {
      const port = await this.#listening.promise;
      const { ip, port: feedback } = await this.#output.connect({ ip: '127.0.0.1', port });
      if (this.#over) throw notStarted();
      this.#process.send({ type: 'connect', ip, port: feedback });
    } finally {
      timer.stop();
    }
  }

  /** Records these tracks and no others from here. */
  receive(tracks: readonly ReceivableTrack[]): void {
    if (this.#over || this.#closed) return;
    const wanted = new Set(tracks.map(({ id }) => id));
    for (const trackId of [...this.#tracks.keys()]) if (!wanted.has(trackId)) this.#remove(trackId);
    for (const track of tracks) if (!this.#tracks.has(track.id)) void this.#add(track);
  }

  /** Ends it with its files finished. Idempotent; never fails. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const timer = new Timer(finishDeadline, () => this.#finished.resolve());
    this.#process.send({ type: 'close' });
    await this.#finished.promise;
    timer.stop();
    await this.#process.end(endDeadline);
    this.#output.close();
    await this.#recoverFiles();
  }

  async #add(track: ReceivableTrack): Promise<void> {
    const { host, recording } = this.#options;
    const { id: trackId, kind: type, encoding, origin, metadata } = track;
    this.#tracks.set(trackId, undefined);
    if (!isRecorded(encoding)) {
      const problem = `Tracks of the codec ${encoding} cannot be recorded`;
      host.log.warn({ track: trackId, encoding }, 'a track cannot be recorded');
      recording.addProblem({ trackId, type, encoding, origin, metadata, problem });
      return;
    }
    try {
      const { ssrc, clockRate, channels } = await this.#output.subscribe(trackId);
      if (!this.#tracks.has(trackId) || this.#over || this.#closed) {
        this.#output.unsubscribe(trackId);
        return;
      }
      const facts = { trackId, type, encoding, clockRate, ...(type === 'audio' && { channels }), origin, metadata };
      const { entry, path } = recording.add(facts, extensionOf(encoding));
      this.#tracks.set(trackId, entry);
      this.#unfinished.add(entry);
      this.#process.send({ type: 'add', entry, ssrc, encoding, clockRate, channels, path });
    } catch (error) {
      // It ended meanwhile, or the media of the room did.
      this.#tracks.delete(trackId);
      host.log.debug({ err: error, track: trackId }, 'a track could not be recorded');
    }
  }

  #remove(trackId: string): void {
    const entry = this.#tracks.get(trackId);
    this.#tracks.delete(trackId);
    this.#output.unsubscribe(trackId);
    if (entry !== undefined) this.#process.send({ type: 'remove', entry });
  }

  #hear(report: RecorderReport): void {
    const { recording, host, onFailed } = this.#options;
    if (report.type === 'listening') this.#listening.resolve(report.port);
    else if (report.type === 'closed') this.#finished.resolve();
    else if (report.type === 'failed') onFailed(report.reason);
    else if (report.type === 'added') {
      const [trackId] = [...this.#tracks].find(([, entry]) => entry === report.entry) ?? [];
      if (trackId === undefined) return;
      this.#output
        .resume(trackId)
        .catch((error: unknown) => host.log.debug({ err: error, track: trackId }, 'a track ended before it flowed'));
    } else {
      const { type, entry, ...facts } = report;
      recording.update(entry, facts);
      if (type === 'ended') this.#unfinished.delete(entry);
    }
  }

  #gone(reason: string): void {
    this.#over = true;
    this.#finished.resolve();
    this.#listening.reject(notStarted());
    if (this.#closed) return;
    this.#output.close();
    this.#closed = this.#recoverFiles();
    this.#options.onCrashed(reason);
  }

  async #recoverFiles(): Promise<void> {
    for (const entry of this.#unfinished) await this.#options.recording.recover(entry);
    this.#unfinished.clear();
  }
}

function notStarted(): ServiceError {
  return new ServiceError('unavailable', 'The recorder could not be started');
}
