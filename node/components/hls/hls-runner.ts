// Runner of an hls component: supervises its composer process, and ends the stream if the process crashes too often.
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
  /** Path of the composer module. */
  module?: string;
};

/** Has the extension of this file: compiled or not. */
const ownModule = join(import.meta.dirname, `composer/composer-main${extname(import.meta.filename)}`);

/** Maximum of tracks that are composed at once. */
const limits = { audio: 256, video: 64 } as const;
/** Memory limit of a composer in bytes, and the part of it that a composer needs without incoming video. */
const maxMemory = 1024 * 1024 * 1024;
const memoryWithoutInput = 256 * 1024 * 1024;
/** Bytes of memory for each incoming pixel: about ten reference frames of the decoder. */
const bytesPerPixel = 18;

/** Maximum of pixels of one frame of each track, summed over all tracks. */
function maxPixels(memory: number): number {
  return Math.max(1920 * 1080, Math.floor((memory - memoryWithoutInput) / bytesPerPixel));
}

export class HlsRunner implements ComponentRunner {
  readonly #options: HlsRunnerOptions;
  readonly #kept: ProcessSupervisor<ComposerProcess, RunningStream>;
  /** Tracks whose refusal has been reported. */
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
        host.trackDropped(trackId, 'The frames of all tracks exceed the memory of the composer; the track is temporarily not shown');
      },
      onFailed: (reason) => {
        host.log.error({ recording: id, reason }, 'could not create HLS stream');
        onFailed(`Could not create the stream: ${reason}`);
      },
    });
  }

  async #close(): Promise<void> {
    await this.#kept.close();
    await this.#kept.work?.finish();
  }
}
