// Process of a sip component: starts it, sends requests with timeouts, and hangs up calls before it ends.
import { extname, join } from 'node:path';
import { ServiceError } from '../../../api/errors.ts';
import { Timer } from '../../common/timer.ts';
import type { ComponentHost, RtpAddress, SubscribableTrack } from '../../rooms/interfaces.ts';
import { ComponentProcess, startTimeoutMs } from '../process/component-process.ts';
import { TrackFeed } from '../process/track-feed.ts';
import { type SipCommand, type SipReport, sipReportSchema, type UserAgentSettings } from './sip-messages.ts';

/** Reports that are not responses. */
export type SipNotification = Exclude<SipReport, { type: 'ready' | 'listening' | 'trackAdded' | 'asked' | 'done' | 'closed' }>;

export type SipProcessOptions = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  settings: UserAgentSettings;
  /** Address at which the room receives audio from this port of loopback. */
  roomAddress: (port: number) => Promise<RtpAddress>;
  onNews: (news: SipNotification) => void;
  /** True if an incoming call may be answered; it is reported as `ended` in either case. */
  mayAnswer: (callId: string) => boolean;
  /** It crashed while it processed these tracks; called at most once. */
  onCrashed: (reason: string, tracks: readonly string[]) => void;
};

type Request = { [Type in 'call' | 'hangUp' | 'digits']: Omit<Extract<SipCommand, { type: Type }>, 'request'> }[
  | 'call'
  | 'hangUp'
  | 'digits'];
type Answer = { done: () => void; failed: (error: ServiceError) => void };

/** Has the extension of this file: compiled or not. */
const module = join(import.meta.dirname, `sip-main${extname(import.meta.filename)}`);
/** Timeout of requests: shorter than that of requests between nodes. */
const responseTimeoutMs = 4000;
/** Milliseconds to hang up and unregister, and then to exit. */
const closeTimeoutMs = 6000;
const endTimeoutMs = 1000;
const maxWaiting = 200;

const codes = { bad_request: 'bad_request', not_found: 'call_not_found', conflict: 'conflict', unavailable: 'unavailable' } as const;

export class SipProcess {
  readonly #options: SipProcessOptions;
  readonly #process: ComponentProcess<SipCommand, SipReport>;
  readonly #tracks: TrackFeed<SubscribableTrack>;
  readonly #ready = Promise.withResolvers<void>();
  readonly #listening = Promise.withResolvers<number>();
  readonly #finished = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, Answer>();
  #requests = 0;
  #closed: Promise<void> | undefined;

  constructor(options: SipProcessOptions) {
    this.#options = options;
    for (const { promise } of [this.#ready, this.#listening]) promise.catch(() => {});
    this.#tracks = new TrackFeed({
      host: options.host,
      takes: (track): track is SubscribableTrack => track.kind === 'audio' && track.encoding === 'opus',
      add: (_, { ssrc }) => {
        this.#process.send({ type: 'addTrack', ssrc });
        return ssrc;
      },
      remove: (ssrc) => this.#process.send({ type: 'removeTrack', ssrc }),
    });
    this.#process = new ComponentProcess({
      log: options.host.log,
      module,
      reportSchema: sipReportSchema,
      onReport: (report) => this.#hear(report),
      onExit: (reason, ssrcs) => this.#gone(reason, ssrcs),
    });
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when it accepts commands; it registers automatically. @throws ServiceError */
  async start(): Promise<void> {
    const timer = new Timer(startTimeoutMs, () => this.#failStart('The SIP user agent did not start in time'));
    try {
      await this.#ready.promise;
      this.#process.send({ type: 'start', settings: this.#options.settings });
      const port = await this.#listening.promise;
      const { ip, port: roomPort } = await this.#options.roomAddress(port);
      this.#process.send({ type: 'connect', ip, port: roomPort });
      await this.#tracks.connect(port);
    } catch (error) {
      // The process may still run and use the port that the next one needs.
      await this.close();
      throw error;
    } finally {
      timer.stop();
    }
  }

  /** Replaces the set of tracks that calls receive. */
  receive(tracks: readonly SubscribableTrack[]): void {
    if (!this.#closed) this.#tracks.receive(tracks);
  }

  /** @throws ServiceError if the request is rejected or times out */
  async ask(request: Request): Promise<void> {
    if (this.#closed || this.#waiting.size >= maxWaiting) throw new ServiceError('unavailable', 'The SIP user agent is busy');
    this.#requests += 1;
    const number = this.#requests;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.set(number, { done: resolve, failed: reject });
    const timer = new Timer(responseTimeoutMs, () => reject(new ServiceError('unavailable', 'The SIP user agent does not respond')));
    try {
      this.#process.send({ ...request, request: number });
      await promise;
    } finally {
      timer.stop();
      this.#waiting.delete(number);
    }
  }

  /** Hangs up, unregisters and ends the process. Idempotent; never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    const timer = new Timer(closeTimeoutMs, () => this.#finished.resolve());
    this.#process.send({ type: 'close' });
    await this.#finished.promise;
    timer.stop();
    await this.#process.end(endTimeoutMs);
    this.#tracks.close();
  }

  #hear(report: SipReport): void {
    if (report.type === 'ready') this.#ready.resolve();
    else if (report.type === 'listening') this.#listening.resolve(report.port);
    else if (report.type === 'trackAdded') this.#tracks.added(report.ssrc);
    else if (report.type === 'closed') this.#finished.resolve();
    else if (report.type === 'asked')
      this.#process.send({ type: 'admit', callId: report.callId, admitted: !this.#closed && this.#options.mayAnswer(report.callId) });
    else if (report.type === 'done') {
      const answer = this.#waiting.get(report.request);
      if (report.problem) answer?.failed(new ServiceError(codes[report.problem.code], report.problem.message));
      else answer?.done();
    } else if (!this.#closed) this.#options.onNews(report);
  }

  #failStart(problem: string): void {
    for (const { reject } of [this.#ready, this.#listening]) reject(new ServiceError('unavailable', problem));
  }

  #gone(reason: string, ssrcs: readonly number[]): void {
    this.#finished.resolve();
    this.#failStart('Could not start the SIP user agent');
    for (const { failed } of this.#waiting.values()) failed(new ServiceError('unavailable', 'The SIP user agent ended'));
    if (this.#closed) return;
    this.#closed = Promise.resolve();
    const tracks = this.#tracks.named(ssrcs);
    this.#tracks.close();
    this.#options.onCrashed(reason, tracks);
  }
}
