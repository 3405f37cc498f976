// Connections to a registrar: a UDP socket, or a TCP or TLS connection, with keep-alives (RFC 5626, section 3.5).
import { createSocket, type Socket } from 'node:dgram';
import { connect as connectTcp, isIP, type Socket as StreamSocket } from 'node:net';
import { connect as connectTls, rootCertificates } from 'node:tls';
import { Timer } from '../../../common/timer.ts';
import { maxMessageBytes, StreamFraming } from './framing.ts';
import type { SipTarget } from './server-location.ts';

export type SipEndpoint = { ip: string; port: number };
export type SipConnectionListener = {
  onMessage: (bytes: Buffer, from: SipEndpoint) => void;
  /** The connection is unusable; called once, not after close(). */
  onLost: (error: Error) => void;
};

export interface SipConnection {
  readonly localPort: number;
  /** @throws Error if the message cannot be sent */
  send(message: string, to: SipEndpoint): void;
  close(): void;
}

const connectTimeoutMs = 5000;
/** Milliseconds that NAT bindings and idle connections survive (RFC 5626, section 4.4). */
const udpKeepAlive = 25_000;
const streamKeepAlive = 95_000;
const pongTimeoutMs = 10_000;
/** Maximum bytes waiting for a remote peer that does not read. */
const maxWaiting = 1024 * 1024;

export class UdpConnection implements SipConnection {
  readonly #socket: Socket;
  readonly #keepAliveTo: () => SipEndpoint | undefined;
  #keepAlive: Timer | undefined;
  #closed = false;

  private constructor(socket: Socket, keepAliveTo: () => SipEndpoint | undefined) {
    this.#socket = socket;
    this.#keepAliveTo = keepAliveTo;
    this.#scheduleKeepAlive();
  }

  /** Binds the first free port of these. @throws Error if none is free */
  static async open(
    family: 4 | 6,
    { min, max }: { min: number; max: number },
    { onMessage, onLost }: SipConnectionListener,
    keepAliveTo: () => SipEndpoint | undefined,
  ): Promise<UdpConnection> {
    for (let port = min; port <= max; port += 1) {
      const socket = createSocket({ type: family === 6 ? 'udp6' : 'udp4', ipv6Only: family === 6 });
      if (!(await binds(socket, port))) continue;
      const link = new UdpConnection(socket, keepAliveTo);
      socket.on('message', (bytes, { address, port: from }) => onMessage(bytes, { ip: address, port: from }));
      socket.on('error', (error) => {
        if (!link.#closed) onLost(error);
      });
      return link;
    }
    throw new Error(`No UDP port from ${min} to ${max} is free for SIP`);
  }

  get localPort(): number {
    return this.#socket.address().port;
  }

  send(message: string, { ip, port }: SipEndpoint): void {
    const bytes = Buffer.from(message);
    if (bytes.length > maxMessageBytes) throw new RangeError('The message is too large for UDP');
    // Delivery is only confirmed by a response.
    this.#socket.send(bytes, port, ip, () => {});
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#keepAlive?.stop();
    this.#socket.close();
  }

  #scheduleKeepAlive(): void {
    this.#keepAlive = new Timer(udpKeepAlive, () => {
      const to = this.#keepAliveTo();
      if (to) this.send('\r\n\r\n', to);
      this.#scheduleKeepAlive();
    });
  }
}

export type StreamConnectionOptions = {
  /** Name that the certificate must match. */
  host: string;
  /** PEM of additional certificate authorities. */
  ca: string | undefined;
};

export class StreamConnection implements SipConnection {
  readonly #socket: StreamSocket;
  readonly #framing = new StreamFraming();
  readonly #from: SipEndpoint;
  readonly #listener: SipConnectionListener;
  #keepAlive: Timer | undefined;
  #pong: Timer | undefined;
  /** True if the remote peer answers pings: an unanswered ping then means a dead connection (RFC 5626, section 4.4.1). */
  #answersPings = false;
  #over = false;

