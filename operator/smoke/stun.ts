// STUN requests as sent by ICE (RFC 8489, RFC 8445 section 7.2.2), their transactions over UDP, and validation of responses.
import { createHmac, randomBytes } from 'node:crypto';
import type { Socket } from 'node:dgram';
import { once } from 'node:events';
import { crc32 } from 'node:zlib';

const magicCookie = 0x2112a442;
const bindingRequest = 0x0001;
const bindingSuccess = 0x0101;
const headerBytes = 20;
const integrityBytes = 24;
const fingerprintBytes = 8;
/** Initial retransmission timeout in milliseconds; doubled each time. */
const firstWait = 500;
const attributes = { username: 0x0006, integrity: 0x0008, priority: 0x0024, controlling: 0x802a, fingerprint: 0x8028 };

export type IceParameters = { usernameFragment: string; password: string };

/** `transaction`: 12 random bytes. `more`: attributes covered by MESSAGE-INTEGRITY and FINGERPRINT. */
export function bindingRequestTo({ usernameFragment, password }: IceParameters, transaction: Buffer, more: readonly Buffer[] = []): Buffer {
  const body = Buffer.concat([
    attribute(attributes.username, Buffer.from(`${usernameFragment}:smoke`)),
    attribute(attributes.priority, Buffer.from([0x6e, 0x7f, 0x1e, 0xff])),
    attribute(attributes.controlling, randomBytes(8)),
    ...more,
  ]);
  // Both are computed over a header whose length includes them.
  const signed = Buffer.concat([header(bindingRequest, body.length + integrityBytes, transaction), body]);
  const integrity = attribute(attributes.integrity, createHmac('sha1', password).update(signed).digest());
  const whole = Buffer.concat([header(bindingRequest, body.length + integrityBytes + fingerprintBytes, transaction), body, integrity]);
  const fingerprint = Buffer.alloc(4);
  fingerprint.writeUInt32BE((crc32(whole) ^ 0x5354554e) >>> 0);
  return Buffer.concat([whole, attribute(attributes.fingerprint, fingerprint)]);
}

/** Whether the message is the success response of that transaction. */
export function isSuccess(message: Buffer, transaction: Buffer): boolean {
  return (
    message.length >= headerBytes &&
    message.readUInt16BE(0) === bindingSuccess &&
    message.readUInt32BE(4) === magicCookie &&
    message.subarray(8, headerBytes).equals(transaction)
  );
}

/**
 * One transaction over UDP: sends the request, retransmits it at doubling intervals (RFC 8489, section 6.2.1), and ignores other messages.
 * @returns the response @throws AbortError
 */
export async function transact(
  socket: Socket,
  request: Buffer,
  to: { ip: string; port: number },
  isResponse: (message: Buffer) => boolean,
  signal: AbortSignal,
): Promise<Buffer> {
  let timer: NodeJS.Timeout | undefined;
  const send = (wait: number) => {
    socket.send(request, to.port, to.ip);
    timer = setTimeout(() => send(wait * 2), wait);
  };
  try {
    send(firstWait);
    for (;;) {
      const [message] = (await once(socket, 'message', { signal })) as [Buffer];
      if (isResponse(message)) return message;
    }
  } finally {
    clearTimeout(timer);
  }
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
