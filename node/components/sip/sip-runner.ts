// Runner of a sip component: supervises its process, and publishes the registration and the calls.

import type { CallView } from '../../../api/call.ts';
import { ServiceError } from '../../../api/errors.ts';
import { Timer } from '../../common/timer.ts';
import { newId } from '../../rooms/ids.ts';
import type { ComponentHost, ComponentRunner, RtpAddress, SubscribableTrack } from '../../rooms/interfaces.ts';
import type { PhoneCallRunner } from '../../rooms/phone-calls.ts';
import type { Admission, ReleaseBudget } from '../process/admission.ts';
import { type ProcessCallbacks, ProcessSupervisor } from '../process/process-supervisor.ts';
import type { TrackReport } from '../process/track-messages.ts';
import { TrackProcess, type TrackProcessOptions } from '../process/track-process.ts';
import type { CallEnd, UserAgentReport, UserAgentSettings } from './agent/agent-messages.ts';
import type { Dialog } from './agent/dialog.ts';
import { roomAudioCodec } from './room-audio-codec.ts';
import { type SipCommand, type SipReport, sipReportSchema } from './sip-process.ts';

export type SipRunnerOptions = {
  host: ComponentHost;
  /** Current settings, read when a process starts. @throws ServiceError */
  settings: () => Omit<UserAgentSettings, 'orphanedDialogs' | 'instanceId' | 'roomPort'>;
  admission: Admission;
  /** All calls have ended; called once. */
  onClosed: () => void;
};

/** Cores of a user agent in a room with ten audio tracks, and of each call (`npm run bench sip-audio`). */
export const userAgentCores = 0.1;
const callCores = 0.03;

/** Maximum of tracks that calls receive. */
const limits = { audio: 500, video: Number.POSITIVE_INFINITY } as const;
/** Maximum of orphaned dialogs that are terminated after a crash. */
const maxOrphanedDialogs = 200;

type Call = { view: CallView; dialog?: Dialog | undefined /** Track of its audio in the room. */; trackId?: string };

