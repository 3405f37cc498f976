// SIP user agent (RFC 3261) of one account: its registration, and its outgoing and incoming calls.
import { randomUUID } from 'node:crypto';
import { Core, type Invitation, type Session, URI, UserAgent } from 'sip.js';
import { settleWithin, Timer } from '../../../common/timer.ts';
import type { CallAudio } from '../audio/session.ts';
import { Credentials } from '../wire/digest-auth.ts';
import { type NodeTransportOptions, SipTransportAdapter } from '../wire/node-transport.ts';
import { hostInUri } from '../wire/registrar.ts';
import type { CallEnd, UserAgentReport, UserAgentSettings } from './agent-messages.ts';
import { Call } from './call.ts';
import { CallDescription } from './call-description.ts';
import type { Dialog } from './dialog.ts';
import { terminateOrphanedDialog } from './dialogs.ts';
import { Registration } from './registration.ts';

export type SipUserAgentOptions = {
  settings: UserAgentSettings;
  audio: CallAudio;
  report: (report: UserAgentReport) => void;
  /** A received message could not be processed; for logs. */
  onFault?: (error: unknown) => void;
} & Pick<NodeTransportOptions, 'find' | 'requestRate'>;

/** A command failed; the message is for the client that sent it. */
export class SipCommandError extends Error {
  readonly code: 'bad_request' | 'not_found' | 'conflict' | 'unavailable';

