// Handshake packets of the distribution, version 6 (Erlang/OTP, "Distribution Protocol", "Distribution Handshake").
import { isUtf8 } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { splitNodeName } from '../node-names.ts';
import { WireError } from '../wire-error.ts';

/** Maximum packet size: a name of 255 characters plus its envelope. */
export const maxHandshakePacket = 2048;
const maxNameBytes = 1020;

const letters = { name: 0x4e, status: 0x73, reply: 0x72, ack: 0x61 } as const;

/** `nonce`: sent by our nodes after their name, for the cookie proof of `boundProof`. */
export type NamePacket = { flags: bigint; creation: number; name: string; nonce?: Buffer | undefined };
export type ChallengePacket = NamePacket & { challenge: number };
export type ReplyPacket = { challenge: number; digest: Buffer };
export type Status = 'ok' | 'ok_simultaneous' | 'nok' | 'not_allowed' | 'alive' | 'true' | 'false';

const statuses: readonly string[] = ['ok', 'ok_simultaneous', 'nok', 'not_allowed', 'alive', 'true', 'false'] satisfies Status[];

/** Prefix of a nonce. Erlang ignores bytes after the name. */
const nonceMark = Buffer.from('mrp1');
export const nonceBytes = 16;

/**
 * Cookie proof of Erlang: MD5 of the cookie and the challenge in decimal. It is not bound to a node, so its receiver can use it at another
 * node.
 */
export function cookieDigest(cookie: string, challenge: number): Buffer {
  return createHash('md5').update(`${cookie}${challenge}`).digest();
}

/** The handshake as seen by both sides: packets with both names and nonces. `binding`: TLS key material, if TLS is used. */
export type Transcript = { hello: Buffer; answer: Buffer; binding: Buffer };

/** Our cookie proof, of the same length as that of Erlang. It is valid for this connection, this side and this challenge only. */
export function boundProof(
  cookie: string,
  side: 'dialler' | 'acceptor',
  { hello, answer, binding }: Transcript,
  challenge: number,
): Buffer {
  const mac = createHmac('sha256', cookie).update(`mediarooms distribution ${side}\0`).update(u32(challenge));
  for (const part of [hello, answer, binding]) mac.update(u32(part.length)).update(part);
  return mac.digest().subarray(0, 16);
}

/** Compares in constant time. */
export function isSame(given: Buffer, expected: Buffer): boolean {
  return given.length === expected.length && timingSafeEqual(given, expected);
}

/** send_name */
export function namePacket({ flags, creation, name, nonce }: NamePacket): Buffer {
  return Buffer.concat([Buffer.of(letters.name), u64(flags), u32(creation), text(name), ...extension(nonce)]);
}

/** @throws WireError */
export function parseNamePacket(bytes: Buffer): NamePacket {
  if (bytes[0] !== letters.name || bytes.length < 15) throw new WireError('expected a handshake name of version 6');
  return { flags: bytes.readBigUInt64BE(1), creation: bytes.readUInt32BE(9), ...parseText(bytes, 13) };
}

/** send_challenge */
export function challengePacket({ flags, creation, name, challenge, nonce }: ChallengePacket): Buffer {
  return Buffer.concat([Buffer.of(letters.name), u64(flags), u32(challenge), u32(creation), text(name), ...extension(nonce)]);
}

/** @throws WireError */
export function parseChallengePacket(bytes: Buffer): ChallengePacket {
  if (bytes[0] !== letters.name || bytes.length < 19) throw new WireError('expected a handshake challenge');
  return {
    flags: bytes.readBigUInt64BE(1),
    challenge: bytes.readUInt32BE(9),
    creation: bytes.readUInt32BE(13),
    ...parseText(bytes, 17),
  };
}

/** send_status, in both directions */
export function statusPacket(status: Status): Buffer {
  return Buffer.from(`s${status}`);
}

/** @throws WireError */
export function parseStatus(bytes: Buffer): Status {
  const status = bytes.toString('latin1', 1);
  if (bytes[0] !== letters.status || !isStatus(status)) throw new WireError('expected a handshake status');
  return status;
}

/** send_challenge_reply */
export function replyPacket({ challenge, digest }: ReplyPacket): Buffer {
  return Buffer.concat([Buffer.of(letters.reply), u32(challenge), digest]);
}

/** @throws WireError */
export function parseReply(bytes: Buffer): ReplyPacket {
  if (bytes[0] !== letters.reply || bytes.length !== 21) throw new WireError('expected a response to the challenge');
  return { challenge: bytes.readUInt32BE(1), digest: bytes.subarray(5) };
}

/** send_challenge_ack */
export function ackPacket(digest: Buffer): Buffer {
  return Buffer.concat([Buffer.of(letters.ack), digest]);
}

/** @throws WireError */
export function parseAck(bytes: Buffer): Buffer {
  if (bytes[0] !== letters.ack || bytes.length !== 17) throw new WireError('expected the end of the handshake');
  return bytes.subarray(1);
}

function isStatus(status: string): status is Status {
  return statuses.includes(status);
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

function u64(value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(value);
  return bytes;
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

function extension(nonce: Buffer | undefined): Buffer[] {
  return nonce === undefined ? [] : [nonceMark, nonce];
}

/** A node name after its length, and its nonce if present. Further bytes are reserved for later versions and ignored, as in Erlang. */
function parseText(bytes: Buffer, at: number): { name: string; nonce?: Buffer } {
  const end = at + 2 + bytes.readUInt16BE(at);
  const name = bytes.subarray(at + 2, end);
  if (end > bytes.length || name.length > maxNameBytes || !isUtf8(name)) throw new WireError('invalid node name');
  const value = name.toString('utf8');
  if (!splitNodeName(value)) throw new WireError('invalid node name');
  const nonceAt = end + nonceMark.length;
  const marked = bytes.length >= nonceAt + nonceBytes && bytes.subarray(end, nonceAt).equals(nonceMark);
  return { name: value, ...(marked && { nonce: bytes.subarray(nonceAt, nonceAt + nonceBytes) }) };
}
