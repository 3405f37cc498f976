// Streams a room: keeps a process at work on it, goes on with another where that crashes, and gives up where it crashes again and again.
import { extname, join } from 'node:path';
import type { ComponentHost, ComponentRunner, ReceivableTrack } from '../../rooms/ports.ts';
import { KeptProcess, type ProcessCallbacks } from '../av/kept-process.ts';
import { ComposerProcess } from './composer-process.ts';
import { bitratesOf, type HlsOptions, timesOf } from './options.ts';
import type { RunningStream, Streams } from './streams.ts';

export type HlsRunnerOptions = {
  host: ComponentHost;
  streams: Pick<Streams, 'begin'>;
  options: HlsOptions;
  /** Path of the module that composes. */
  module?: string;
};

/** Compiled or not, as this file is. */
const ownModule = join(import.meta.dirname, `composer-child${extname(import.meta.filename)}`);

export class HlsRunner implements ComponentRunner {
  readonly #options: HlsRunnerOptions;
  readonly #kept: KeptProcess<ComposerProcess, RunningStream>;
  #closed: Promise<void> | undefined;

  constructor(options: HlsRunnerOptions) {
    this.#options = options;
    const { host, streams } = options;
    this.#kept = new KeptProcess({
      host,
      name: 'composer',
      facts: ({ id: recording }) => ({ recording }),
      begin: () => streams.begin({ host, options: options.options }),
      make: (running, callbacks) => this.#make(running, callbacks),
      onCrashed: ({ stream }) => stream.interrupted(),
    });
  }

  start(): Promise<void> {
    return this.#kept.start();
  }

  receive(tracks: readonly ReceivableTrack[]): void {
    this.#kept.receive(tracks);
  }

  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  #make({ id, stream }: RunningStream, { onCrashed, onFailed }: ProcessCallbacks): ComposerProcess {
    const { host, options, module = ownModule } = this.#options;
    const { width, height, framerate, layout, names } = options;
    const { video: videoBitrate, audio } = bitratesOf(options);
    const { times, partDuration } = timesOf(options);
    const { init, firstSegment } = stream.next();
    return new ComposerProcess({
      host,
      module,
      start: {
        folder: stream.folder,
        init,
        firstSegment,
        ...{ width, height, framerate, layout, names, videoBitrate, partDuration },
        audioBitrate: audio,
        segmentDuration: times.target,
      },
      onReady: (codecs) => stream.begin(init, codecs),
      onPart: (part) => stream.add(part),
      onCrashed,
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
