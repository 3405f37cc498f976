// Streams a room: keeps a process at work on it, goes on with another where that crashes, and gives up where it crashes again and again.
import { extname, join } from 'node:path';
import type { ComponentHost, ComponentRunner, SubscribableTrack } from '../../rooms/interfaces.ts';
import { memoryLimit } from '../process/memory-watch.ts';
import { type ProcessCallbacks, ProcessSupervisor } from '../process/process-supervisor.ts';
import { ComposerProcess } from './composer/composer-process.ts';
import type { HlsStreams, RunningStream } from './hls-streams.ts';
import { bitratesOf, type HlsOptions, segmentTimings } from './options.ts';

export type HlsRunnerOptions = {
  host: ComponentHost;
  streams: Pick<HlsStreams, 'begin'>;
  options: HlsOptions;
  /** Path of the module that composes. */
  module?: string;
};

/** Compiled or not, as this file is. */
const ownModule = join(import.meta.dirname, `composer/composer-main${extname(import.meta.filename)}`);

/** Tracks that are composed at once. */
const limits = { audio: 256, video: 64 } as const;
/** Bytes that a composer may have; of them what it needs without pictures that come in. */
const maxMemory = 1024 * 1024 * 1024;
const memoryWithoutInput = 256 * 1024 * 1024;
/** Bytes of a pixel that comes in: of some ten pictures that its decoder looks back at. */
const bytesPerPixel = 18;

/** Pixels of a picture of each track, all in all. */
function maxPixels(memory: number): number {
  return Math.max(1920 * 1080, Math.floor((memory - memoryWithoutInput) / bytesPerPixel));
}

export class HlsRunner implements ComponentRunner {
  readonly #options: HlsRunnerOptions;
  readonly #kept: ProcessSupervisor<ComposerProcess, RunningStream>;
  /** Tracks of whom it was told. */
  readonly #refused = new Set<string>();
  #closed: Promise<void> | undefined;

  constructor(options: HlsRunnerOptions) {
    this.#options = options;
    const { host, streams } = options;
    this.#kept = new ProcessSupervisor({
      host,
      name: 'composer',
      facts: ({ id: recording }) => ({ recording }),
      begin: () => streams.begin({ host, options: options.options }),
      make: (running, callbacks, careful) => this.#make(running, callbacks, careful),
      onCrashed: ({ stream }) => stream.interrupted(),
      limits,
    });
  }

  start(): Promise<void> {
    return this.#kept.start();
  }

  receive(tracks: readonly SubscribableTrack[]): void {
    this.#kept.receive(tracks);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #make({ id, stream }: RunningStream, { onCrashed, onTrackBroken, onFailed }: ProcessCallbacks, careful: boolean): ComposerProcess {
    const { host, options, module = ownModule } = this.#options;
    const { width, height, framerate, layout, names } = options;
    const { video: videoBitrate, audio } = bitratesOf(options);
    const { times, partDuration } = segmentTimings(options);
    const { init, firstSegment } = stream.next();
    return new ComposerProcess({
      host,
      module,
      maxMemory,
      start: {
        folder: stream.folder,
        init,
        firstSegment,
        ...{ width, height, framerate, layout, names, videoBitrate, partDuration },
        audioBitrate: audio,
        segmentDuration: times.target,
        maxPixels: maxPixels(memoryLimit(maxMemory)),
        careful,
      },
      onReady: (codecs) => stream.begin(init, codecs),
      onPart: (part) => stream.add(part),
      onCrashed,
      onTrackBroken,
      onTrackRefused: (trackId) => {
        if (this.#refused.has(trackId)) return;
        this.#refused.add(trackId);
        host.trackDropped(trackId, 'The pictures of all tracks together are too large for the composer: it is not shown for now');
      },
      onFailed: (reason) => {
        host.log.error({ recording: id, reason }, 'a stream cannot be made');
        onFailed(`The stream cannot be made: ${reason}`);
      },
    });
  }

  async #close(): Promise<void> {
    await this.#kept.close();
    await this.#kept.work?.finish();
  }
}
