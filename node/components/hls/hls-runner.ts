// Streams a room: keeps a process at work on it, goes on with another where that crashes, and gives up where it crashes again and again.
import { extname, join } from 'node:path';
import { ServiceError } from '../../errors.ts';
import type { ComponentHost, ComponentRunner, ReceivableTrack } from '../../rooms/ports.ts';
import { RestartBudget } from '../av/restarts.ts';
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
  readonly #restarts = new RestartBudget();
  #running: RunningStream | undefined;
  #process: ComposerProcess | undefined;
  #tracks: readonly ReceivableTrack[] = [];
  #starting: Promise<void> | undefined;
  #closing = false;
  #closed: Promise<void> | undefined;

  constructor(options: HlsRunnerOptions) {
    this.#options = options;
  }

  start(): Promise<void> {
    this.#starting ??= this.#start();
    return this.#starting;
  }

  receive(tracks: readonly ReceivableTrack[]): void {
    this.#tracks = tracks;
    this.#process?.receive(tracks);
  }

  close(): Promise<void> {
    this.#closing = true;
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #start(): Promise<void> {
    const { streams, host, options } = this.#options;
    this.#running = await streams.begin({ host, options });
    await this.#launch(this.#running);
  }

  async #launch({ id, stream }: RunningStream): Promise<void> {
    if (this.#closing) throw new ServiceError('component_not_found', 'The component was removed');
    const { host, options, module = ownModule } = this.#options;
    const { width, height, framerate, layout, names } = options;
    const { video: videoBitrate, audio } = bitratesOf(options);
    const { times, partDuration } = timesOf(options);
    const { init, firstSegment } = stream.next();
    let started = false;
    const composer: ComposerProcess = new ComposerProcess({
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
      onCrashed: (reason) => {
        // Before it has started, start() says so.
        if (started) void this.#crashed(reason);
      },
      onFailed: (reason) => {
        host.log.error({ recording: id, reason }, 'a stream cannot be made');
        if (started) this.#giveUp(`The stream cannot be made: ${reason}`);
      },
    });
    this.#process = composer;
    await composer.start();
    started = true;
    host.log.info({ recording: id, pid: composer.pid }, 'composer started');
    composer.receive(this.#tracks);
  }

  async #crashed(reason: string): Promise<void> {
    const { log } = this.#options.host;
    this.#process = undefined;
    const running = this.#running;
    if (!running) return;
    const closing = running.stream.interrupted();
    if (this.#closing) return;
    if (!this.#restarts.take(performance.now())) {
      log.error({ recording: running.id, reason }, 'the composer crashed again');
      this.#giveUp(`The composer crashed too often: ${reason}`);
      return;
    }
    log.warn({ recording: running.id, reason }, 'the composer crashed: started again');
    this.#starting = closing
      .then(() => this.#launch(running))
      .catch((error: unknown) => {
        if (!this.#closing) this.#giveUp(error instanceof ServiceError ? error.message : 'The composer could not be started');
      });
    await this.#starting;
  }

  #giveUp(reason: string): void {
    if (!this.#closing) this.#options.host.crashed(reason);
  }

  async #close(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#process?.close();
    await this.#running?.finish();
  }
}
