// SIP transport for SIP.js: connects to the addresses of the registrar only, and handles retransmission, Via and limits.
import { isIP } from 'node:net';
import { EmitterImpl, type Transport, TransportState } from 'sip.js';
import { isPrivateAddress } from '../../../common/private-addresses.ts';
import { RateLimit } from '../../../common/rate-limit.ts';
import { ChallengedRequests } from './challenged-requests.ts';
import { type SipConnection, type SipEndpoint, StreamConnection, UdpConnection } from './connections.ts';
import { chooseChallenge } from './digest-auth.ts';
import { headerOf, readMessage, type SipMessage, writeMessage } from './message.ts';
import { hostInUri, type Registrar } from './registrar.ts';
import { type MessageKey, Retransmissions, retransmissionKey, stopsRetransmissionOf } from './retransmissions.ts';
import { locateServers, type SipTarget } from './server-location.ts';
import { addReceivedAndRport, parseVia, responseAddress, withViaPort } from './via.ts';

export type NodeTransportOptions = {
  registrar: Registrar;
  /** Address in Via and Contact. */
  announcedIp: string;
  /** UDP ports; the first free one is used. */
  ports: { min: number; max: number };
  /** PEM of additional certificate authorities. */
  ca: string | undefined;
  /** True if the registrar may have a private address. */
  allowPrivate: boolean;
  /** A received message could not be processed. */
  onFault: (error: unknown) => void;
  find?: (registrar: Registrar) => Promise<SipTarget[]>;
  /** Requests per second that are accepted from all addresses of the registrar. */
  requestRate?: number;
};

const defaultRequestRate = 50;
/** Burst of requests, in seconds of the rate. */
const requestBurst = 4;
/** Milliseconds for which resolved addresses are cached. */
const targetsLifetime = 60_000;

export class SipTransportAdapter implements Transport {
  readonly stateChange = new EmitterImpl<TransportState>();
  onConnect: (() => void) | undefined;
  onDisconnect: ((error?: Error) => void) | undefined;
  onMessage: ((message: string) => void) | undefined;
  state = TransportState.Disconnected;
  readonly #options: NodeTransportOptions;
  readonly #retransmissions = new Retransmissions();
  readonly #challengedRequests = new ChallengedRequests();
  readonly #requests: RateLimit;
  #targets: SipTarget[] = [];
  #foundAt = Number.NEGATIVE_INFINITY;
  #next = 0;
  #target: SipTarget | undefined;
  #sipConnection: SipConnection | undefined;
  #connecting: Promise<void> | undefined;
  #disposed = false;

  constructor(_logger: unknown, options: NodeTransportOptions) {
    this.#options = options;
    const rate = options.requestRate ?? defaultRequestRate;
    this.#requests = new RateLimit(() => rate, { burst: requestBurst });
  }

  /** Protocol name as in Via. */
  get protocol(): string {
    return this.#target?.transport ?? this.#options.registrar.transport ?? 'UDP';
  }

  get localPort(): number {
    return this.#sipConnection?.localPort ?? 0;
  }

  /** The connected address. */
  get target(): SipTarget | undefined {
    return this.#target;
  }

  isConnected(): boolean {
    return this.state === TransportState.Connected;
  }

