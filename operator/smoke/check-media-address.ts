// Checks a media address with one STUN transaction over UDP (RFC 8489, 6.2.1) or over TCP (RFC 4571 framing, as in RFC 6544).
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { connect, isIP } from 'node:net';
import { messageOf } from '../error-message.ts';
import { bindingRequestTo, type IceParameters, isSuccess, transact } from './stun.ts';

export type Candidate = { ip: string; port: number; protocol: 'udp' | 'tcp' };

const maxFrame = 65_535;

/** Resolves after a response. @throws Error with a message if none arrives within the timeout */
export async function checkMediaAddress(candidate: Candidate, ice: IceParameters, timeoutMs: number): Promise<void> {
  const { ip, port, protocol } = candidate;
  const signal = AbortSignal.timeout(timeoutMs);
  const why = await (protocol === 'udp' ? overUdp : overTcp)(candidate, ice, signal).then(
    () => undefined,
    (error: unknown) => (signal.aborted ? `no response within ${timeoutMs / 1000} s` : messageOf(error)),
  );
  if (why !== undefined) throw new Error(`The media address ${ip} port ${port} does not respond over ${protocol.toUpperCase()}: ${why}.`);
}

async function overUdp({ ip, port }: Candidate, ice: IceParameters, signal: AbortSignal): Promise<void> {
  const transaction = randomBytes(12);
  const socket = createSocket(isIP(ip) === 6 ? 'udp6' : 'udp4');
  try {
    await transact(socket, bindingRequestTo(ice, transaction), { ip, port }, (message) => isSuccess(message, transaction), signal);
  } finally {
    socket.close();
  }
}

async function overTcp({ ip, port }: Candidate, ice: IceParameters, signal: AbortSignal): Promise<void> {
  const transaction = randomBytes(12);
  const socket = connect({ host: ip, port });
  try {
    await once(socket, 'connect', { signal });
    const request = bindingRequestTo(ice, transaction);
    const length = Buffer.alloc(2);
    length.writeUInt16BE(request.length);
    socket.write(Buffer.concat([length, request]));
    let read = Buffer.alloc(0);
    for (;;) {
      const [chunk] = (await once(socket, 'data', { signal })) as [Buffer];
      read = Buffer.concat([read, chunk]);
      while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
        const end = 2 + read.readUInt16BE(0);
        if (isSuccess(read.subarray(2, end), transaction)) return;
        read = read.subarray(end);
      }
      if (read.length > maxFrame + 2) throw new Error('it sends no STUN response');
    }
  } finally {
    socket.destroy();
  }
}
