// Track process: component process that receives tracks of a room. It starts, is fed, and finishes its work; it is not reused after its end.
import { ServiceError } from '../../../api/errors.ts';
import { Timer } from '../../common/timer.ts';
import type { ComponentHost, EgressTrack, RtpAddress, SubscribableTrack } from '../../rooms/interfaces.ts';
import { ComponentProcess, type ComponentProcessOptions, startTimeoutMs } from './component-process.ts';
import type { SupervisedProcess } from './process-supervisor.ts';
import { TrackFeed } from './track-feed.ts';
import type { TrackCommand, TrackReport } from './track-messages.ts';

/** The process crashed while it processed these tracks, whose numbers are `entries`. */
export type ProcessCrash = { reason: string; tracks: readonly string[]; entries: readonly number[] };

export type TrackProcessOptions<Command, Report extends { type: string }, Taken extends SubscribableTrack> = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  /** Name in errors, for example `recorder`. */
  name: string;
  process: Pick<ComponentProcessOptions<Report | TrackReport>, 'role' | 'module' | 'writes' | 'maxMemory' | 'reportSchema'>;
  /** First command, if it needs one. */
  begin?: Command;
  /** True if the process supports the track; called once per track. */
  takes: (track: SubscribableTrack) => track is Taken;
  /** Announces RTP of this track to the process. @returns the number that identifies the track */
  add: (track: Taken, rtp: EgressTrack) => number;
  /** @returns where the process at this port of loopback sends; by default, RTCP feedback to the tracks. @throws ServiceError */
  connect?: (port: number) => Promise<RtpAddress>;
  onReport: (report: Report) => void;
  /** It has ended, by close() or by a crash; called once. Never rejects. close() waits for it. */
  onEnded?: (crash: ProcessCrash | undefined) => Promise<void> | void;
  /** It crashed while it processed these tracks; called at most once. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
  /** Milliseconds to finish its work, and then to exit. */
  finishTimeoutMs?: number;
  endTimeoutMs?: number;
};

const defaultFinishTimeoutMs = 8000;
const defaultEndTimeoutMs = 2000;

export class TrackProcess<Command extends object, Report extends { type: string }, Taken extends SubscribableTrack>
  implements SupervisedProcess
{
  readonly #options: TrackProcessOptions<Command, Report, Taken>;
  readonly #process: ComponentProcess<Command | TrackCommand, Report | TrackReport>;
  readonly #tracks: TrackFeed<Taken>;
  readonly #listening = Promise.withResolvers<number>();
  readonly #failed = Promise.withResolvers<never>();
  readonly #finished = Promise.withResolvers<void>();
  #closed: Promise<void> | undefined;

  constructor(options: TrackProcessOptions<Command, Report, Taken>) {
    this.#options = options;
    this.#failed.promise.catch(() => {});
    const { host, takes, add } = options;
    this.#tracks = new TrackFeed({ host, takes, add, remove: (entry) => this.#process.send({ type: 'remove', entry }) });
    this.#process = new ComponentProcess({
      ...options.process,
      log: host.log,
      onReport: (report) => this.#handle(report),
      onExit: (reason, entries) => this.#exited(reason, entries),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Port of loopback at which it listens; pending until then. */
  get port(): Promise<number> {
    return this.#listening.promise;
  }

  /** True from the call of close(), or from a crash. */
  get closing(): boolean {
    return this.#closed !== undefined;
  }

  /** Resolves when tracks can be added. @throws ServiceError */
  async start(): Promise<void> {
    const late = new Timer(startTimeoutMs, () => this.fail(`The ${this.#options.name} did not start in time`));
    try {
      await Promise.race([this.#failed.promise, this.#connect()]);
    } finally {
      late.stop();
    }
  }

  /** start() rejects with this message. */
  fail(reason: string): void {
    this.#failed.reject(new ServiceError('unavailable', reason));
  }

  /** @throws RangeError if the message is too large */
  send(command: Command): void {
    this.#process.send(command);
  }

  /** Replaces the set of tracks. */
  receive(tracks: readonly SubscribableTrack[]): void {
    this.#tracks.receive(tracks);
  }

  /** Ids of the tracks with these numbers, if they still exist. */
  named(entries: readonly number[]): string[] {
    return this.#tracks.named(entries);
  }

  /** Finishes its work and ends. Idempotent; never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #connect(): Promise<void> {
    if (this.#options.begin) this.#process.send(this.#options.begin);
    const port = await this.#listening.promise;
    const feedback = await this.#tracks.connect(port);
    const { ip, port: to } = (await this.#options.connect?.(port)) ?? feedback;
    this.#process.send({ type: 'connect', ip, port: to });
  }

  async #close(): Promise<void> {
    const { finishTimeoutMs = defaultFinishTimeoutMs, endTimeoutMs = defaultEndTimeoutMs, onEnded } = this.#options;
    this.#tracks.stop();
    const timer = new Timer(finishTimeoutMs, () => this.#finished.resolve());
    this.#process.send({ type: 'close' });
    await this.#finished.promise;
    timer.stop();
    await this.#process.end(endTimeoutMs);
    this.#tracks.close();
    await onEnded?.(undefined);
  }

  #handle(report: Report | TrackReport): void {
    if (!isTrackReport(report)) this.#options.onReport(report);
    else if (report.type === 'listening') this.#listening.resolve(report.port);
    else if (report.type === 'added') this.#tracks.added(report.entry);
    else this.#finished.resolve();
  }

  #exited(reason: string, entries: readonly number[]): void {
    const { name, onEnded, onCrashed } = this.#options;
    this.#finished.resolve();
    this.fail(`Could not start the ${name}`);
    if (this.#closed) return;
    const tracks = this.#tracks.named(entries);
    this.#tracks.close();
    this.#closed = Promise.resolve(onEnded?.({ reason, tracks, entries }));
    onCrashed(reason, tracks);
  }
}

function isTrackReport<Report extends { type: string }>(report: Report | TrackReport): report is TrackReport {
  return report.type === 'listening' || report.type === 'added' || report.type === 'closed';
}
