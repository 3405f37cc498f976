// Buffers of the workers' UDP sockets: what is wanted, and what the kernel gives.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Log } from '../../common/log.ts';

/** Bytes each way: a worker that stands still for a while, e.g. since its core is taken, loses nothing of thousands of packets. */
export const wantedBuffer = 4 * 1024 * 1024;

/** What a UDP socket gets when it asks for so many bytes. */
export async function buffersGiven(wanted: number = wantedBuffer): Promise<{ receive: number; send: number }> {
  const socket = createSocket('udp4');
  try {
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    socket.setRecvBufferSize(wanted);
    socket.setSendBufferSize(wanted);
    // Linux doubles what it gives, for its own accounts (socket(7)).
    const share = process.platform === 'linux' ? 2 : 1;
    return { receive: socket.getRecvBufferSize() / share, send: socket.getSendBufferSize() / share };
  } finally {
    socket.close();
  }
}

/** Tells once where it is less than wanted, and what to do about it. Never rejects. */
export async function tellSmallBuffers(log: Log, given: () => Promise<{ receive: number; send: number }> = buffersGiven): Promise<void> {
  try {
    const { receive, send } = await given();
    if (receive >= wantedBuffer && send >= wantedBuffer) return;
    const sysctl = `net.core.rmem_max=${wantedBuffer} net.core.wmem_max=${wantedBuffer}`;
    log.warn({ receive, send, sysctl }, 'buffers of UDP sockets are small');
  } catch (error) {
    log.warn({ err: error }, 'buffers of UDP sockets cannot be looked at');
  }
}
