// Socket traffic: counts bytes at the TCP sockets of a server, including headers, bodies, websockets and TLS.
import type { Server, Socket } from 'node:net';

/** Bytes since the start, without TCP and IP headers. Never decreases. */
export type SocketBytes = { received: number; sent: number };

export class SocketByteCounter {
  readonly #living = new Set<Socket>();
  /** Bytes of closed connections. */
  readonly #over: SocketBytes = { received: 0, sent: 0 };
  #last: SocketBytes = { received: 0, sent: 0 };

  /** Counts the connections that the server accepts from now on. */
  watch(server: Server): void {
    // With TLS these are the TCP sockets, so encrypted bytes are counted.
    server.on('connection', (socket: Socket) => {
      this.#living.add(socket);
      socket.once('close', () => {
        this.#living.delete(socket);
        this.#over.received += socket.bytesRead;
        this.#over.sent += socket.bytesWritten;
      });
    });
  }

  /** Current values. */
  read(): SocketBytes {
    let { received, sent } = this.#over;
    for (const socket of this.#living) {
      received += socket.bytesRead;
      sent += socket.bytesWritten;
    }
    // A socket counts buffered data as written, and subtracts it if it is destroyed before.
    this.#last = { received: Math.max(received, this.#last.received), sent: Math.max(sent, this.#last.sent) };
    return this.#last;
  }
}
