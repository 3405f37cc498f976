// A WebRTC transport reached as an ICE agent does: STUN binding requests (RFC 8489, RFC 8445) and bytes after them.
import { createHmac, randomBytes } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { crc32 } from 'node:zlib';
import { z } from 'zod';

const magicCookie = 0x2112a442;
const bindingMethod = 0x0001;
const attributes = {
  username: 0x0006,
  messageIntegrity: 0x0008,
  priority: 0x0024,
  useCandidate: 0x0025,
  fingerprint: 0x8028,
  controlling: 0x802a,
};

/** What createTransport answers, as far as it is needed to reach the transport. */
const transportSchema = z.object({
  iceParameters: z.object({ usernameFragment: z.string(), password: z.string() }),
  iceCandidates: z.array(z.object({ ip: z.string(), port: z.number(), protocol: z.enum(['udp', 'tcp']) })),
});

/**
 * Reaches the transport over UDP and sends it so many bytes that are no STUN, e.g. RTP without DTLS, which it reads and drops.
 * Resolves with the bytes that came back when it has read them.
 */
export async function sendBytes(transport: unknown, bytes: number): Promise<number> {
  const { iceParameters, iceCandidates } = transportSchema.parse(transport);
  const candidate = iceCandidates.find(({ protocol }) => protocol === 'udp');
  if (!candidate) throw new Error('the transport has no UDP candidate');
  const socket = createSocket('udp4');
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

/** A request that the transport takes as of its own (RFC 8445, section 7.2.2), with more attributes where given. */
export function bindingRequest(
  { usernameFragment, password }: { usernameFragment: string; password: string },
  more: readonly Buffer[] = [],
): Buffer {
  const body = [
    attribute(attributes.username, Buffer.from(`${usernameFragment}:test`)),
    attribute(attributes.priority, Buffer.from([0x6e, 0x7f, 0x1e, 0xff])),
    attribute(attributes.controlling, randomBytes(8)),
    attribute(attributes.useCandidate, Buffer.alloc(0)),
    ...more,
  ];
  const transaction = randomBytes(12);
  // Both checks cover a header whose length counts them too.
  const signed = [header(bindingMethod, length(body) + 24, transaction), ...body];
  body.push(attribute(attributes.messageIntegrity, createHmac('sha1', password).update(Buffer.concat(signed)).digest()));
  const whole = Buffer.concat([header(bindingMethod, length(body) + 8, transaction), ...body]);
  const fingerprint = Buffer.alloc(4);
  fingerprint.writeUInt32BE((crc32(whole) ^ 0x5354554e) >>> 0);
  return Buffer.concat([whole, attribute(attributes.fingerprint, fingerprint)]);
}

/** RFC 8489, section 5. */
export function header(type: number, bodyLength: number, transaction: Buffer): Buffer {
  const start = Buffer.alloc(8);
  start.writeUInt16BE(type, 0);
  start.writeUInt16BE(bodyLength, 2);
  start.writeUInt32BE(magicCookie, 4);
  return Buffer.concat([start, transaction]);
}

/** RFC 8489, section 14, padded to four bytes. */
export function attribute(type: number, value: Buffer): Buffer {
  const start = Buffer.alloc(4);
  start.writeUInt16BE(type, 0);
  start.writeUInt16BE(value.length, 2);
  return Buffer.concat([start, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}

function length(parts: readonly Buffer[]): number {
  return parts.reduce((sum, part) => sum + part.length, 0);
}
