// The packets of the distribution handshake, version 6 (Erlang/OTP, "Distribution Protocol", "Distribution Handshake").
import { isUtf8 } from 'node:buffer';
import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import { splitNodeName } from '../node-names.ts';
import { WireError } from '../wire-error.ts';

/** Longest packet of a handshake: a name of 255 characters with what is around it. */
export const maxHandshakePacket = 2048;
const maxNameBytes = 1020;

const letters = { name: 0x4e, status: 0x73, reply: 0x72, ack: 0x61 } as const;

/** `nonce`: what nodes of ours send behind their name, to prove by `boundProof` that they know the cookie. */
export type NamePacket = { flags: bigint; creation: number; name: string; nonce?: Buffer | undefined };
export type ChallengePacket = NamePacket & { challenge: number };
export type ReplyPacket = { challenge: number; digest: Buffer };
export type Status = 'ok' | 'ok_simultaneous' | 'nok' | 'not_allowed' | 'alive' | 'true' | 'false';

const statuses: readonly string[] = ['ok', 'ok_simultaneous', 'nok', 'not_allowed', 'alive', 'true', 'false'] satisfies Status[];

/** Stands before a nonce. Erlang ignores what is behind a name. */
const nonceMark = Buffer.from('mrp1');
export const nonceBytes = 16;

/** Erlang's proof of the cookie: MD5 of it and the challenge in decimal. It names nobody, so whoever is given it can use it elsewhere. */
export function cookieDigest(cookie: string, challenge: number): Buffer {
  return createHash('md5').update(`${cookie}${challenge}`).digest();
}

/** A connection as both sides see it: the packets with both names and nonces. `binding`: key material of its TLS, if there is any. */
export type Transcript = { hello: Buffer; answer: Buffer; binding: Buffer };

/** Our own proof of the cookie, as long as Erlang's: good for this connection, this side of it and this challenge only. */
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
  if (bytes[0] !== letters.name || bytes.length < 15) throw new WireError('a name of the handshake was expected, of version 6');
  return { flags: bytes.readBigUInt64BE(1), creation: bytes.readUInt32BE(9), ...parseText(bytes, 13) };
}

/** send_challenge */
export function challengePacket({ flags, creation, name, challenge, nonce }: ChallengePacket): Buffer {
  return Buffer.concat([Buffer.of(letters.name), u64(flags), u32(challenge), u32(creation), text(name), ...extension(nonce)]);
}

/** @throws WireError */
export function parseChallengePacket(bytes: Buffer): ChallengePacket {
  if (bytes[0] !== letters.name || bytes.length < 19) throw new WireError('a challenge of the handshake was expected');
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
  if (bytes[0] !== letters.status || !isStatus(status)) throw new WireError('a status of the handshake was expected');
  return status;
}

/** send_challenge_reply */
export function replyPacket({ challenge, digest }: ReplyPacket): Buffer {
  return Buffer.concat([Buffer.of(letters.reply), u32(challenge), digest]);
}

/** @throws WireError */
export function parseReply(bytes: Buffer): ReplyPacket {
  if (bytes[0] !== letters.reply || bytes.length !== 21) throw new WireError('an answer to the challenge was expected');
  return { challenge: bytes.readUInt32BE(1), digest: bytes.subarray(5) };
}

/** send_challenge_ack */
export function ackPacket(digest: Buffer): Buffer {
  return Buffer.concat([Buffer.of(letters.ack), digest]);
}

/** @throws WireError */
export function parseAck(bytes: Buffer): Buffer {
  if (bytes[0] !== letters.ack || bytes.length !== 17) throw new WireError('the end of the handshake was expected');
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

/** A node's name behind its length, and its nonce if there is one. What else is behind it is for versions to come and ignored, as Erlang does. */
function parseText(bytes: Buffer, at: number): { name: string; nonce?: Buffer } {
  const end = at + 2 + bytes.readUInt16BE(at);
  const name = bytes.subarray(at + 2, end);
  if (end > bytes.length || name.length > maxNameBytes || !isUtf8(name)) throw new WireError('the name of a node is wrong');
  const value = name.toString('utf8');
  if (!splitNodeName(value)) throw new WireError('the name of a node is wrong');
  const nonceAt = end + nonceMark.length;
  const marked = bytes.length >= nonceAt + nonceBytes && bytes.subarray(end, nonceAt).equals(nonceMark);
  return { name: value, ...(marked && { nonce: bytes.subarray(nonceAt, nonceAt + nonceBytes) }) };
}