export class SipRunner implements ComponentRunner {
  readonly calls: PhoneCallRunner = {
    start: (phoneNumber) => this.#startCall(phoneNumber),
    end: (callId) => this.#endCalls(callId),
    sendDigits: (callId, digits) => this.#sendDigits(callId, digits),
  };
  readonly #options: SipRunnerOptions;
  readonly #kept: ProcessSupervisor<SipProcess, undefined>;
  readonly #calls = new Map<string, Call>();
  /** Dialogs of a crashed process, terminated by the next process once it is registered. */
  #orphanedDialogs: Dialog[] = [];
  /** The room accepts audio from one port only, so all processes use the same. */
  #room: { port: number; address: RtpAddress } | undefined;
  /** CPU budget by call id, including unanswered incoming calls. */
  readonly #shares = new Map<string, ReleaseBudget>();
  #share: ReleaseBudget | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SipRunnerOptions) {
    this.#options = options;
    this.#kept = new ProcessSupervisor({
      host: options.host,
      name: 'SIP user agent',
      facts: () => ({ leftCalls: this.#orphanedDialogs.length }),
      begin: () => Promise.resolve(undefined),
      make: (_, callbacks) => this.#make(callbacks),
      onCrashed: () => this.#lost(),
      persistent: true,
      limits,
    });
  }

  /** Its calls, without incoming calls that are not answered yet. */
  get busy(): number {
    return this.#calls.size;
  }

  start(): Promise<void> {
    this.#share ??= this.#options.admission.take(userAgentCores);
    return this.#kept.start();
  }

  receive(tracks: readonly SubscribableTrack[]): void {
    this.#kept.receive(tracks);
  }

  close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = this.#kept.close().then(this.#options.onClosed);
      // Reported before the end of the component.
      this.#endAll({ reason: 'hung_up' });
      this.#share?.();
    }
    return this.#closed;
  }

  #make({ onCrashed }: ProcessCallbacks): SipProcess {
    const { host, settings } = this.#options;
    return new SipProcess({
      host,
      settings: {
        ...settings(),
        instanceId: host.componentId,
        orphanedDialogs: this.#orphanedDialogs.slice(0, maxOrphanedDialogs),
        ...(this.#room && { roomPort: this.#room.port }),
      },
      connect: (port) => this.#connectRoom(port),
      onNews: (news) => this.#handle(news),
      mayAnswer: (callId) => this.#mayAnswer(callId),
      onCrashed,
    });
  }

  async #connectRoom(port: number): Promise<RtpAddress> {
    if (this.#room && this.#room.port !== port) throw new ServiceError('unavailable', 'The port of the SIP user agent is in use');
    this.#room ??= { port, address: await this.#options.host.connect({ ip: '127.0.0.1', port }) };
    return this.#room.address;
  }

  /** The process ended, and its calls with it. */
  #lost(): undefined {
    this.#orphanedDialogs.push(...[...this.#calls.values()].flatMap(({ dialog }) => dialog ?? []));
    this.#endAll({ reason: 'crashed' });
    if (!this.#kept.closing) this.#show({ registered: false, registrationError: 'The SIP user agent crashed' });
  }

  #handle(news: SipNotification): void {
    const { log } = this.#options.host;
    if (news.type === 'registered') {
      log.info('registered');
      this.#orphanedDialogs = [];
      this.#show({ registered: true, registrationError: null });
    } else if (news.type === 'unregistered') {
      log.warn({ problem: news.problem }, 'registration failed');
      this.#show({ registered: false, registrationError: news.problem });
    } else if (news.type === 'incoming')
      this.#add({ id: news.callId, phoneNumber: news.phoneNumber, direction: 'incoming', state: 'calling' });
    else if (news.type === 'ended') this.#callEnded(news.callId, news.end);
    else this.#changed(news);
  }

  #changed(news: Extract<SipNotification, { type: 'ringing' | 'answered' | 'digit' }>): void {
    const call = this.#calls.get(news.callId);
    if (!call) return;
    const { host } = this.#options;
    const reported = tellable(call.view);
    if (news.type === 'digit') {
      host.callEvent({ type: 'SipDigitReceived', call: reported, digit: news.digit });
      return;
    }
    const ringing = news.type === 'ringing';
    if (!ringing) {
      call.dialog = news.dialog;
      void this.#publish(call, news.ssrc);
    }
    call.view = { ...call.view, state: ringing ? 'ringing' : 'active' };
    this.#showCalls();
    host.log.info({ call: news.callId }, ringing ? 'call ringing' : 'call answered');
    host.callEvent({ type: ringing ? 'SipCallRinging' : 'SipCallStarted', call: reported });
  }

  /** Publishes the audio of the remote party as a track of the room. */
  async #publish(call: Call, ssrc: number): Promise<void> {
    const { host } = this.#options;
    const { id, phoneNumber, direction } = call.view;
    const codec = { ...roomAudioCodec, rtcpFeedback: [] };
    const rtpParameters = { codecs: [codec], encodings: [{ ssrc }], headerExtensions: [], rtcp: { cname: id } };
    try {
      const trackId = await host.publish({ kind: 'audio', rtpParameters, metadata: { source: 'sip', callId: id, phoneNumber, direction } });
      if (this.#calls.get(id) === call) call.trackId = trackId;
      else host.unpublish(trackId);
    } catch (error) {
      // The component or its room ended meanwhile.
      host.log.debug({ err: error, call: id }, 'could not publish audio of call');
    }
  }

  #endAll(end: CallEnd): void {
    for (const callId of new Set([...this.#calls.keys(), ...this.#shares.keys()])) this.#callEnded(callId, end);
  }

  #callEnded(callId: string, { reason, status, phrase }: CallEnd): void {
    this.#shares.get(callId)?.();
    this.#shares.delete(callId);
    const call = this.#calls.get(callId);
    // Unanswered incoming calls were not reported.
    if (!call) return;
    this.#calls.delete(callId);
    this.#showCalls();
    const { host } = this.#options;
    if (call.trackId !== undefined) host.unpublish(call.trackId);
    host.log.info({ call: callId, reason, status }, 'call ended');
    const answer = { ...(status !== undefined && { status }), ...(phrase !== undefined && { phrase }) };
    host.callEvent({ type: 'SipCallEnded', call: { ...tellable(call.view), ...answer }, reason });
  }

  /** @throws ServiceError if this node has no capacity for another call */
  #takeShare(callId: string): void {
    const { admission } = this.#options;
    admission.requireBudget('one more phone call', callCores);
    this.#shares.set(callId, admission.take(callCores));
  }

  #mayAnswer(callId: string): boolean {
    if (this.#shares.has(callId)) return false;
    try {
      this.#takeShare(callId);
      return true;
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      this.#options.host.log.warn({ reason: error.message }, 'incoming call rejected');
      return false;
    }
  }

  #add(view: CallView): void {
    this.#calls.set(view.id, { view });
    this.#showCalls();
  }

  async #startCall(phoneNumber: string): Promise<CallView> {
    const process = this.#require();
    const view: CallView = { id: newId(), phoneNumber, direction: 'outgoing', state: 'calling' };
    this.#takeShare(view.id);
    // Before reports about the call arrive.
    this.#add(view);
    try {
      await process.ask({ type: 'call', callId: view.id, phoneNumber });
    } catch (error) {
      this.#shares.get(view.id)?.();
      this.#shares.delete(view.id);
      this.#calls.delete(view.id);
      this.#showCalls();
      throw error;
    }
    return this.#calls.get(view.id)?.view ?? view;
  }

  async #endCalls(callId: string | undefined): Promise<void> {
    const process = this.#require();
    if (callId !== undefined) this.#requireCall(callId);
    const ids = callId === undefined ? [...this.#calls.keys()] : [callId];
    // A call that has ended meanwhile counts as hung up.
    await Promise.all(ids.map((id) => process.ask({ type: 'hangUp', callId: id }).catch(ignoreEnded)));
  }

  async #sendDigits(callId: string, digits: string): Promise<void> {
    const process = this.#require();
    this.#requireCall(callId);
    await process.ask({ type: 'digits', callId, digits: digits.toUpperCase() });
  }

  #require(): SipProcess {
    const { current, closing } = this.#kept;
    if (!current || closing) throw new ServiceError('unavailable', 'The SIP user agent is restarting', { retryAfter: 1 });
    return current;
  }

  #requireCall(callId: string): void {
    if (!this.#calls.has(callId)) throw new ServiceError('call_not_found', `Call ${callId} does not exist`);
  }

  #showCalls(): void {
    this.#show({ calls: [...this.#calls.values()].map(({ view }) => ({ ...view })) });
  }

  #show(change: Parameters<ComponentHost['showProperties']>[0]): void {
    this.#options.host.showProperties(change);
  }
}