  constructor(code: SipCommandError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

const maxCalls = 200;
/** Milliseconds in which a rejection of digits arrives. */
const refusalTime = 300;
/** Milliseconds to decide whether an incoming call may be answered. */
const admissionTimeoutMs = 2000;
/** Milliseconds for remote parties to confirm the end of their call. */
const goodbyeTimeoutMs = 3000;

// Over UDP, responses and their retransmissions cross. SIP.js sets these timers to 0, as for streams. RFC 3261, section 17, allows up to 32
// s, but messages that are retransmitted for longer than this were answered several times already.
Object.assign(Core.Timers, { TIMER_D: 8000, TIMER_I: 5000, TIMER_J: 8000, TIMER_K: 5000 });

export class SipUserAgent {
  readonly #options: SipUserAgentOptions;
  readonly #agent: UserAgent;
  readonly #transport: SipTransportAdapter;
  readonly #registration: Registration;
  readonly #calls = new Map<string, Call>();
  /** Calls that ended locally while the remote party has not confirmed. */
  readonly #leaving = new Set<Promise<void>>();
  readonly #orphanedDialogs: Dialog[];
  /** Incoming calls whose admission is pending. */
  readonly #asked = new Map<string, (admitted: boolean) => void>();
  readonly #descriptions = new WeakMap<Session, CallDescription>();
  #closed: Promise<void> | undefined;

  constructor(options: SipUserAgentOptions) {
    this.#options = options;
    const { registrar, username, password, announcedIp, ports, ca, allowPrivate, instanceId, userAgent } = options.settings;
    this.#orphanedDialogs = [...options.settings.orphanedDialogs];
    const host = hostInUri(registrar.host);
    const transportOptions: NodeTransportOptions = {
      ...{ registrar, announcedIp, ports, ca, allowPrivate },
      onFault: (error) => options.onFault?.(error),
      ...(options.find && { find: options.find }),
      ...(options.requestRate !== undefined && { requestRate: options.requestRate }),
    };
    this.#agent = new UserAgent({
      uri: new URI('sip', username, host),
      contactName: username,
      contactParams: { transport: 'udp' },
      viaHost: hostInUri(announcedIp),
      forceRport: true,
      transportConstructor: SipTransportAdapter,
      transportOptions,
      authorizationUsername: username,
      sessionDescriptionHandlerFactory: (session) => this.#descriptionOf(session),
      sipExtensionExtraSupported: ['timer'],
      sendInitialProvisionalResponse: false,
      logBuiltinEnabled: false,
      logConfiguration: false,
      userAgentString: userAgent,
      delegate: {
        onInvite: (invitation) => {
          const answered = this.#answer(invitation)
            .catch((error: unknown) => options.onFault?.(error))
            .finally(() => this.#leaving.delete(answered));
          this.#leaving.add(answered);
        },
        onDisconnect: (error) => error && this.#registration.connectionLost(error),
      },
    });
    const { transport, userAgentCore } = this.#agent;
    if (!(transport instanceof SipTransportAdapter)) throw new Error('SIP.js does not use the given transport');
    this.#transport = transport;
    userAgentCore.configuration.authenticationFactory = () => new Credentials(this.#agent.getLoggerFactory(), { username, password });
    this.#registration = new Registration({
      agent: this.#agent,
      transport,
      registrar: new URI('sip', '', host, registrar.port),
      instanceId,
      onRegistered: () => {
        for (const dialog of this.#orphanedDialogs.splice(0)) terminateOrphanedDialog(userAgentCore, dialog);
        options.report({ type: 'registered' });
      },
      onLost: (problem) => options.report({ type: 'unregistered', problem }),
    });
  }

  /** Starts to register and to accept calls. */
  start(): void {
    // The registration connects the transport, and handles its failures.
    this.#agent.start().catch(() => {});
    this.#registration.start();
  }

  /** Calls a number; progress is reported. @throws SipCommandError */
  async call(callId: string, phoneNumber: string): Promise<void> {
    if (!this.#registration.registered) throw new SipCommandError('unavailable', 'The component is not registered at its registrar');
    const { registrar, ringTimeout } = this.#options.settings;
    const target = new URI('sip', phoneNumber.replaceAll('%', '%25'), hostInUri(registrar.host), registrar.port);
    const call = await this.#open(callId);
    if (!call) throw new SipCommandError('unavailable', 'All RTP ports are in use');
    call.dial(this.#agent, target, ringTimeout);
  }

  /** Response to `asked`. */
  admit(callId: string, admitted: boolean): void {
    this.#asked.get(callId)?.(admitted);
  }

  /** @throws SipCommandError if the call does not exist */
  hangUp(callId: string): void {
    this.#require(callId).end({ reason: 'hung_up' });
  }

  /** @throws SipCommandError if the call does not exist or accepts no digits */
  async sendDigits(callId: string, digits: string): Promise<void> {
    const call = this.#require(callId);
    if (!call.active) throw new SipCommandError('conflict', `Call ${callId} has not been answered yet`);
    const sent = call.sendDigits(digits).catch((error: unknown) => {
      throw new SipCommandError(error instanceof RangeError ? 'bad_request' : 'conflict', `The remote of call ${callId} accepts no digits`);
    });
    // Long sequences take longer than the client waits: digits that were not rejected at once are being sent.
    await settleWithin(refusalTime, [sent]);
  }

  /** Hangs up, unregisters and closes the socket. Idempotent; never rejects. */
  close(): Promise<void> {
    this.#closed ??= this.#close();
    return this.#closed;
  }

  async #close(): Promise<void> {
    for (const call of [...this.#calls.values()]) call.end({ reason: 'hung_up' });
    for (const admit of this.#asked.values()) admit(false);
    await settleWithin(goodbyeTimeoutMs, [...this.#leaving, this.#registration.stop()]);
    await this.#transport.dispose();
    this.#agent.userAgentCore.dispose();
  }

  async #answer(invitation: Invitation): Promise<void> {
    const { answerIncoming } = this.#options.settings;
    if (!answerIncoming || this.#closed) {
      await invitation.reject({ statusCode: 480 });
      return;
    }
    const callId = randomUUID();
    const call = await this.#open(callId, callerOf(invitation));
    if (!call || !(await this.#mayAnswer(callId))) {
      call?.end({ reason: 'failed' });
      await invitation.reject({ statusCode: this.#closed ? 480 : 486 });
      return;
    }
    await call.accept(invitation).catch((error: unknown) => {
      call.end({ reason: 'failed' });
      throw error;
    });
  }

  async #mayAnswer(callId: string): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = new Timer(admissionTimeoutMs, () => resolve(false));
    this.#asked.set(callId, resolve);
    this.#options.report({ type: 'admissionRequested', callId });
    const admitted = await promise;
    timer.stop();
    this.#asked.delete(callId);
    return admitted;
  }

  /** @returns undefined if no more calls are possible */
  async #open(callId: string, incomingFrom?: string): Promise<Call | undefined> {
    const { audio, report, settings } = this.#options;
    if (this.#calls.size >= maxCalls || this.#calls.has(callId)) return undefined;
    const opened: { call?: Call } = {};
    const onDigit = (digit: string, duration: number) => report({ type: 'digit', callId, digit, duration });
    const callAudio = await audio
      .open(callId, { onDigit, onSilent: () => opened.call?.end({ reason: 'silent' }) })
      .catch((error: unknown) => {
        this.#options.onFault?.(error);
        return undefined;
      });
    if (!callAudio) return undefined;
    if (this.#closed) {
      await callAudio.close();
      return undefined;
    }
    const call = new Call({
      audio: callAudio,
      description: new CallDescription(callAudio, settings.announcedIp),
      describedBy: (session, description) => this.#descriptions.set(session, description),
      listener: {
        onRinging: () => report({ type: 'ringing', callId }),
        onAnswered: (dialog) => {
          // Only incoming calls that are answered are reported.
          if (incomingFrom !== undefined) report({ type: 'incoming', callId, phoneNumber: incomingFrom });
          report({ type: 'answered', callId, ssrc: callAudio.ssrc, ...(dialog && { dialog }) });
        },
        onEnded: (end: CallEnd) => {
          this.#calls.delete(callId);
          const leaving = call.finished.finally(() => this.#leaving.delete(leaving));
          this.#leaving.add(leaving);
          report({ type: 'ended', callId, end });
        },
        onDigit,
      },
    });
    opened.call = call;
    this.#calls.set(callId, call);
    return call;
  }

  #descriptionOf(session: Session): CallDescription {
    const description = this.#descriptions.get(session);
    if (!description) throw new Error('The session has no call');
    return description;
  }

  #require(callId: string): Call {
    const call = this.#calls.get(callId);
    if (!call) throw new SipCommandError('not_found', `Call ${callId} does not exist`);
    return call;
  }
}

/** Asserted identity of the network (RFC 3325), or else the From header. */
function callerOf(invitation: Invitation): string {
  const user = (invitation.assertedIdentity ?? invitation.remoteIdentity).uri.user ?? '';
  const text = user.replaceAll(/[^ -~]/g, '').slice(0, 128);
  return text === '' ? 'anonymous' : text;
}
