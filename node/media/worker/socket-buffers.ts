// UDP socket buffers of media workers: requested size, and the size that the kernel grants.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import type { Log } from '../../common/log.ts';

/** Bytes per direction: a worker that is briefly not scheduled loses none of several thousand packets. */
export const wantedBuffer = 4 * 1024 * 1024;

/** Buffer sizes that the kernel grants to a UDP socket on request. */
export async function buffersGiven(wanted: number = wantedBuffer): Promise<{ receive: number; send: number }> {
  const socket = createSocket('udp4');
  try {
    socket.bind(0, '127.0.0.1');
    await once(socket, 'listening');
    socket.setRecvBufferSize(wanted);
    socket.setSendBufferSize(wanted);
    // Linux doubles the value for its bookkeeping (socket(7)).
    const share = process.platform === 'linux' ? 2 : 1;
    return { receive: socket.getRecvBufferSize() / share, send: socket.getSendBufferSize() / share };
  } finally {
    socket.close();
  }
}

/** Logs a warning with a remedy if the buffers are smaller than requested. Never rejects. */
export async function tellSmallBuffers(log: Log, given: () => Promise<{ receive: number; send: number }> = buffersGiven): Promise<void> {
  try {
    const { receive, send } = await given();
    if (receive >= wantedBuffer && send >= wantedBuffer) return;
    const sysctl = `net.core.rmem_max=${wantedBuffer} net.core.wmem_max=${wantedBuffer}`;
    log.warn({ receive, send, sysctl }, 'UDP socket buffers are small');
  } catch (error) {
    log.warn({ err: error }, 'could not check UDP socket buffers');
  }
}