  private constructor(socket: StreamSocket, from: SipEndpoint, listener: SipConnectionListener) {
    this.#socket = socket;
    this.#from = from;
    this.#listener = listener;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, 30_000);
    socket.on('data', (chunk: Buffer) => this.#handle(chunk));
    socket.on('error', (error) => this.#lose(error));
    socket.on('close', () => this.#lose(new Error('The connection was closed by the remote peer')));
    this.#scheduleKeepAlive();
  }

  /** @throws Error if the connection times out, or the certificate is invalid */
  static async open(target: SipTarget, { host, ca }: StreamConnectionOptions, listener: SipConnectionListener): Promise<StreamConnection> {
    const secure = target.transport === 'TLS';
    const place = { host: target.ip, port: target.port };
    const socket = secure
      ? connectTls({
          ...place,
          ...(isIP(host) === 0 && { servername: host }),
          ...(ca !== undefined && { ca: [...rootCertificates, ca] }),
          minVersion: 'TLSv1.2',
          rejectUnauthorized: true,
        })
      : connectTcp(place);
    const connected = Promise.withResolvers<void>();
    const timer = new Timer(connectTimeoutMs, () => connected.reject(new Error('Connecting timed out')));
    socket.once(secure ? 'secureConnect' : 'connect', () => connected.resolve());
    socket.once('error', (error) => connected.reject(error));
    socket.once('close', () => connected.reject(new Error('The connection was closed before it was established')));
    try {
      await connected.promise;
    } catch (error) {
      socket.on('error', () => {});
      socket.destroy();
      throw error;
    } finally {
      timer.stop();
    }
    return new StreamConnection(socket, { ip: target.ip, port: target.port }, listener);
  }

  get localPort(): number {
    return this.#socket.localPort ?? 0;
  }

  send(message: string): void {
    if (this.#over) throw new Error('The connection is closed');
    if (this.#socket.writableLength > maxWaiting) {
      this.#lose(new Error('Send buffer full: remote peer is not reading'));
      throw new Error('Send buffer full: remote peer is not reading');
    }
    this.#socket.write(message);
  }

  close(): void {
    if (this.#over) return;
    this.#end();
    // Flushes written data, then destroys the socket.
    this.#socket.end(() => this.#socket.destroySoon());
    new Timer(1000, () => this.#socket.destroy());
  }

  #handle(chunk: Buffer): void {
    if (this.#over) return;
    try {
      for (const streamFrame of this.#framing.push(chunk)) {
        if (streamFrame === 'ping') this.send('\r\n');
        else if (streamFrame === 'pong') {
          this.#pong?.stop();
          this.#answersPings = true;
        } else this.#listener.onMessage(streamFrame.message, this.#from);
      }
    } catch (error) {
      this.#lose(error instanceof Error ? error : new Error('Invalid stream'));
    }
  }

  #scheduleKeepAlive(): void {
    this.#keepAlive = new Timer(streamKeepAlive, () => {
      this.#socket.write('\r\n\r\n');
      if (this.#answersPings) this.#pong = new Timer(pongTimeoutMs, () => this.#lose(new Error('No response to keep-alive')));
      this.#scheduleKeepAlive();
    });
  }

  #lose(error: Error): void {
    if (this.#over) return;
    this.#end();
    this.#socket.destroy();
    this.#listener.onLost(error);
  }

  #end(): void {
    this.#over = true;
    this.#keepAlive?.stop();
    this.#pong?.stop();
    this.#socket.on('error', () => {});
  }
}

async function binds(socket: Socket, port: number): Promise<boolean> {
  const bound = Promise.withResolvers<boolean>();
  socket.once('error', () => bound.resolve(false));
  socket.bind(port, () => bound.resolve(true));
  const free = await bound.promise;
  socket.removeAllListeners('error');
  if (!free) {
    socket.on('error', () => {});
    socket.close();
  }
  return free;
}
