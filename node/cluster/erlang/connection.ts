// Distribution connection: sends and receives messages and ticks, and closes if the remote node is silent or does not read.
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
  /** Maximum size of a received message in bytes. */
  messageBytes: number;
  /** Maximum size of the send buffer in bytes. Beyond it the remote node counts as lost. */
  bufferedBytes: number;
};
export const connectionLimits: ConnectionLimits = { messageBytes: 16_777_216, bufferedBytes: 67_108_864 };

export type DownReason =
  | 'connection_closed'
  /** No data arrived within the tick time. */
  | 'net_tick_timeout'
  /** It did not answer a probe after a long silence. */
  | 'unanswered'
  /** It does not read what we send. */
  | 'too_slow'
  /** It violated the protocol. */
  | 'protocol_error'
  /** The same node connected again. */
  | 'replaced'
  /** This node disconnected. */
  | 'disconnected';

export type ConnectionListener = {
  message: (connection: Connection, message: ControlMessage) => void;
  /** Called once, regardless of which side closed the connection. */
  down: (connection: Connection, reason: DownReason) => void;
};

/** Milliseconds. `tick` is net_ticktime of Erlang: a node is lost after one to one and a quarter of it without data. */
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
/** A batch of this size is sent immediately. */
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

  /** Milliseconds since the last received data. */
  get silence(): number {
    return performance.now() - this.#heardAt;
  }

  /** True if other nodes may be notified of this node. Hidden nodes, such as remote shells, are not visible. */
  get visible(): boolean {
    return (this.flags & knownFlags.published) !== 0n;
  }

  has(flag: bigint): boolean {
    return (this.flags & flag) !== 0n;
  }

  /** Handles data that arrived together with the handshake. Called once, after listeners were notified of the connection. */
  start(): void {
    if (this.#socket.destroyed) this.#end('connection_closed');
    else this.#drain();
  }

  /** Sends a control message. No effect if the connection is down. @throws TypeError RangeError for values that are no term */
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

  /**
   * Closes the connection immediately. If this node disconnects, buffered data is sent first as far as the network accepts it. Idempotent.
   */
  close(reason: DownReason = 'disconnected'): void {
    if (reason === 'disconnected') this.#flush();
    this.#end(reason);
  }

  /** All messages of one turn of the event loop are sent in one write. */
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
    this.#log.error({ node: this.peer, bytes: waiting }, 'send buffer full, disconnecting node');
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
      this.#log.error({ node: this.peer, err: error }, 'protocol violation, disconnecting node');
      this.#end('protocol_error');
    }
  }

  #tick(): void {
    this.#silentQuarters += 1;
    if (this.#silentQuarters > quarters) {
      this.#end('net_tick_timeout');
      return;
    }
    // Buffered data serves as a tick. Another tick would only grow the buffer.
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
