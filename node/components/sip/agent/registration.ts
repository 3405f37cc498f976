// Registration at a registrar (RFC 3261, section 10): registers, refreshes, retries after failures and unregisters.
import { Core, type URI, type UserAgent } from 'sip.js';
import { settleWithin, Timer } from '../../../common/timer.ts';
import type { SipTransportAdapter } from '../wire/node-transport.ts';

export type RegistrationOptions = {
  agent: UserAgent;
  transport: SipTransportAdapter;
  registrar: URI;
  /** A UUID. */
  instanceId: string;
  onRegistered: () => void;
  /** Called for each failed attempt; `problem` is the message. */
  onLost: (problem: string) => void;
};

/** Requested expiry in seconds. Refreshed at half of it, so that a restarted registrar soon has the contact again. */
const expiry = 120;
const minRegistrationExpiry = 10;
const maxRegistrationExpiry = 86_400;
/** Milliseconds for a response; then the next address is tried. */
const responseTimeoutMs = 8000;
const unregisterTimeoutMs = 2000;
/** Milliseconds between attempts; grows with each attempt. */
const firstRetry = 1000;
const maxRetryMs = 30_000;
/** Long, because many registrars lock out clients after repeated rejections. */
const refusedRetry = 60_000;
const maxRejectedRetryMs = 600_000;

type Response = { message: Core.IncomingResponseMessage };

export class Registration {
  readonly #options: RegistrationOptions;
  #message: Core.OutgoingRequestMessage | undefined;
  #asked = expiry;
  #registered = false;
  #failures = 0;
  /** Number of the attempt, so that late responses are ignored. */
  #attempt = 0;
  #timer: Timer | undefined;
  #deadline: Timer | undefined;
  /** The pending request; resolves to true if it was granted. */
  #asking: Promise<boolean> | undefined;
  #stopped = false;

  constructor(options: RegistrationOptions) {
    this.#options = options;
  }

  get registered(): boolean {
    return this.#registered;
  }

  start(): void {
    void this.#register();
  }

  /** The connection was lost, so the registrar cannot reach this contact any more. */
  connectionLost(error: Error | undefined): void {
    if (this.#stopped) return;
    this.#attempt += 1;
    this.#fail(`The connection to the registrar was lost: ${reasonOf(error)}`);
  }

  /** Unregisters, if the registrar responds soon. Idempotent. */
  async stop(): Promise<void> {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#attempt += 1;
    this.#timer?.stop();
    this.#deadline?.stop();
    // Only one request may be pending (RFC 3261, section 10.2), and a binding granted afterwards would stay.
    const granted = this.#asking?.then((each) => {
      this.#registered ||= each;
    });
    if (granted) await settleWithin(unregisterTimeoutMs, [granted]);
    if (!this.#registered || !this.#options.transport.isConnected()) return;
    const done = Promise.withResolvers<void>();
    const completed = () => done.resolve();
    this.#send(0, { onAccept: completed, onReject: completed, onRedirect: completed });
    await settleWithin(unregisterTimeoutMs, [done.promise]);
  }

