// Outgoing or incoming call from its first message to its last: reports its end exactly once and closes its audio.
import {
  type Core,
  type Info,
  type Invitation,
  Inviter,
  type Referral,
  type Session,
  SessionState,
  type URI,
  type UserAgent,
} from 'sip.js';
import { Timer } from '../../../common/timer.ts';
import type { CallSession } from '../audio/session.ts';
import { SdpNegotiationError } from '../sdp/offer-answer.ts';
import type { CallEnd } from './agent-messages.ts';
import type { CallDescription } from './call-description.ts';
import { callEndForStatus } from './call-end.ts';
import type { Dialog } from './dialog.ts';
import { dialogOf } from './dialogs.ts';
import { parseDtmfInfo } from './dtmf-info.ts';
import { minSe, parseSessionTimerResponse, requestSessionTimer, respondSessionTimer, SessionTimer } from './session-timer.ts';

export type CallListener = {
  onRinging: () => void;
  /** `dialog`: data with which another process can hang up the call. */
  onAnswered: (dialog: Dialog | undefined) => void;
  /** Called once, as the last callback. */
  onEnded: (end: CallEnd) => void;
  onDigit: (digit: string, duration: number) => void;
};

export type CallOptions = {
  audio: CallSession;
  description: CallDescription;
  /** Registers the description handler of a session. */
  describedBy: (session: Session, description: CallDescription) => void;
  listener: CallListener;
};

type Response = Core.IncomingResponseMessage;
type InviteRequest = Parameters<NonNullable<NonNullable<NonNullable<Session['dialog']>['delegate']>['onInvite']>>[0];

/** Extensions that an INVITE may require. */
const supported: readonly string[] = ['timer', '100rel', 'outbound', 'path', 'gruu'];

export class Call {
  readonly #options: CallOptions;
  readonly #finished = Promise.withResolvers<void>();
  readonly #expiry = new SessionTimer({ onRefresh: () => this.#refresh(), onExpired: () => this.end({ reason: 'expired' }) });
  #session: Session | undefined;
  #ring: Timer | undefined;
  #rang = false;
  #answered = false;
  #ended = false;
  /** Set before SIP.js closes a rejected session, so that its end has a reason. */
  #refusal: CallEnd | undefined;

  constructor(options: CallOptions) {
    this.#options = options;
  }

  get active(): boolean {
    return this.#answered && !this.#ended;
  }

  /** Resolves when the remote party has confirmed the end, or cannot be reached. */
  get finished(): Promise<void> {
    return this.#finished.promise;
  }

  /** Calls the target; `ringTimeout` in milliseconds. */
  dial(agent: UserAgent, target: URI, ringTimeout: number): void {
    this.#ring = new Timer(ringTimeout, () => this.end({ reason: 'no_answer' }));
    this.#invite(agent, target, minSe);
  }

  /** Answers, or rejects with a status. */
  async accept(invitation: Invitation): Promise<void> {
    this.#follow(invitation);
    const { request } = invitation;
    const refusal = refusalOf(invitation, this.#options.description);
    if (refusal) {
      const { status, headers } = refusal;
      this.#refusal = { reason: status === 488 ? 'no_common_codec' : 'failed', status };
      await invitation.reject({ statusCode: status, extraHeaders: headers });
      return;
    }
    const timing = respondSessionTimer({ sessionExpires: request.getHeader('session-expires'), supported: request.getHeader('supported') });
    const agreed = timing === undefined || timing === 'tooShort' ? undefined : timing;
    await invitation.accept({ extraHeaders: [`Contact: ${invitation.userAgent.contact}`, ...(agreed?.headers ?? [])] });
    this.#expiry.set(agreed?.expiry);
  }

  /** @throws Error if the remote party accepts no digits */
  async sendDigits(digits: string): Promise<void> {
    await this.#options.audio.sendDigits(digits);
  }

  /** Hangs up, whatever its state. Idempotent. */
  end(end: CallEnd): void {
    if (this.#ended) return;
    this.#tellEnd(end);
    this.#hangUp().catch(() => this.#finished.resolve());
  }

  #invite(agent: UserAgent, target: URI, least: number): void {
    const inviter = new Inviter(agent, target, { extraHeaders: requestSessionTimer(undefined, least) });
    this.#follow(inviter);
    const requestDelegate = {
      onProgress: ({ message }: { message: Response }) => {
        if (this.#rang || this.#ended || (message.statusCode !== 180 && message.statusCode !== 183)) return;
        this.#rang = true;
        this.#options.listener.onRinging();
      },
      onAccept: ({ message }: { message: Response }) =>
        this.#expiry.set(this.#ended ? undefined : parseSessionTimerResponse(message.getHeader('session-expires'))),
      onRedirect: ({ message }: { message: Response }) => this.#refused(message),
      onReject: ({ message }: { message: Response }) => {
        const wanted = Number(message.getHeader('min-se'));
        // RFC 4028, section 7.4: retries with the requested interval.
        if (message.statusCode === 422 && wanted > least && wanted <= 86_400 && !this.#ended) this.#invite(agent, target, wanted);
        else this.#refused(message);
      },
    };
    inviter.invite({ requestDelegate }).catch(() => this.end({ reason: 'failed' }));
  }

  #follow(session: Session): void {
    const { describedBy, description } = this.#options;
    this.#session = session;
    describedBy(session, description);
    session.delegate = {
      onBye: (bye) => {
        bye.accept().catch(() => {});
        this.#tellEnd({ reason: 'far_side_hung_up' });
      },
      onCancel: () => this.#tellEnd({ reason: 'cancelled' }),
      onInfo: (info) => this.#hearInfo(info),
      // Call transfers are rejected: only REST decides whom this node calls.
      onRefer: (referral: Referral) => void referral.reject({ statusCode: 603 }).catch(() => {}),
    };
    session.stateChange.addListener((state) => {
      if (state === SessionState.Established) this.#established(session);
      // SIP.js reports the reason right after the end.
      if (state === SessionState.Terminated) setImmediate(() => this.#terminated(session));
    });
  }

  #established(session: Session): void {
    if (this.#ended) return;
    this.#ring?.stop();
    this.#answered = true;
    this.#watchReinvites(session);
    this.#options.listener.onAnswered(dialogOf(session));
  }

  #terminated(session: Session): void {
    if (session !== this.#session) return;
    this.#finished.resolve();
    this.#tellEnd(this.#refusal ?? { reason: 'failed' });
  }

  #refused({ statusCode = 500, reasonPhrase }: Response): void {
    this.#tellEnd(callEndForStatus(statusCode, reasonPhrase, this.#rang));
  }

  #tellEnd(end: CallEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#ring?.stop();
    this.#expiry.stop();
    this.#options.audio.close().catch(() => {});
    this.#options.listener.onEnded(end);
  }

  async #hangUp(): Promise<void> {
    const session = this.#session;
    if (!session || session.state === SessionState.Terminated) this.#finished.resolve();
    else if (session.state === SessionState.Established) {
      const completed = () => this.#finished.resolve();
      await session.bye({ requestDelegate: { onAccept: completed, onReject: completed, onRedirect: completed } });
    } else if (session instanceof Inviter) await session.cancel();
    else if ('reject' in session) await (session as Invitation).reject({ statusCode: 480 });
  }

