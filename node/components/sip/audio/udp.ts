// UDP sockets of sound: bound, within a range where there is one, and with a bound on what waits to be sent.
import { createSocket, type Socket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';

export type PortRange = { min: number; max: number };

/** Bytes that wait for the kernel; sound that cannot be sent in time is worth nothing. */
const maxWaiting = 128 * 1024;
/** Bytes that the kernel is asked to hold of what came; it gives what it allows. */
const receiveBuffer = 1024 * 1024;

/** Takes free ports of a range one after the other, so that one is not used again while packets of the last call are on their way. */
export class PortPool {
  readonly #range: PortRange | undefined;
  #next: number;

  /** Without a range the system chooses. */
  constructor(range: PortRange | undefined) {
    this.#range = range;
    // Several processes share the range.
    this.#next = range ? range.min + Math.floor(Math.random() * (range.max - range.min + 1)) : 0;
  }

  /** @throws Error where none is free */
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
  // UDP may lose packets; that nothing comes is noticed by itself.
  socket.on('error', () => {});
  return socket;
}

export function sendUdp(socket: Socket, packet: Buffer, to: { ip: string; port: number } | undefined): void {
  if (!to || isIPv6(to.ip) !== isIPv6(socket.address().address) || socket.getSendQueueSize() > maxWaiting) return;
  socket.send(packet, to.port, to.ip, () => {});
}
