// Minimal ICE agent: STUN binding requests (RFC 8489, RFC 8445) to a WebRTC transport, followed by arbitrary bytes.
import { randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import { z } from 'zod';
import { attribute, bindingRequestTo, type IceParameters } from '../../../operator/smoke/stun.ts';

/** RFC 8445, section 7.1.2. */
const useCandidate = 0x0025;

/** Fields of the createTransport response that are needed to reach the transport. */
const transportSchema = z.object({
  iceParameters: z.object({ usernameFragment: z.string(), password: z.string() }),
  iceCandidates: z.array(z.object({ ip: z.string(), port: z.number(), protocol: z.enum(['udp', 'tcp']) })),
});

/**
 * Reaches the transport over UDP and sends it this number of bytes that are not STUN, such as RTP without DTLS, which it reads and drops.
 * Resolves with the received bytes when the transport has read them.
 */
export async function sendBytes(transport: unknown, bytes: number): Promise<number> {
  const { iceParameters, iceCandidates } = transportSchema.parse(transport);
  const candidate = iceCandidates.find(({ protocol }) => protocol === 'udp');
  if (!candidate) throw new Error('the transport has no UDP candidate');
  const socket = createSocket(isIPv6(candidate.ip) ? 'udp6' : 'udp4');
  try {
    const ask = async () => {
      const answered = once(socket, 'message', { signal: AbortSignal.timeout(30_000) }) as Promise<[Buffer]>;
      socket.send(bindingRequest(iceParameters), candidate.port, candidate.ip);
      const [answer] = await answered;
      return answer.length;
    };
    const first = await ask();
    socket.send(Buffer.alloc(bytes, 0x80), candidate.port, candidate.ip);
    // Datagrams to one socket are read in order.
    return first + (await ask());
  } finally {
    socket.close();
  }
}

/** A request that the transport accepts, with optional further attributes. */
export function bindingRequest(ice: IceParameters, more: readonly Buffer[] = []): Buffer {
  return bindingRequestTo(ice, randomBytes(12), [attribute(useCandidate, Buffer.alloc(0)), ...more]);
}
