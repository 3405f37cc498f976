// Bytes over the connections of a server, counted at the sockets themselves: headers, bodies, websockets and TLS.
import type { Server, Socket } from 'node:net';

/** Bytes since the start, without the headers of TCP and IP; never less than before. */
export type SocketBytes = { received: number; sent: number };

export class SocketByteCounter {
  readonly #living = new Set<Socket>();
  /** Of connections that are over. */
  readonly #over: SocketBytes = { received: 0, sent: 0 };
  #last: SocketBytes = { received: 0, sent: 0 };

  /** Counts what comes and goes over connections that the server takes from now on. */
  watch(server: Server): void {
    // Under TLS too these are the sockets below it: what counts is what goes over the wire.
    server.on('connection', (socket: Socket) => {
      this.#living.add(socket);
      socket.once('close', () => {
        this.#living.delete(socket);
        this.#over.received += socket.bytesRead;
        this.#over.sent += socket.bytesWritten;
      });
    });
  }

  /** True at this moment. */
  read(): SocketBytes {
    let { received, sent } = this.#over;
    for (const socket of this.#living) {
      received += socket.bytesRead;
      sent += socket.bytesWritten;
    }
    // A socket counts what waits to be written, and takes it back when it is cut before that.
    this.#last = { received: Math.max(received, this.#last.received), sent: Math.max(sent, this.#last.sent) };
    return this.#last;
  }
}
