// Records a room: keeps a process at work on it, and gives up where that crashes again and again or the disk refuses.
import { ServiceError } from '../../errors.ts';
import type { ComponentHost, ComponentRunner, ReceivableTrack } from '../../rooms/ports.ts';
import { RestartBudget } from '../av/restarts.ts';
import { RecorderProcess } from './recorder-process.ts';
import type { Recording } from './recording.ts';

export type RecordingRunnerOptions = {
  host: ComponentHost;
  /** Makes the recording. @throws Error where the disk refuses */
  begin: () => Promise<Recording>;
};

export class RecordingRunner implements ComponentRunner {
  readonly #options: RecordingRunnerOptions;
  readonly #restarts = new RestartBudget();
  #recording: Recording | undefined;
  #process: RecorderProcess | undefined;
  /** Crashed ones whose files are being finished. */
  readonly #former = new Set<Promise<void>>();
  #tracks: readonly ReceivableTrack[] = [];
  #starting: Promise<void> | undefined;
  #closing = false;
  #closed: Promise<void> | undefined;

  constructor(options: RecordingRunnerOptions) {
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
    const { begin, host } = this.#options;
    this.#recording = await begin().catch((error: unknown) => {
      host.log.error({ err: error }, 'a recording cannot be begun');
      throw new ServiceError('unavailable', 'The recording cannot be written to the disk', { cause: error });
    });
    await this.#launch(this.#recording);
  }

  async #launch(recording: Recording): Promise<void> {
    if (this.#closing) throw new ServiceError('component_not_found', 'The component was removed');
    const { host } = this.#options;
    let started = false;
    const recorder: RecorderProcess = new RecorderProcess({
      host,
      recording,
      onCrashed: (reason) => {
        // Before it has started, start() says so.
        if (started) this.#crashed(recorder, recording, reason);
      },
      onFailed: (reason) => {
        host.log.error({ recording: recording.id, reason }, 'a recording cannot be written');
        this.#giveUp(`The recording cannot be written: ${reason}`);
      },
    });
    this.#process = recorder;
    await recorder.start();
    started = true;
    host.log.info({ recording: recording.id, pid: recorder.pid }, 'recorder started');
    recorder.receive(this.#tracks);
  }

  #crashed(recorder: RecorderProcess, recording: Recording, reason: string): void {
    const { log } = this.#options.host;
    const files: Promise<void> = recorder.close().finally(() => this.#former.delete(files));
    this.#former.add(files);
    this.#process = undefined;
    if (this.#closing) return;
    if (!this.#restarts.take(performance.now())) {
      log.error({ recording: recording.id, reason }, 'the recorder crashed again');
      this.#giveUp(`The recorder crashed too often: ${reason}`);
      return;
    }
    log.warn({ recording: recording.id, reason }, 'the recorder crashed: started again');
    this.#starting = this.#launch(recording).catch((error: unknown) => {
      if (!this.#closing) this.#giveUp(error instanceof ServiceError ? error.message : 'The recorder could not be started');
    });
  }

  #giveUp(reason: string): void {
    if (!this.#closing) this.#options.host.crashed(reason);
  }

  async #close(): Promise<void> {
    await this.#starting?.catch(() => {});
    await this.#process?.close();
    await Promise.all(this.#former);
    await this.#recording?.finish();
  }
}
