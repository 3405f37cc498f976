// One process that composes a room, with the way for tracks to it: given up as a whole when it ends.
import { ServiceError } from '../../errors.ts';
import type { ComponentHost, ReceivableTrack, RoomOutput } from '../../rooms/ports.ts';
import { Timer } from '../../timer.ts';
import { AvProcess } from '../av/av-process.ts';
import {
  type ComposedEncoding,
  type ComposerCommand,
  type ComposerReport,
  composedEncodings,
  composerReportSchema,
} from './composer-messages.ts';

export type ComposerStart = Omit<Extract<ComposerCommand, { type: 'start' }>, 'type'>;

export type ComposerProcessOptions = {
  host: Pick<ComponentHost, 'log' | 'openOutput' | 'nameOf'>;
  /** Path of the module that runs in it. */
  module: string;
  start: ComposerStart;
  /** It has written the file that parts are decoded with; `codecs` as RFC 6381 writes them. Called once, before the first part. */
  onReady: (codecs: string) => void;
  onPart: (part: Extract<ComposerReport, { type: 'part' }>) => void;
  /** It ended without being told to; called at most once, after the last part. */
  onCrashed: (reason: string) => void;
  /** The stream cannot be written. */
  onFailed: (reason: string) => void;
};

/** Milliseconds for it to begin, to end its last segment, and to end. */
const startDeadline = 15_000;
const finishDeadline = 8000;
const endDeadline = 2000;
/** Characters of a name in the picture. */
const longestName = 64;
/** Milliseconds between two lines of the log about pictures that were left out. */
const tellInterval = 10_000;

export class ComposerProcess {
  readonly #options: ComposerProcessOptions;
  readonly #process: AvProcess<ComposerCommand, ComposerReport>;
  readonly #output: RoomOutput;
  readonly #listening = Promise.withResolvers<number>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #finished = Promise.withResolvers<void>();
  /** By track: the number that it is told apart by; undefined while it is being subscribed. */
  readonly #tracks = new Map<string, number | undefined>();
  #entries = 0;
  #skipped = 0;
  #telling: Timer | undefined;
  #over = false;
  #closed: Promise<void> | undefined;

  constructor(options: ComposerProcessOptions) {
    this.#options = options;
    this.#output = options.host.openOutput();
    this.#listening.promise.catch(() => {});
    this.#ready.promise.catch(() => {});
    this.#process = new AvProcess({
      log: options.host.log,
      module: options.module,
      reportSchema: composerReportSchema,
      onReport: (report) => this.#hear(report),
      onExit: (reason) => this.#gone(reason),
    });
    this.#process.send({ type: 'start', ...options.start });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when tracks can come. @throws ServiceError */
  async start(): Promise<void> {
    const late = new ServiceError('unavailable', 'The composer did not start in time');
    const timer = new Timer(startDeadline, () => {
      this.#listening.reject(late);
      this.#ready.reject(late);
    });
    try {
      const [port] = await Promise.all([this.#listening.promise, this.#ready.promise]);
      const { ip, port: feedback } = await this.#output.connect({ ip: '127.0.0.1', port });
      if (this.#over) throw notStarted();
      this.#process.send({ type: 'connect', ip, port: feedback });
    } finally {
      timer.stop();
    }
  }

  /** Composes these tracks and no others from here. */
  receive(tracks: readonly ReceivableTrack[]): void {
    if (this.#over || this.#closed) return;
    const wanted = new Set(tracks.map(({ id }) => id));
    for (const trackId of [...this.#tracks.keys()]) if (!wanted.has(trackId)) this.#remove(trackId);
    for (const track of tracks) if (!this.#tracks.has(track.id)) void this.#add(track);
  }

  /** Ends it with its last segment written. Idempotent; never fails. */
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
    this.#telling?.stop();
    this.#output.close();
  }

  async #add(track: ReceivableTrack): Promise<void> {
    const { log } = this.#options.host;
    const { id: trackId, encoding } = track;
    this.#tracks.set(trackId, undefined);
    if (!isComposed(encoding)) {
      log.warn({ track: trackId, encoding }, 'a track cannot be composed');
      return;
    }
    try {
      const { ssrc, clockRate, channels } = await this.#output.subscribe(trackId);
      if (!this.#tracks.has(trackId) || this.#over || this.#closed) {
        this.#output.unsubscribe(trackId);
        return;
      }
      this.#entries += 1;
      const entry = this.#entries;
      this.#tracks.set(trackId, entry);
      const source = 'peerId' in track.origin ? track.origin.peerId : track.origin.componentId;
      this.#process.send({ type: 'add', entry, ssrc, encoding, clockRate, channels, source, name: this.#nameOf(track) });
    } catch (error) {
      // It ended meanwhile, or the media of the room did.
      this.#tracks.delete(trackId);
      log.debug({ err: error, track: trackId }, 'a track could not be composed');
    }
  }

  #nameOf({ origin }: ReceivableTrack): string | null {
    const name = 'peerId' in origin ? this.#options.host.nameOf(origin.peerId) : null;
    return name === null ? null : name.slice(0, longestName);
  }

  #remove(trackId: string): void {
    const entry = this.#tracks.get(trackId);
    this.#tracks.delete(trackId);
    this.#output.unsubscribe(trackId);
    if (entry !== undefined) this.#process.send({ type: 'remove', entry });
  }

  #hear(report: ComposerReport): void {
    const { onReady, onPart, onFailed } = this.#options;
    if (report.type === 'part') onPart(report);
    else if (report.type === 'listening') this.#listening.resolve(report.port);
    else if (report.type === 'ready') {
      onReady(report.codecs);
      this.#ready.resolve();
    } else if (report.type === 'closed') this.#finished.resolve();
    else if (report.type === 'failed') this.#fail(report.reason, onFailed);
    else if (report.type === 'overloaded') this.#tellSkipped(report.skipped);
    else this.#resume(report.entry);
  }

  #fail(reason: string, onFailed: (reason: string) => void): void {
    const error = new ServiceError('unavailable', `The stream cannot be made: ${reason}`);
    this.#listening.reject(error);
    this.#ready.reject(error);
    onFailed(reason);
  }

  #resume(entry: number): void {
    const [trackId] = [...this.#tracks].find(([, each]) => each === entry) ?? [];
    if (trackId === undefined) return;
    this.#output.resume(trackId).catch((error: unknown) => {
      this.#options.host.log.debug({ err: error, track: trackId }, 'a track ended before it flowed');
    });
  }

  #tellSkipped(skipped: number): void {
    this.#skipped += skipped;
    this.#telling ??= new Timer(tellInterval, () => {
      this.#options.host.log.warn({ skipped: this.#skipped }, 'a composer had no time for some pictures');
      this.#skipped = 0;
      this.#telling = undefined;
    });
  }

  #gone(reason: string): void {
    this.#over = true;
    this.#finished.resolve();
    this.#listening.reject(notStarted());
    this.#ready.reject(notStarted());
    if (this.#closed) return;
    this.#telling?.stop();
    this.#output.close();
    this.#closed = Promise.resolve();
    this.#options.onCrashed(reason);
  }
}

function notStarted(): ServiceError {
  return new ServiceError('unavailable', 'The composer could not be started');
}

function isComposed(encoding: string): encoding is ComposedEncoding {
  return (composedEncodings as readonly string[]).includes(encoding);
}
