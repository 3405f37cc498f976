// Runner of a recording component: supervises its recorder process until the disk fails or the process crashes too often.
import { ServiceError } from '../../../api/errors.ts';
import type { ComponentHost, ComponentRunner, SubscribableTrack } from '../../rooms/interfaces.ts';
import { ProcessSupervisor } from '../process/process-supervisor.ts';
import { RecorderProcess } from './recorder-process.ts';
import type { Recording } from './recording.ts';

export type RecordingRunnerOptions = {
  host: ComponentHost;
  /** Creates the recording. @throws Error if the disk write fails */
  begin: () => Promise<Recording>;
};

/** Maximum of tracks that are recorded at once. */
const limits = { audio: 1000, video: 500 } as const;

export class RecordingRunner implements ComponentRunner {
  readonly #kept: ProcessSupervisor<RecorderProcess, Recording>;
  /** Files of crashed processes that are being finished. */
  readonly #former = new Set<Promise<void>>();
  #closed: Promise<void> | undefined;

  constructor({ host, begin }: RecordingRunnerOptions) {
    this.#kept = new ProcessSupervisor({
      host,
      name: 'recorder',
      facts: ({ id: recording }) => ({ recording }),
      begin: () =>
        begin().catch((error: unknown) => {
          host.log.error({ err: error }, 'could not start recording');
          throw new ServiceError('unavailable', 'Could not write the recording to disk', { cause: error });
        }),
      make: (recording, { onCrashed, onTrackBroken, onFailed }) =>
        new RecorderProcess({
          host,
          recording,
          onCrashed,
          onTrackBroken,
          onFailed: (reason) => {
            host.log.error({ recording: recording.id, reason }, 'could not write recording');
            onFailed(`Could not write the recording: ${reason}`);
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

  /** The next process does not wait until the files of this one are finished. */
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