  #refresh(): void {
    const session = this.#session;
    if (!this.active || session?.state !== SessionState.Established) return;
    session
      .invite({
        requestOptions: { extraHeaders: requestSessionTimer() },
        requestDelegate: {
          onAccept: ({ message }) =>
            this.#expiry.set(this.#ended ? undefined : parseSessionTimerResponse(message.getHeader('session-expires'))),
          // The remote dialog no longer exists (RFC 3261, section 12.2.1.2); after other errors the next try may succeed.
          onReject: ({ message }) => {
            if (message.statusCode === 481 || message.statusCode === 408)
              this.end(callEndForStatus(message.statusCode, message.reasonPhrase, true));
          },
        },
      })
      .catch(() => {});
  }

  /** SIP.js answers re-INVITEs without session timer headers: they are added here. */
  #watchReinvites({ dialog }: Session): void {
    const delegate = dialog?.delegate;
    if (!dialog || !delegate?.onInvite) return;
    dialog.delegate = {
      ...delegate,
      onInvite: (request: InviteRequest) => {
        const { message } = request;
        const timing = respondSessionTimer({
          sessionExpires: message.getHeader('session-expires'),
          supported: message.getHeader('supported'),
        });
        if (timing === 'tooShort') {
          request.reject({ statusCode: 422, extraHeaders: [`Min-SE: ${minSe}`] });
          return;
        }
        if (timing) {
          const accept = request.accept.bind(request);
          request.accept = (options) => {
            this.#expiry.set(this.#ended ? undefined : timing.expiry);
            return accept({ statusCode: 200, ...options, extraHeaders: [...(options?.extraHeaders ?? []), ...timing.headers] });
          };
        }
        delegate.onInvite?.(request);
      },
    };
  }

  #hearInfo(info: Info): void {
    const found = parseDtmfInfo(info.request.getHeader('content-type'), info.request.body);
    const answer = found || info.request.body === '' ? info.accept() : info.reject({ statusCode: 415 });
    answer.catch(() => {});
    if (found && !this.#ended) this.#options.listener.onDigit(found.digit, found.duration);
  }
}

/** Status for rejecting an INVITE before negotiation. */
function refusalOf({ request, body }: Invitation, description: CallDescription): { status: number; headers: string[] } | undefined {
  const required = (request.getHeader('require') ?? '').split(',').map((tag) => tag.trim().toLowerCase());
  const unsupported = required.filter((tag) => tag !== '' && !supported.includes(tag));
  if (unsupported.length > 0) return { status: 420, headers: [`Unsupported: ${unsupported.join(', ').slice(0, 256)}`] };
  const expiry = { sessionExpires: request.getHeader('session-expires'), supported: undefined };
  if (respondSessionTimer(expiry) === 'tooShort') return { status: 422, headers: [`Min-SE: ${minSe}`] };
  const type = request.getHeader('content-type');
  if (body === undefined || body === '') return undefined;
  if (type === undefined || !description.hasDescription(type)) return { status: 415, headers: ['Accept: application/sdp'] };
  try {
    description.check(body);
    return undefined;
  } catch (error) {
    if (!(error instanceof SdpNegotiationError)) throw error;
    return { status: 488, headers: [] };
  }
}
