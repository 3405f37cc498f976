// UDP sockets of call audio: binds them in a port range, and bounds their send queue.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

export type PortRange = { min: number; max: number };

/** Maximum bytes waiting for the kernel; late audio is worthless. */
const maxWaiting = 128 * 1024;
/** Bytes of the receive buffer that is requested from the kernel, which may grant less. */
const receiveBuffer = 1024 * 1024;

/** Assigns free ports round robin, so that late packets of the last call do not reach a new one. */
export class PortPool {
  readonly #range: PortRange | undefined;
  #next: number;

  /** Without a range, the system chooses. */
  constructor(range: PortRange | undefined) {
    this.#range = range;
    // Random start, because several processes share the range.
    this.#next = range ? range.min + Math.floor(Math.random() * (range.max - range.min + 1)) : 0;
  }

  /** @throws Error if none is free */
  async bind(ip: string): Promise<Socket> {
    const range = this.#range;
    if (!range) return bindUdp(ip, 0);
    for (let tries = range.max - range.min + 1; tries > 0; tries -= 1) {
      const port = this.#next;
      this.#next = port >= range.max ? range.min : port + 1;
      try {
        return await bindUdp(ip, port);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error;
      }
    }
    throw new Error(`No RTP port from ${range.min} to ${range.max} is free`);
  }
}

export async function bindUdp(ip: string, port: number): Promise<Socket> {
  const socket = createSocket({ type: isIPv6(ip) ? 'udp6' : 'udp4', recvBufferSize: receiveBuffer });
  try {
    socket.bind({ address: ip, port, exclusive: true });
    await once(socket, 'listening');
  } catch (error) {
    socket.close();
    throw error;
  }
  // Errors are ignored: UDP may lose packets, and silence is detected separately.
  socket.on('error', () => {});
  return socket;
}

export function sendUdp(socket: Socket, packet: Buffer, to: { ip: string; port: number } | undefined): void {
  if (!to || isIPv6(to.ip) !== isIPv6(socket.address().address) || socket.getSendQueueSize() > maxWaiting) return;
  socket.send(packet, to.port, to.ip, () => {});
}