/** Reports that need no response. */
type SipNotification = Exclude<UserAgentReport, { type: 'admissionRequested' }>;

type SipProcessOptions = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  settings: UserAgentSettings;
  /** @returns the address at which the room receives audio from this port of loopback */
  connect: (port: number) => Promise<RtpAddress>;
  onNews: (news: SipNotification) => void;
  /** True if an incoming call may be answered; it is reported as `ended` in either case. */
  mayAnswer: (callId: string) => boolean;
  onCrashed: TrackProcessOptions<SipCommand, Report, SubscribableTrack>['onCrashed'];
};

type Report = Exclude<SipReport, TrackReport>;
type RequestType = 'call' | 'hangUp' | 'digits';
type Request = { [Type in RequestType]: Omit<Extract<SipCommand, { type: Type }>, 'request'> }[RequestType];

/** Timeout of requests: shorter than that of requests between nodes. */
const responseTimeoutMs = 4000;
/** Milliseconds to hang up and unregister, and then to exit. */
const finishTimeoutMs = 6000;
const endTimeoutMs = 1000;
const maxWaiting = 200;

const codes = { bad_request: 'bad_request', not_found: 'call_not_found', conflict: 'conflict', unavailable: 'unavailable' } as const;

/** The process of a user agent; it registers automatically. */
class SipProcess extends TrackProcess<SipCommand, Report, SubscribableTrack> {
  readonly #options: SipProcessOptions;
  readonly #waiting = new Map<number, PromiseWithResolvers<void>>();
  #requests = 0;

  constructor(options: SipProcessOptions) {
    const { host, settings, connect, onCrashed } = options;
    super({
      host,
      name: 'SIP user agent',
      process: { role: 'sip', reportSchema: sipReportSchema },
      begin: { type: 'start', settings },
      takes: (track): track is SubscribableTrack => track.kind === 'audio' && track.encoding === 'opus',
      add: (_, { ssrc }) => {
        this.send({ type: 'add', entry: ssrc });
        return ssrc;
      },
      connect,
      onReport: (report) => this.#handle(report),
      onEnded: () => this.#ended(),
      onCrashed,
      finishTimeoutMs,
      endTimeoutMs,
    });
    this.#options = options;
  }

  /** @throws ServiceError if the request is rejected or times out */
  async ask(request: Request): Promise<void> {
    if (this.closing || this.#waiting.size >= maxWaiting) throw new ServiceError('unavailable', 'The SIP user agent is busy');
    this.#requests += 1;
    const number = this.#requests;
    const answer = Promise.withResolvers<void>();
    this.#waiting.set(number, answer);
    const timer = new Timer(responseTimeoutMs, () => answer.reject(new ServiceError('unavailable', 'The SIP user agent does not respond')));
    try {
      this.send({ ...request, request: number });
      await answer.promise;
    } finally {
      timer.stop();
      this.#waiting.delete(number);
    }
  }

  #handle(report: Report): void {
    if (report.type === 'admissionRequested') {
      const { callId } = report;
      this.send({ type: 'admit', callId, admitted: !this.closing && this.#options.mayAnswer(callId) });
    } else if (report.type === 'done') {
      const answer = this.#waiting.get(report.request);
      if (report.problem) answer?.reject(new ServiceError(codes[report.problem.code], report.problem.message));
      else answer?.resolve();
    } else if (!this.closing) this.#options.onNews(report);
  }

  #ended(): void {
    for (const { reject } of this.#waiting.values()) reject(new ServiceError('unavailable', 'The SIP user agent ended'));
  }
}

function tellable({ id, phoneNumber, direction }: CallView): Omit<CallView, 'state'> {
  return { id, phoneNumber, direction };
}

function ignoreEnded(error: unknown): void {
  if (!(error instanceof ServiceError && error.code === 'call_not_found')) throw error;
}
