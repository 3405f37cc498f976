// An established connection to a node: messages both ways, ticks, and an end when the other side is silent or does not read.
import type { Socket } from 'node:net';
import type { Log } from '../../common/log.ts';
import { type ControlMessage, parseControl, writeControl } from './control.ts';
import { flags as knownFlags } from './handshake/flags.ts';
import type { HandshakeResult } from './handshake/handshake.ts';
import { PacketReader } from './packet-reader.ts';
import { TermWriter } from './terms/term-writer.ts';
import type { Term } from './terms/terms.ts';
import { WireError } from './wire-error.ts';

export type ConnectionLimits = {
  /** Bytes of one message that is taken. */
  messageBytes: number;
  /** Bytes that may wait to be sent before the other side counts as lost. */
  bufferedBytes: number;
};
export const connectionLimits: ConnectionLimits = { messageBytes: 16_777_216, bufferedBytes: 67_108_864 };

export type DownReason =
  | 'connection_closed'
  /** Nothing came for as long as a tick allows. */
  | 'net_tick_timeout'
  /** It was asked for a sign of life after a long silence, and gave none. */
  | 'unanswered'
  /** It does not read what we send. */
  | 'too_slow'
  /** It sent what the protocol does not allow. */
  | 'protocol_error'
  /** The same node connected anew. */
  | 'replaced'
  /** This side ended it. */
  | 'disconnected';

export type ConnectionListener = {
  message: (connection: Connection, message: ControlMessage) => void;
  /** Once, whoever ended it. */
  down: (connection: Connection, reason: DownReason) => void;
};

/** Milliseconds; `tick` is Erlang's net_ticktime: a node is lost after one to one and a quarter of it without a byte. */
export type ConnectionOptions = {
  handshake: HandshakeResult;
  tick: number;
  log: Log;
  listener: ConnectionListener;
  limits?: ConnectionLimits;
};

const quarters = 4;
const tickFrame = Buffer.alloc(4);
const lengthBytes = 4;
/** So much is not held back for what else may come. */
const flushBytes = 65_536;

export class Connection {
  readonly peer: string;
  readonly creation: number;
  readonly flags: bigint;
  readonly #socket: Socket;
  readonly #log: Log;
  readonly #listener: ConnectionListener;
  readonly #limits: ConnectionLimits;
  readonly #reader: PacketReader;
  readonly #writer = new TermWriter();
  readonly #ticker: NodeJS.Timeout;
  #silentQuarters = 0;
  #heardAt = performance.now();
  #wrote = false;
  #flushing = false;
  #open = true;

  constructor({ handshake, tick, log, listener, limits = connectionLimits }: ConnectionOptions) {
    this.peer = handshake.peer;
    this.creation = handshake.creation;
    this.flags = handshake.flags;
    this.#socket = handshake.socket;
    this.#log = log;
    this.#listener = listener;
    this.#limits = limits;
    this.#reader = new PacketReader(lengthBytes, limits.messageBytes);
    this.#ticker = setInterval(() => this.#tick(), tick / quarters);
    this.#socket.on('data', (chunk) => this.#take(chunk));
    this.#socket.on('close', () => this.#end('connection_closed'));
    this.#reader.push(handshake.rest);
  }

  get open(): boolean {
    return this.#open;
  }

  /** Milliseconds since a byte came. */
  get silence(): number {
    return performance.now() - this.#heardAt;
  }

  /** Whether it is a node that others shall know of: not one that was started hidden, as remote shells are. */
  get visible(): boolean {
    return (this.flags & knownFlags.published) !== 0n;
  }

  has(flag: bigint): boolean {
    return (this.flags & flag) !== 0n;
  }

  /** Takes what came along with the handshake: called once, when the connection is known to whoever listens. */
  start(): void {
    if (this.#socket.destroyed) this.#end('connection_closed');
    else this.#drain();
  }

  /** Sends a control message. Nothing happens once the connection is down. @throws TypeError RangeError for what no term can hold */
  send(control: Term, message?: Term): void {
    if (!this.#open) return;
    const writer = this.#writer;
    const start = writer.size;
    try {
      writer.u32(0);
      writeControl(writer, control, message);
      writer.patchU32(start, writer.size - start - lengthBytes);
    } catch (error) {
      writer.truncate(start);
      throw error;
    }
    this.#wrote = true;
    if (writer.size >= flushBytes) this.#flush();
    else this.#flushSoon();
  }

  /** Ends it at once. Where this side wants so, what it said before leaves first, as far as the network takes it. Idempotent. */
  close(reason: DownReason = 'disconnected'): void {
    if (reason === 'disconnected') this.#flush();
    this.#end(reason);
  }

  /** What is sent in one turn of the event loop leaves in one write. */
  #flushSoon(): void {
    if (this.#flushing) return;
    this.#flushing = true;
    setImmediate(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (!this.#open || this.#writer.size === 0) return;
    this.#socket.write(this.#writer.take());
    const waiting = this.#socket.writableLength;
    if (waiting <= this.#limits.bufferedBytes) return;
    this.#log.error({ node: this.peer, bytes: waiting }, 'a node does not read what it is sent: the connection is cut');
    this.#end('too_slow');
  }

  #take(chunk: Buffer): void {
    this.#silentQuarters = 0;
    this.#heardAt = performance.now();
    this.#reader.push(chunk);
    this.#drain();
  }

  #drain(): void {
    try {
      for (let frame = this.#reader.next(); frame !== undefined && this.#open; frame = this.#reader.next()) {
        if (frame.length > 0) this.#listener.message(this, parseControl(frame));
      }
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      this.#log.error({ node: this.peer, err: error }, 'a node sent what the protocol does not allow: the connection is cut');
      this.#end('protocol_error');
    }
  }

  #tick(): void {
    this.#silentQuarters += 1;
    if (this.#silentQuarters > quarters) {
      this.#end('net_tick_timeout');
      return;
    }
    // What still waits to be sent does a tick's work; another one behind it would only add to what waits.
    if (!this.#wrote && this.#socket.writableLength === 0) this.#socket.write(tickFrame);
    this.#wrote = false;
  }

  #end(reason: DownReason): void {
    if (!this.#open) return;
    this.#open = false;
    clearInterval(this.#ticker);
    this.#socket.destroy();
    this.#listener.down(this, reason);
  }
}
