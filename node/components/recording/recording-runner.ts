// Runner of a recording component: supervises its recorder process until the disk fails or the process crashes too often.
import { ServiceError } from '../../../api/errors.ts';
import type { ComponentHost, ComponentRunner, EgressTrack, SubscribableTrack } from '../../rooms/interfaces.ts';
import { type ProcessCallbacks, ProcessSupervisor } from '../process/process-supervisor.ts';
import type { TrackReport } from '../process/track-messages.ts';
import { type ProcessCrash, TrackProcess } from '../process/track-process.ts';
import { extensionOf, isRecorded, type RecordedEncoding } from './codecs.ts';
import type { Recording } from './recording.ts';
import { type RecorderCommand, type RecorderReport, recorderReportSchema } from './recording-process.ts';

export type RecordingRunnerOptions = {
  host: ComponentHost;
  /** Creates the recording. @throws Error if the disk write fails */
  begin: () => Promise<Recording>;
};

type RecordedTrack = SubscribableTrack & { encoding: RecordedEncoding };
type Report = Exclude<RecorderReport, TrackReport>;

/** Maximum of tracks that are recorded at once. */
const limits = { audio: 1000, video: 500 } as const;

export function createRecordingRunner({ host, begin }: RecordingRunnerOptions): ComponentRunner {
  /** Files of crashed processes that are being finished. The next process does not wait for them. */
  const former = new Set<Promise<void>>();
  let recording: Recording | undefined;
  const supervisor: ProcessSupervisor<RecorderProcess, Recording> = new ProcessSupervisor({
    host,
    name: 'recorder',
    facts: ({ id: recording }) => ({ recording }),
    begin: async () => {
      recording = await begin().catch((error: unknown) => {
        host.log.error({ err: error }, 'could not start recording');
        throw new ServiceError('unavailable', 'Could not write the recording to disk', { cause: error });
      });
      return recording;
    },
    make: (begun, callbacks) => new RecorderProcess(host, begun, callbacks),
    onCrashed: () => {
      const recorder = supervisor.current;
      if (!recorder) return undefined;
      const files: Promise<void> = recorder.close().finally(() => former.delete(files));
      former.add(files);
      return undefined;
    },
    onClosed: async (begun) => {
      await Promise.all(former);
      await begun.finish();
    },
    busy: (_, tracks) => tracks.length > 0,
    limits,
  });
  return {
    start: () => supervisor.start(),
    receive: (tracks) => supervisor.receive(tracks),
    addCaption: (caption) => recording?.addCaption(caption, Date.now()),
    close: () => supervisor.close(),
    get busy() {
      return supervisor.busy;
    },
  };
}

/** A recorder process and the files that it writes. */
class RecorderProcess extends TrackProcess<RecorderCommand, Report, RecordedTrack> {
  readonly #recording: Recording;
  readonly #callbacks: ProcessCallbacks;
  readonly #log: ComponentHost['log'];
  readonly #unfinished = new Set<number>();

  constructor(host: Pick<ComponentHost, 'log' | 'openOutput'>, recording: Recording, callbacks: ProcessCallbacks) {
    super({
      host,
      name: 'recorder',
      process: { role: 'record', writes: [recording.folder], reportSchema: recorderReportSchema },
      takes: (track): track is RecordedTrack => this.#takes(track),
      add: (track, rtp) => this.#add(track, rtp),
      onReport: (report) => this.#handle(report),
      onEnded: (crash) => this.#recoverFiles(crash),
      onCrashed: callbacks.onCrashed,
    });
    this.#recording = recording;
    this.#callbacks = callbacks;
    this.#log = host.log;
  }

  #takes(track: SubscribableTrack): boolean {
    const { id: trackId, kind: type, encoding, origin, metadata } = track;
    if (isRecorded(encoding)) return true;
    this.#log.warn({ track: trackId, encoding }, 'could not record track');
    const problem = `Tracks with codec ${encoding} cannot be recorded`;
    this.#recording.addProblem({ trackId, type, encoding, origin, metadata, problem });
    return false;
  }

  /** @returns the number of its file */
  #add({ id: trackId, kind: type, encoding, origin, metadata }: RecordedTrack, { ssrc, clockRate, channels }: EgressTrack): number {
    const facts = { trackId, type, encoding, clockRate, ...(type === 'audio' && { channels }), origin, metadata };
    const { entry, path } = this.#recording.add(facts, extensionOf(encoding));
    this.#unfinished.add(entry);
    this.send({ type: 'add', entry, ssrc, encoding, clockRate, channels, path });
    return entry;
  }

  #handle(report: Report): void {
    if (report.type === 'failed') this.#failed(report.reason);
    else if (report.type === 'broken') this.#broken(report.entry, report.reason);
    else {
      const { type, entry, ...facts } = report;
      this.#recording.update(entry, facts);
      if (type === 'ended') this.#unfinished.delete(entry);
    }
  }

  #failed(reason: string): void {
    this.#log.error({ recording: this.#recording.id, reason }, 'could not write recording');
    this.#callbacks.onFailed(`Could not write the recording: ${reason}`);
  }

  #broken(entry: number, reason: string): void {
    const problem = `Could not record track: ${reason}`;
    this.#recording.update(entry, { problem });
    for (const trackId of this.named([entry])) this.#callbacks.onTrackBroken(trackId, problem);
  }

  async #recoverFiles(crash: ProcessCrash | undefined): Promise<void> {
    if (crash?.tracks.length === 1)
      for (const entry of crash.entries) this.#recording.update(entry, { problem: `Track crashed the recorder: ${crash.reason}` });
    for (const entry of this.#unfinished) await this.#recording.recover(entry);
    this.#unfinished.clear();
  }
}