  async #register(): Promise<void> {
    const { agent, transport } = this.#options;
    this.#attempt += 1;
    const attempt = this.#attempt;
    try {
      await transport.connect();
    } catch (error) {
      if (attempt === this.#attempt) this.#fail(`Could not reach the registrar: ${reasonOf(error)}`);
      return;
    }
    if (attempt !== this.#attempt) return;
    agent.contact.uri.port = transport.localPort;
    agent.contact.uri.setParam('transport', transport.protocol.toLowerCase());
    const { promise: asking, resolve: answered } = Promise.withResolvers<boolean>();
    this.#asking = asking;
    const current = (granted: boolean, work: (response: Response) => void) => (response: Response) => {
      answered(granted);
      if (this.#asking === asking) this.#asking = undefined;
      if (attempt !== this.#attempt) return;
      this.#deadline?.stop();
      work(response);
    };
    this.#deadline = new Timer(responseTimeoutMs, () => {
      if (attempt !== this.#attempt) return;
      this.#attempt += 1;
      this.#unanswered();
    });
    this.#send(this.#asked, {
      onAccept: current(true, ({ message }) => this.#accepted(message)),
      onReject: current(false, ({ message }) => this.#rejected(message)),
      onRedirect: current(false, ({ message }) => this.#rejected(message)),
    });
  }

  #accepted(message: Core.IncomingResponseMessage): void {
    this.#failures = 0;
    this.#registered = true;
    this.#options.onRegistered();
    this.#schedule((grantedBy(message, this.#options.agent.contact.uri) ?? this.#asked) * 500);
  }

  #rejected(message: Core.IncomingResponseMessage): void {
    const { statusCode = 500, reasonPhrase } = message;
    const least = Number(message.getHeader('min-expires'));
    if (statusCode === 423 && least > this.#asked && least <= maxRegistrationExpiry) {
      this.#asked = least;
      void this.#register();
      return;
    }
    // SIP.js also reports timeouts and connection errors with these codes.
    if (statusCode === 408 || statusCode === 503) {
      this.#unanswered(Number(message.getHeader('retry-after')) * 1000);
      return;
    }
    const answer = `${statusCode} ${shortOf(reasonPhrase ?? '')}`.trim();
    const refused = [401, 403, 407].includes(statusCode);
    const problem = refused ? `The registrar rejected the credentials (${answer})` : `The registrar rejected the registration (${answer})`;
    this.#fail(problem, Math.min(refusedRetry * 2 ** this.#failures, maxRejectedRetryMs));
  }

  #unanswered(retryAfter = 0): void {
    // Tries the next address, if any.
    this.#options.transport.failOver();
    this.#fail('The registrar does not respond', Math.min(retryAfter || 0, refusedRetry));
  }

  #fail(problem: string, least = 0): void {
    this.#registered = false;
    this.#asking = undefined;
    this.#deadline?.stop();
    this.#options.onLost(problem);
    const delay = Math.max(least, Math.min(firstRetry * 2 ** this.#failures, maxRetryMs));
    this.#failures = Math.min(this.#failures + 1, 16);
    // Jitter, so that clients do not reconnect all at once after a restart.
    this.#schedule(delay * (0.75 + Math.random() / 2));
  }

  #schedule(delay: number): void {
    this.#timer?.stop();
    if (!this.#stopped) this.#timer = new Timer(delay, () => void this.#register());
  }

  #send(expires: number, delegate: Core.OutgoingRequestDelegate): void {
    const { agent, registrar, instanceId } = this.#options;
    const core = agent.userAgentCore;
    const { aor } = core.configuration;
    // One Call-ID for all requests, so that the registrar can order them (section 10.2).
    const made = core.makeOutgoingRequestMessage(
      'REGISTER',
      registrar,
      aor,
      aor,
      this.#message ? { callId: this.#message.callId, cseq: this.#message.cseq + 1 } : {},
      [`Contact: <${agent.contact.uri}>;+sip.instance="<urn:uuid:${instanceId}>";reg-id=1;expires=${expires}`, `Expires: ${expires}`],
    );
    this.#message = made;
    core.register(made, delegate);
  }
}

/** Expiry of this contact in seconds, as granted by the registrar. */
function grantedBy(message: Core.IncomingResponseMessage, own: URI): number | undefined {
  const contacts = message.getHeaders('contact').map((_, index): unknown => message.parseHeader('contact', index));
  const ours = contacts.find(
    (contact): contact is Core.NameAddrHeader =>
      contact instanceof Core.NameAddrHeader && contact.uri.host === own.host && contact.uri.port === own.port,
  );
  const seconds = Number(ours?.getParam('expires') ?? message.getHeader('expires'));
  return Number.isInteger(seconds) && seconds > 0 ? Math.min(Math.max(seconds, minRegistrationExpiry), maxRegistrationExpiry) : undefined;
}

/** Messages of OpenSSL begin with addresses and file names: the codes are clearer. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'connection closed';
  const { code } = error as NodeJS.ErrnoException;
  return shortOf(code !== undefined && /:error:|^write /.test(error.message) ? code : error.message);
}

function shortOf(text: string): string {
  return text.replaceAll(/[^ -~]/g, '').slice(0, 200);
}
