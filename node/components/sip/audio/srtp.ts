// SRTP with AES in counter mode and HMAC-SHA1 (RFC 3711), with SDES keys (RFC 4568).
import { createCipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import type { CallKeys } from './session.ts';

export type SrtpSuite = CallKeys['suite'];

/** Bytes of the authentication tag, the only difference between the suites. */
const tagBytes = { AES_CM_128_HMAC_SHA1_80: 10, AES_CM_128_HMAC_SHA1_32: 4 } as const satisfies Record<SrtpSuite, number>;
const keyBytes = 16;
const saltBytes = 14;
const authBytes = 20;
const labels = { encryption: 0, authentication: 1, salt: 2 } as const;
/** Packets that may arrive after newer ones (section 3.3.2 requires 64 at least). */
const replayWindow = 128;
/** Sources of one call: a transfer of the remote party adds a new one. */
const maxSources = 32;
const rtpHeader = 12;

export type SessionKeys = { encryption: Buffer; authentication: Buffer; salt: Buffer };

/** Section 4.3, without a key derivation rate. `inline`: master key and salt, base64. @throws RangeError for an invalid key */
export function deriveKeys(inline: string): SessionKeys {
  const bytes = Buffer.from(inline, 'base64');
  if (bytes.length !== keyBytes + saltBytes) throw new RangeError(`An SRTP key has ${keyBytes + saltBytes} bytes`);
  const key = bytes.subarray(0, keyBytes);
  const salt = bytes.subarray(keyBytes);
  const derive = (label: number, length: number) => {
    const iv = Buffer.alloc(16);
    salt.copy(iv);
    iv[7] = (iv[7] ?? 0) ^ label;
    return counterMode(key, iv, Buffer.alloc(length));
  };
  return {
    encryption: derive(labels.encryption, keyBytes),
    authentication: derive(labels.authentication, authBytes),
    salt: derive(labels.salt, saltBytes),
  };
}

/** Sending direction of a call. Sequence numbers must increase by one. */
export class SrtpSender {
  readonly #keys: SessionKeys;
  #rollover = 0;
  #last: number | undefined;

  constructor(inline: string) {
    this.#keys = deriveKeys(inline);
  }

  /** Protects a whole RTP packet without CSRCs or extension. */
  protect(packet: Buffer, suite: SrtpSuite): Buffer {
    const sequence = packet.readUInt16BE(2);
    if (this.#last !== undefined && sequence < this.#last) this.#rollover += 1;
    this.#last = sequence;
    const index = this.#rollover * 2 ** 16 + sequence;
    const payload = counterMode(this.#keys.encryption, ivOf(this.#keys.salt, packet.readUInt32BE(8), index), packet.subarray(rtpHeader));
    const whole = Buffer.concat([packet.subarray(0, rtpHeader), payload]);
    return Buffer.concat([whole, tagOf(this.#keys, whole, this.#rollover, tagBytes[suite])]);
  }
}

type Source = { highest: number; seen: Float64Array };

/** Receiving direction of a call: authenticates packets before it parses them. */
export class SrtpReceiver {
  readonly #keys: SessionKeys;
  readonly #sources = new Map<number, Source>();

  constructor(inline: string) {
    this.#keys = deriveKeys(inline);
  }

  /** @returns the RTP packet; undefined if authentication fails or the packet is a replay */
  unprotect(packet: Buffer, suite: SrtpSuite): Buffer | undefined {
    const end = packet.length - tagBytes[suite];
    const start = headerLength(packet, end);
    if (start === undefined) return undefined;
    const ssrc = packet.readUInt32BE(8);
    const known = this.#sources.get(ssrc);
    if (!known && this.#sources.size >= maxSources) return undefined;
    const sequence = packet.readUInt16BE(2);
    const index = known ? nearest(sequence, known.highest) : sequence;
    if (index < 0 || (known && wasSeen(known, index))) return undefined;
    const whole = packet.subarray(0, end);
    const tag = tagOf(this.#keys, whole, Math.floor(index / 2 ** 16), tagBytes[suite]);
    if (!timingSafeEqual(tag, packet.subarray(end))) return undefined;
    const source = known ?? { highest: index, seen: new Float64Array(replayWindow).fill(-1) };
    this.#sources.set(ssrc, source);
    source.seen[index % replayWindow] = index;
    source.highest = Math.max(source.highest, index);
    const payload = counterMode(this.#keys.encryption, ivOf(this.#keys.salt, ssrc, index), packet.subarray(start, end));
    return Buffer.concat([packet.subarray(0, start), payload]);
  }
}

function wasSeen({ highest, seen }: Source, index: number): boolean {
  return index <= highest - replayWindow || seen[index % replayWindow] === index;
}

/** Index with these low 16 bits that is closest to the highest index (section 3.3.1). */
function nearest(sequence: number, highest: number): number {
  const base = Math.floor(highest / 2 ** 16) * 2 ** 16 + sequence;
  if (base - highest > 2 ** 15) return base - 2 ** 16;
  if (highest - base > 2 ** 15) return base + 2 ** 16;
  return base;
}

/** Bytes before the encrypted part. @returns undefined if it is not RTP */
function headerLength(packet: Buffer, end: number): number | undefined {
  if (end < rtpHeader || (packet[0] ?? 0) >> 6 !== 2) return undefined;
  const first = packet[0] ?? 0;
  let length = rtpHeader + (first & 0x0f) * 4;
  if (first & 0x10) {
    if (length + 4 > end) return undefined;
    length += 4 + packet.readUInt16BE(length + 2) * 4;
  }
  return length > end ? undefined : length;
}

/** Section 4.1.1. */
function ivOf(salt: Buffer, ssrc: number, index: number): Buffer {
  const iv = Buffer.alloc(16);
  salt.copy(iv);
  iv.writeUInt32BE((iv.readUInt32BE(4) ^ ssrc) >>> 0, 4);
  iv.writeUInt32BE((iv.readUInt32BE(8) ^ Math.floor(index / 2 ** 16)) >>> 0, 8);
  iv.writeUInt16BE(iv.readUInt16BE(12) ^ (index % 2 ** 16), 12);
  return iv;
}

function counterMode(key: Buffer, iv: Buffer, data: Buffer): Buffer {
  return createCipheriv('aes-128-ctr', key, iv).update(data);
}

/** Section 4.2: over packet and rollover counter. */
function tagOf(keys: SessionKeys, packet: Buffer, rollover: number, length: number): Buffer {
  const counter = Buffer.alloc(4);
  counter.writeUInt32BE(rollover >>> 0);
  return createHmac('sha1', keys.authentication).update(packet).update(counter).digest().subarray(0, length);
}
