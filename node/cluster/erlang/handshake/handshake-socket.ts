// Handshake socket: reads and writes handshake packets with a timeout.
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { PacketReader } from '../packet-reader.ts';
import { WireError } from '../wire-error.ts';
import { maxHandshakePacket } from './handshake-packets.ts';

/** Timeout of a whole handshake in milliseconds. */
export const handshakeTimeoutMs = 7000;
/** After its handshake a node may send messages at once, so this much can arrive in one read. Before that nothing is sent ahead. */
const maxHeldBytes = 131_072;

const exporterLabel = 'EXPORTER-mediarooms-distribution';

type Waiter = { resolve: (packet: Buffer) => void; reject: (error: Error) => void };

export class HandshakeSocket {
  readonly #socket: Socket;
  readonly #reader = new PacketReader(2, maxHandshakePacket);
  readonly #timer: NodeJS.Timeout;
  #waiter: Waiter | undefined;
  #failure: Error | undefined;

  constructor(socket: Socket, deadline = handshakeTimeoutMs) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('data', this.#take);
    socket.on('error', this.#fail);
    socket.on('close', this.#close);
    this.#timer = setTimeout(() => this.abort(new WireError('the handshake stalled')), deadline);
  }

  /** TLS keying material that only the two ends have (RFC 8446, section 7.5); empty without TLS. */
  get binding(): Buffer {
    return this.#socket instanceof TLSSocket ? this.#socket.exportKeyingMaterial(32, exporterLabel, Buffer.alloc(0)) : Buffer.alloc(0);
  }

  /** The next packet. @throws WireError Error if the connection ended */
  read(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      this.#waiter = { resolve, reject };
      this.#deliver();
    });
  }

  /** @throws WireError Error */
  throwIfClosed(): void {
    if (this.#failure) throw this.#failure;
  }

  write(packet: Buffer): void {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(packet.length);
    this.#socket.write(Buffer.concat([length, packet]));
  }

  /** Releases the socket to a new owner, together with unread data. */
  release(): { socket: Socket; rest: Buffer } {
    this.#stop();
    return { socket: this.#socket, rest: this.#reader.rest() };
  }

  /** Closes the connection after buffered data was sent. */
  end(error: Error): void {
    this.#fail(error);
    this.#socket.end(() => this.#socket.destroy());
  }

  /** Closes the connection immediately. Idempotent. */
  abort(error: Error): void {
    this.#fail(error);
    this.#socket.destroy();
  }

  readonly #take = (chunk: Buffer): void => {
    this.#reader.push(chunk);
    if (this.#reader.held > maxHeldBytes) this.abort(new WireError('too much data before the end of the handshake'));
    else this.#deliver();
  };

  readonly #close = (): void => this.#fail(new Error('the remote node closed the connection'));

  readonly #fail = (error: Error): void => {
    if (this.#failure) return;
    this.#failure = error;
    clearTimeout(this.#timer);
    this.#waiter?.reject(error);
    this.#waiter = undefined;
  };

  #deliver(): void {
    if (!this.#waiter || this.#failure) return;
    try {
      const packet = this.#reader.next();
      if (!packet) return;
      const { resolve } = this.#waiter;
      this.#waiter = undefined;
      resolve(packet);
    } catch (error) {
      this.abort(error instanceof Error ? error : new Error(String(error)));
    }
  }

  #stop(): void {
    clearTimeout(this.#timer);
    this.#socket.off('data', this.#take).off('close', this.#close);
    // The `error` listener stays, because the process would exit without one.
  }
}
