// Composer process of a stream, with the feed of its tracks. It is not reused after it ends.
import { ServiceError } from '../../../../api/errors.ts';
import { Timer } from '../../../common/timer.ts';
import type { ComponentHost, EgressTrack, SubscribableTrack } from '../../../rooms/interfaces.ts';
import { ComponentProcess, startTimeoutMs } from '../../process/component-process.ts';
import { TrackFeed } from '../../process/track-feed.ts';
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
  /** Memory limit in bytes. */
  maxMemory: number;
  /** The init segment is written; `codecs` as in RFC 6381. Called once, before the first part. */
  onReady: (codecs: string) => void;
  onPart: (part: Extract<ComposerReport, { type: 'part' }>) => void;
  /** It crashed while it processed these tracks. Called at most once, after the last part. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
  onTrackBroken: (trackId: string, reason: string) => void;
  /** The track is temporarily not shown. */
  onTrackRefused: (trackId: string) => void;
  /** Writing the stream failed. */
  onFailed: (reason: string) => void;
};

type ComposedTrack = SubscribableTrack & { encoding: ComposedEncoding };

/** Milliseconds to end the last segment and exit. */
const finishTimeoutMs = 8000;
const endTimeoutMs = 2000;
/** Maximum of characters of a drawn name. */
const maxNameLength = 64;
/** Milliseconds between two log lines about dropped frames. */
const tellInterval = 10_000;

export class ComposerProcess {
  readonly #options: ComposerProcessOptions;
  readonly #process: ComponentProcess<ComposerCommand, ComposerReport>;
  readonly #tracks: TrackFeed<ComposedTrack>;
  readonly #listening = Promise.withResolvers<number>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #finished = Promise.withResolvers<void>();
  #entries = 0;
  #skipped = 0;
  #telling: Timer | undefined;
  #over = false;
  #closed: Promise<void> | undefined;

  constructor(options: ComposerProcessOptions) {
    this.#options = options;
    this.#tracks = new TrackFeed({
      host: options.host,
      takes: (track): track is ComposedTrack => this.#takes(track),
      add: (track, rtp) => this.#add(track, rtp),
      remove: (entry) => this.#process.send({ type: 'remove', entry }),
    });
    this.#listening.promise.catch(() => {});
    this.#ready.promise.catch(() => {});
    this.#process = new ComponentProcess({
      log: options.host.log,
      module: options.module,
      writes: [options.start.folder],
      maxMemory: options.maxMemory,
      reportSchema: composerReportSchema,
      onReport: (report) => this.#hear(report),
      onExit: (reason, entries) => this.#gone(reason, entries),
    });
    this.#process.send({ type: 'start', ...options.start });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when tracks can be added. @throws ServiceError */
  async start(): Promise<void> {
    const late = Promise.withResolvers<never>();
    const timer = new Timer(startTimeoutMs, () => late.reject(new ServiceError('unavailable', 'The composer did not start in time')));
    try {
      const [port] = await Promise.race([late.promise, Promise.all([this.#listening.promise, this.#ready.promise])]);
      const { ip, port: feedback } = await Promise.race([late.promise, this.#tracks.connect(port)]);
      if (this.#over) throw notStarted();
      this.#process.send({ type: 'connect', ip, port: feedback });
    } finally {
      timer.stop();
    }
  }

  /** Replaces the set of composed tracks. */
  receive(tracks: readonly SubscribableTrack[]): void {
    this.#tracks.receive(tracks);
  }

  /** Writes the last segment and ends. Idempotent; never rejects. */
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
    this.#telling?.stop();
    this.#tracks.close();
  }

  #takes({ id: trackId, encoding }: SubscribableTrack): boolean {
    if (isComposed(encoding)) return true;
    this.#options.host.log.warn({ track: trackId, encoding }, 'could not compose track');
    return false;
  }

  /** @returns the number that identifies the track */
  #add(track: ComposedTrack, { ssrc, clockRate, channels }: EgressTrack): number {
    const { encoding, origin } = track;
    this.#entries += 1;
    const entry = this.#entries;
    const source = 'peerId' in origin ? origin.peerId : origin.componentId;
    this.#process.send({ type: 'add', entry, ssrc, encoding, clockRate, channels, source, name: this.#nameOf(track) });
    return entry;
  }

  #nameOf({ origin }: SubscribableTrack): string | null {
    const name = 'peerId' in origin ? this.#options.host.nameOf(origin.peerId) : null;
    return name === null ? null : name.slice(0, maxNameLength);
  }

  #hear(report: ComposerReport): void {
    const { onReady, onPart, onTrackBroken, onTrackRefused, onFailed } = this.#options;
    if (report.type === 'part') onPart(report);
    else if (report.type === 'listening') this.#listening.resolve(report.port);
    else if (report.type === 'ready') {
      onReady(report.codecs);
      this.#ready.resolve();
    } else if (report.type === 'closed') this.#finished.resolve();
    else if (report.type === 'failed') this.#fail(report.reason, onFailed);
    else if (report.type === 'broken') {
      for (const trackId of this.#tracks.named([report.entry])) onTrackBroken(trackId, `Could not compose track: ${report.reason}`);
    } else if (report.type === 'refused') for (const trackId of this.#tracks.named([report.entry])) onTrackRefused(trackId);
    else if (report.type === 'overloaded') this.#tellSkipped(report.skipped);
    else this.#tracks.added(report.entry);
  }

  #fail(reason: string, onFailed: (reason: string) => void): void {
    const error = new ServiceError('unavailable', `Could not create the stream: ${reason}`);
    this.#listening.reject(error);
    this.#ready.reject(error);
    onFailed(reason);
  }

  #tellSkipped(skipped: number): void {
    this.#skipped += skipped;
    this.#telling ??= new Timer(tellInterval, () => {
      this.#options.host.log.warn({ skipped: this.#skipped }, 'composer dropped frames');
      this.#skipped = 0;
      this.#telling = undefined;
    });
  }

  #gone(reason: string, entries: readonly number[]): void {
    this.#over = true;
    this.#finished.resolve();
    this.#listening.reject(notStarted());
    this.#ready.reject(notStarted());
    if (this.#closed) return;
    this.#telling?.stop();
    const tracks = this.#tracks.named(entries);
    this.#tracks.close();
    this.#closed = Promise.resolve();
    this.#options.onCrashed(reason, tracks);
  }
}

function notStarted(): ServiceError {
  return new ServiceError('unavailable', 'Could not start the composer');
}

function isComposed(encoding: string): encoding is ComposedEncoding {
  return (composedEncodings as readonly string[]).includes(encoding);
}
