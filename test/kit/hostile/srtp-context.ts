// SRTP sender context with AES128_CM_HMAC_SHA1_80 (RFC 3711): makes arbitrary bytes authentic, which libraries do not allow.
import { createCipheriv, createHmac } from 'node:crypto';

const tagBytes = 10;
const noExtensionHeader = 12;

export class SrtpContext {
  readonly #rtp: SessionKeys;
  readonly #rtcp: SessionKeys;
  #rtcpIndex = 0;

  constructor(masterKey: Buffer, masterSalt: Buffer) {
    this.#rtp = sessionKeys(masterKey, masterSalt, 0);
    this.#rtcp = sessionKeys(masterKey, masterSalt, 3);
  }

  /** Encrypts and authenticates bytes that need not be RTP (RFC 3711, sections 3.1 and 4.1.1). */
  protectRtp(packet: Buffer, rolloverCounter = 0): Buffer {
    const header = headerBytes(packet);
    const iv = Buffer.alloc(16);
    this.#rtp.salt.copy(iv);
    const counter = Buffer.alloc(4);
    counter.writeUInt32BE(rolloverCounter);
    for (let i = 0; i < 4; i++) {
      iv[4 + i] = at(iv, 4 + i) ^ at(packet, 8 + i);
      iv[8 + i] = at(iv, 8 + i) ^ at(counter, i);
    }
    iv[12] = at(iv, 12) ^ at(packet, 2);
    iv[13] = at(iv, 13) ^ at(packet, 3);
    const cipher = createCipheriv('aes-128-ctr', this.#rtp.key, iv);
    const sealed = Buffer.concat([packet.subarray(0, header), cipher.update(packet.subarray(header))]);
    return Buffer.concat([sealed, tag(this.#rtp, [sealed, counter])]);
  }

  /** The same for RTCP (section 3.4). */
  protectRtcp(packet: Buffer): Buffer {
    this.#rtcpIndex += 1;
    const iv = Buffer.alloc(16);
    this.#rtcp.salt.copy(iv);
    for (let i = 0; i < 4; i++) iv[4 + i] = at(iv, 4 + i) ^ at(packet, 4 + i);
    iv.writeUInt32BE((iv.readUInt32BE(10) ^ this.#rtcpIndex) >>> 0, 10);
    const cipher = createCipheriv('aes-128-ctr', this.#rtcp.key, iv);
    const index = Buffer.alloc(4);
    index.writeUInt32BE((0x80000000 | this.#rtcpIndex) >>> 0);
    const sealed = Buffer.concat([packet.subarray(0, 8), cipher.update(packet.subarray(8)), index]);
    return Buffer.concat([sealed, tag(this.#rtcp, [sealed])]);
  }
}

type SessionKeys = { key: Buffer; authentication: Buffer; salt: Buffer };

/** Section 4.3: labels 0 to 2 are for RTP, 3 to 5 for RTCP. */
function sessionKeys(masterKey: Buffer, masterSalt: Buffer, label: number): SessionKeys {
  const derive = (which: number, bytes: number) => {
    const iv = Buffer.alloc(16);
    masterSalt.copy(iv);
    iv[7] = at(iv, 7) ^ which;
    return createCipheriv('aes-128-ctr', masterKey, iv).update(Buffer.alloc(bytes));
  };
  return { key: derive(label, 16), authentication: derive(label + 1, 20), salt: derive(label + 2, 14) };
}

function tag({ authentication }: SessionKeys, parts: readonly Buffer[]): Buffer {
  const hmac = createHmac('sha1', authentication);
  for (const part of parts) hmac.update(part);
  return hmac.digest().subarray(0, tagBytes);
}

/** Number of unencrypted bytes of a packet: fixed header, sources and header extension, if complete. */
function headerBytes(packet: Buffer): number {
  let header = noExtensionHeader + (at(packet, 0) & 15) * 4;
  if (at(packet, 0) & 0x10 && header + 4 <= packet.length) header += 4 + packet.readUInt16BE(header + 2) * 4;
  return header > packet.length ? Math.min(noExtensionHeader, packet.length) : header;
}

function at(buffer: Buffer, index: number): number {
  return buffer[index] ?? 0;
}
