// One process that composes a room, with the way for tracks to it: given up as a whole when it ends.
import { ServiceError } from '../../../common/errors.ts';
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
  /** Bytes that it may have. */
  maxMemory: number;
  /** It has written the file that parts are decoded with; `codecs` as RFC 6381 writes them. Called once, before the first part. */
  onReady: (codecs: string) => void;
  onPart: (part: Extract<ComposerReport, { type: 'part' }>) => void;
  /** It ended without being told to, while it was at work on these tracks; called at most once, after the last part. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
  onTrackBroken: (trackId: string, reason: string) => void;
  /** It is not shown for now. */
  onTrackRefused: (trackId: string) => void;
  /** The stream cannot be written. */
  onFailed: (reason: string) => void;
};

type ComposedTrack = SubscribableTrack & { encoding: ComposedEncoding };

/** Milliseconds for it to end its last segment, and to end. */
const finishTimeoutMs = 8000;
const endTimeoutMs = 2000;
/** Characters of a name in the picture. */
const maxNameLength = 64;
/** Milliseconds between two lines of the log about pictures that were left out. */
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

  /** Resolves when tracks can come. @throws ServiceError */
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

  /** Composes these tracks and no others from here. */
  receive(tracks: readonly SubscribableTrack[]): void {
    this.#tracks.receive(tracks);
  }

  /** Ends it with its last segment written. Idempotent; never fails. */
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
    this.#options.host.log.warn({ track: trackId, encoding }, 'a track cannot be composed');
    return false;
  }

  /** @returns the number that it is told apart by */
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
      for (const trackId of this.#tracks.named([report.entry])) onTrackBroken(trackId, `It cannot be composed: ${report.reason}`);
    } else if (report.type === 'refused') for (const trackId of this.#tracks.named([report.entry])) onTrackRefused(trackId);
    else if (report.type === 'overloaded') this.#tellSkipped(report.skipped);
    else this.#tracks.added(report.entry);
  }

  #fail(reason: string, onFailed: (reason: string) => void): void {
    const error = new ServiceError('unavailable', `The stream cannot be made: ${reason}`);
    this.#listening.reject(error);
    this.#ready.reject(error);
    onFailed(reason);
  }

  #tellSkipped(skipped: number): void {
    this.#skipped += skipped;
    this.#telling ??= new Timer(tellInterval, () => {
      this.#options.host.log.warn({ skipped: this.#skipped }, 'a composer had no time for some pictures');
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
  return new ServiceError('unavailable', 'The composer could not be started');
}

function isComposed(encoding: string): encoding is ComposedEncoding {
  return (composedEncodings as readonly string[]).includes(encoding);
}
