// Records a room: a process is kept at work on its recording, until that crashes again and again or the disk refuses.
import { ServiceError } from '../../common/errors.ts';
import type { ComponentHost, ComponentRunner, SubscribableTrack } from '../../rooms/interfaces.ts';
import { ProcessSupervisor } from '../process/process-supervisor.ts';
import { RecorderProcess } from './recorder-process.ts';
import type { Recording } from './recording.ts';

export type RecordingRunnerOptions = {
  host: ComponentHost;
  /** Makes the recording. @throws Error where the disk refuses */
  begin: () => Promise<Recording>;
};

/** Tracks that are recorded at once. */
const limits = { audio: 1000, video: 500 } as const;

export class RecordingRunner implements ComponentRunner {
  readonly #kept: ProcessSupervisor<RecorderProcess, Recording>;
  /** Crashed ones whose files are being finished. */
  readonly #former = new Set<Promise<void>>();
  #closed: Promise<void> | undefined;

  constructor({ host, begin }: RecordingRunnerOptions) {
    this.#kept = new ProcessSupervisor({
      host,
      name: 'recorder',
      facts: ({ id: recording }) => ({ recording }),
      begin: () =>
        begin().catch((error: unknown) => {
          host.log.error({ err: error }, 'a recording cannot be begun');
          throw new ServiceError('unavailable', 'The recording cannot be written to the disk', { cause: error });
        }),
      make: (recording, { onCrashed, onTrackBroken, onFailed }) =>
        new RecorderProcess({
          host,
          recording,
          onCrashed,
          onTrackBroken,
          onFailed: (reason) => {
            host.log.error({ recording: recording.id, reason }, 'a recording cannot be written');
            onFailed(`The recording cannot be written: ${reason}`);
          },
        }),
      onCrashed: () => this.#lost(),
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

  /** The next one does not wait for the files of this one. */
  #lost(): undefined {
    const recorder = this.#kept.current;
    if (!recorder) return;
    const files: Promise<void> = recorder.close().finally(() => this.#former.delete(files));
    this.#former.add(files);
  }

  async #close(): Promise<void> {
    await this.#kept.close();
    await Promise.all(this.#former);
    await this.#kept.work?.finish();
  }
}
