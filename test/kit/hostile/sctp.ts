// Minimal SCTP over DTLS (RFC 9260, RFC 8261): sets up an association that a test can misuse.
import { EventEmitter, once } from 'node:events';
import type { MediaLink } from './media-link.ts';

const port = 5000;
const ownTsn = 1_000;
const initAck = 2;
const abort = 6;
const cookieAck = 11;
const timeoutMs = 10_000;
const renewalTimeoutMs = 1_000;

export type Association = {
  verificationTag: number;
  peerInitialTsn: number;
  /** TSN of the first DATA chunk to send. */
  ownTsn: number;
  /** The COOKIE ECHO chunk that established the association. */
  cookieEcho: Buffer;
  /** Sends chunks in one packet with the correct tag and checksum. */
  send: (...chunks: Buffer[]) => Promise<void>;
  /** Ends the association if it exists, and establishes it again with the same cookie. Resolves with false if remote rejects that. */
  renew: () => Promise<boolean>;
};

/** Establishes an association (section 5.1). Rejects if remote does not respond within 10 s. */
export async function associate(link: MediaLink): Promise<Association> {
  const chunks = new EventEmitter();
  link.onMessage = (packet) => {
    for (const { type, value } of chunksOf(packet)) chunks.emit(String(type), value);
  };
  const deadline = AbortSignal.timeout(timeoutMs);
  const acknowledged = once(chunks, String(initAck), { signal: deadline });
  await link.sendMessage(packetOf(0, [initChunk()]));
  const [answer] = (await acknowledged) as [Buffer];
  const verificationTag = answer.readUInt32BE(0);
  const cookieEcho = chunk(10, 0, parameter(answer.subarray(16), 7));
  const established = once(chunks, String(cookieAck), { signal: deadline });
  const send = (...sent: Buffer[]) => link.sendMessage(packetOf(verificationTag, sent));
  await send(cookieEcho);
  await established;
  const renew = async () => {
    const renewed = once(chunks, String(cookieAck), { signal: AbortSignal.timeout(renewalTimeoutMs) });
    await send(chunk(abort, 0, Buffer.alloc(0)));
    await send(cookieEcho);
    return renewed.then(
      () => true,
      () => false,
    );
  };
  return { verificationTag, peerInitialTsn: answer.readUInt32BE(12), ownTsn, cookieEcho, send, renew };
}

/** Section 3.2, padded to four bytes. */
export function chunk(type: number, flags: number, value: Buffer): Buffer {
  const header = Buffer.from([type, flags, 0, 0]);
  header.writeUInt16BE(4 + value.length, 2);
  return Buffer.concat([header, value, Buffer.alloc((4 - (value.length % 4)) % 4)]);
}

/** A packet with its common header (section 3.1) and CRC-32c (appendix A). */
export function packetOf(verificationTag: number, chunks: readonly Buffer[]): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt16BE(port, 0);
  header.writeUInt16BE(port, 2);
  header.writeUInt32BE(verificationTag, 4);
  const packet = Buffer.concat([header, ...chunks]);
  packet.writeUInt32LE(crc32c(packet), 8);
  return packet;
}

/** Chunks of an idle association: TSN of the next DATA chunk, TSN that is acknowledged. */
export function sctpSamples(next: number, acknowledged: number): Buffer[] {
  const [own, theirs] = [next, acknowledged].map((value) => value.toString(16).padStart(8, '0'));
  const text = Buffer.from('hello').toString('hex');
  const samples: readonly (readonly [type: number, flags: number, value: string])[] = [
    [0, 3, `${own}0000000000000033${text}`],
    [3, 0, `${theirs}0002000000000000`],
    [4, 0, '0001000c1122334455667788'],
    [7, 0, `${theirs}`],
    [8, 0, ''],
    [9, 0, '00010008deadbeef'],
    [14, 0, ''],
    [130, 0, `000d0010${theirs}${theirs}${theirs}`],
    [192, 0, `${own}00010001`],
    [64, 3, `${own}000000000000000000000033${text}`],
  ];
  return samples.map(([type, flags, value]) => chunk(type, flags, Buffer.from(value, 'hex')));
}

/** Section 3.3.2: tag, window, streams out and in, first TSN. */
function initChunk(): Buffer {
  const value = Buffer.alloc(16);
  value.writeUInt32BE(0x1234_5678, 0);
  value.writeUInt32BE(131_072, 4);
  value.writeUInt16BE(1024, 8);
  value.writeUInt16BE(1024, 10);
  value.writeUInt32BE(ownTsn, 12);
  return chunk(1, 0, value);
}

function chunksOf(packet: Buffer): { type: number; value: Buffer }[] {
  const found: { type: number; value: Buffer }[] = [];
  for (let at = 12; at + 4 <= packet.length; ) {
    const length = packet.readUInt16BE(at + 2);
    if (length < 4) break;
    found.push({ type: packet[at] ?? 0, value: packet.subarray(at + 4, at + length) });
    at += Math.ceil(length / 4) * 4;
  }
  return found;
}

function parameter(parameters: Buffer, wanted: number): Buffer {
  for (let at = 0; at + 4 <= parameters.length; ) {
    const length = parameters.readUInt16BE(at + 2);
    if (length < 4) break;
    if (parameters.readUInt16BE(at) === wanted) return parameters.subarray(at + 4, at + length);
    at += Math.ceil(length / 4) * 4;
  }
  throw new Error(`no parameter ${wanted}`);
}

const crcTable = Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? (value >>> 1) ^ 0x82f6_3b78 : value >>> 1;
  return value >>> 0;
});

/** The checksum is computed with its own bytes set to zero. */
function crc32c(packet: Buffer): number {
  let value = 0xffff_ffff;
  for (const byte of packet) value = (crcTable[(value ^ byte) & 255] ?? 0) ^ (value >>> 8);
  return (value ^ 0xffff_ffff) >>> 0;
}
