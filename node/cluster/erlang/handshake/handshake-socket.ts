// A socket while two nodes shake hands: packets one after the other, and an end to it in time.
import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';
import { PacketReader } from '../packet-reader.ts';
import { WireError } from '../wire-error.ts';
import { maxHandshakePacket } from './handshake-packets.ts';

/** Milliseconds for a whole handshake. */
export const handshakeTimeoutMs = 7000;
/** Whoever has ended a handshake may go on with messages at once: so much of them comes in one read, and nobody else sends ahead. */
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

  /** What only the two ends of this connection know, where it is TLS (RFC 8446, section 7.5); else empty. */
  get binding(): Buffer {
    return this.#socket instanceof TLSSocket ? this.#socket.exportKeyingMaterial(32, exporterLabel, Buffer.alloc(0)) : Buffer.alloc(0);
  }

  /** The next packet. @throws WireError Error where there is none any more */
  read(): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      if (this.#failure) reject(this.#failure);
      this.#waiter = { resolve, reject };
      this.#deliver();
    });
  }

  write(packet: Buffer): void {
    const length = Buffer.alloc(2);
    length.writeUInt16BE(packet.length);
    this.#socket.write(Buffer.concat([length, packet]));
  }

  /** Gives the socket up to whoever goes on with it, with what has come and was not read. */
  release(): { socket: Socket; rest: Buffer } {
    this.#stop();
    return { socket: this.#socket, rest: this.#reader.rest() };
  }

  /** Ends the connection once what was written is gone. */
  end(error: Error): void {
    this.#fail(error);
    this.#socket.end(() => this.#socket.destroy());
  }

  /** Ends the connection at once. Idempotent. */
  abort(error: Error): void {
    this.#fail(error);
    this.#socket.destroy();
  }

  readonly #take = (chunk: Buffer): void => {
    this.#reader.push(chunk);
    if (this.#reader.held > maxHeldBytes) this.abort(new WireError('too much came before the end of the handshake'));
    else this.#deliver();
  };

  readonly #close = (): void => this.#fail(new Error('the other side closed the connection'));

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
    // `error` keeps its listener: without any the process would end.
  }
}