  /** Tries each address once, in order. @throws Error if none can be reached */
  connect(): Promise<void> {
    this.#connecting ??= this.#connect().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  /** The current address does not respond: the next connect() uses the next one. */
  failOver(): void {
    if (!this.isConnected()) return;
    this.#drop();
    this.#to(TransportState.Disconnected);
  }

  async disconnect(): Promise<void> {
    this.#drop();
    this.#to(TransportState.Disconnected);
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.disconnect();
  }

  /**
   * Sends requests to the registrar as outbound proxy, regardless of their route (RFC 3261, section 8.1.2), and responses to the source of
   * the request.
   */
  async send(text: string): Promise<void> {
    if (!this.isConnected() || !this.#target) throw new Error('The registrar is not connected');
    const message = readMessage(Buffer.from(text));
    const via = message?.headers.find(({ name }) => name === 'via');
    if (!message || !via) throw new Error('The message to send is invalid');
    const response = message.status !== undefined;
    const to = response ? responseAddress(via.value) : this.#target;
    if (!to) throw new Error('The response has no destination');
    if (!response) via.value = withViaPort(via.value, this.#target.transport, this.localPort);
    const whole = writeMessage(message);
    this.#sendTo(whole, to);
    if (this.#target.transport !== 'UDP') return;
    const messageKey = kindOf(message, via.value);
    if (!response) this.#challengedRequests.onRequest(messageKey, () => this.#sendTo(whole, to));
    const repeated = retransmissionKey(messageKey);
    if (repeated) this.#retransmissions.start(repeated.key, () => this.#sendTo(whole, to), repeated.capped);
  }

  async #connect(): Promise<void> {
    if (this.isConnected()) return;
    this.#to(TransportState.Connecting);
    let problem: unknown;
    try {
      await this.#find();
      for (let tries = 0; tries < this.#targets.length; tries += 1) {
        const target = this.#targets[this.#next % this.#targets.length];
        this.#next += 1;
        if (!target) break;
        try {
          this.#sipConnection = await this.#open(target);
          this.#target = target;
          break;
        } catch (error) {
          problem = error;
        }
      }
    } catch (error) {
      problem = error;
    }
    if (this.#disposed) this.#drop();
    if (!this.#sipConnection) {
      this.#to(TransportState.Disconnected);
      throw problem instanceof Error ? problem : new Error('Could not reach the registrar');
    }
    this.#to(TransportState.Connected);
  }

  async #find(): Promise<void> {
    const now = performance.now();
    const tried = this.#next >= this.#targets.length;
    if (this.#targets.length > 0 && !(tried && now - this.#foundAt > targetsLifetime)) return;
    const found = await (this.#options.find ?? locateServers)(this.#options.registrar).catch((error: unknown) => {
      // DNS failed: uses the previous addresses.
      if (this.#targets.length > 0) return this.#targets;
      throw error;
    });
    const { registrar, allowPrivate } = this.#options;
    const targets = found.filter(({ ip }) => allowPrivate || !isPrivateAddress(ip));
    if (targets.length === 0) throw new Error(`${registrar.host} is or resolves to a private address, which is forbidden`);
    this.#targets = targets;
    this.#foundAt = now;
    this.#next = 0;
  }

  #open(target: SipTarget): Promise<SipConnection> {
    const { registrar, ports, ca } = this.#options;
    const listener = {
      onMessage: (bytes: Buffer, from: SipEndpoint) => this.#handle(bytes, from),
      onLost: (error: Error) => this.#lost(error),
    };
    if (target.transport !== 'UDP') return StreamConnection.open(target, { host: registrar.host, ca }, listener);
    return UdpConnection.open(isIP(target.ip) === 6 ? 6 : 4, ports, listener, () => this.#target);
  }

  #lost(error: Error): void {
    this.#drop();
    this.#to(TransportState.Disconnected, error);
  }

  #drop(): void {
    this.#retransmissions.stopAll();
    this.#sipConnection?.close();
    this.#sipConnection = undefined;
  }

  /** Packets of other addresses are dropped without parsing. */
  #handle(bytes: Buffer, from: SipEndpoint): void {
    if (!this.#targets.some(({ ip }) => ip === from.ip)) return;
    const message = readMessage(bytes);
    const via = message?.headers.find(({ name }) => name === 'via');
    if (!message || !via) return;
    if (message.status === undefined) {
      if (this.#requests.take('') > 0) return;
      const marked = addReceivedAndRport(via.value, from.ip, from.port);
      if (marked === undefined) return;
      via.value = marked;
    } else if (!this.#isOurs(via)) return;
    const messageKey = kindOf(message, via.value);
    const ended = stopsRetransmissionOf(messageKey);
    if (ended) this.#retransmissions.stop(ended);
    if (this.#challengedRequests.isRepeated(messageKey)) return;
    if (message.status === 401 || message.status === 407) message.headers = chooseChallenge(message.headers);
    try {
      this.onMessage?.(writeMessage(message));
    } catch (error) {
      this.#options.onFault(error);
    }
  }

  /** Drops responses to other clients (RFC 3261, section 18.1.2). SIP.js requires Via without port and parameters. */
  #isOurs(header: { value: string }): boolean {
    const via = parseVia(header.value);
    const host = hostInUri(this.#options.announcedIp);
    const branch = via?.params.get('branch');
    if (!via || via.host !== host || branch === undefined) return false;
    header.value = `SIP/2.0/${via.transport} ${host};branch=${branch}`;
    return true;
  }

  #sendTo(message: string, to: SipEndpoint): void {
    this.#sipConnection?.send(message, to);
  }

  #to(state: TransportState, error?: Error): void {
    if (state === this.state) return;
    this.state = state;
    this.stateChange.emit(state);
    if (state === TransportState.Connected) this.onConnect?.();
    if (state === TransportState.Disconnected) this.onDisconnect?.(error);
  }
}

function kindOf(message: SipMessage, via: string): MessageKey {
  const method = message.method ?? headerOf(message, 'cseq')?.split(/[ \t]+/)[1] ?? '';
  return { method, status: message.status, branch: parseVia(via)?.params.get('branch') ?? '' };
}
