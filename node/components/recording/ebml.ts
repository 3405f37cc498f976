// EBML (RFC 8794): writes Matroska elements and reads their heads.

/** Element ids of Matroska (RFC 9559), including the length marker. */
export const ids = {
  ebml: 0x1a45dfa3,
  docType: 0x4282,
  docTypeVersion: 0x4287,
  docTypeReadVersion: 0x4285,
  void: 0xec,
  segment: 0x18538067,
  seekHead: 0x114d9b74,
  seek: 0x4dbb,
  seekId: 0x53ab,
  seekPosition: 0x53ac,
  info: 0x1549a966,
  timestampScale: 0x2ad7b1,
  muxingApp: 0x4d80,
  writingApp: 0x5741,
  duration: 0x4489,
  dateUtc: 0x4461,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  trackUid: 0x73c5,
  trackType: 0x83,
  flagLacing: 0x9c,
  defaultDuration: 0x23e383,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  seekPreRoll: 0x56bb,
  video: 0xe0,
  pixelWidth: 0xb0,
  pixelHeight: 0xba,
  audio: 0xe1,
  samplingFrequency: 0xb5,
  channels: 0x9f,
  cluster: 0x1f43b675,
  timestamp: 0xe7,
  simpleBlock: 0xa3,
  cues: 0x1c53bb6b,
  cuePoint: 0xbb,
  cueTime: 0xb3,
  cueTrackPositions: 0xb7,
  cueTrack: 0xf7,
  cueClusterPosition: 0xf1,
} as const;

/** Bytes of a size that size8() writes. */
export const sizeLength = 8;
/** Unknown size: the element extends to the end of the file (section 6.2). */
export const unknownSize = Buffer.from([0x01, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);

export function element(id: number, ...content: readonly Buffer[]): Buffer {
  const size = content.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([idBytes(id), shortSize(size), ...content]);
}

/** Element with a size of 8 bytes, which can be changed in place. */
export function elementWithLongSize(id: number, ...content: readonly Buffer[]): Buffer {
  const size = content.reduce((sum, { length }) => sum + length, 0);
  return Buffer.concat([idBytes(id), size8(size), ...content]);
}

export function unsigned(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  const first = bytes.findIndex((byte) => byte !== 0);
  return element(id, first < 0 ? Buffer.from([0]) : bytes.subarray(first));
}

export function uint8Element(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return element(id, bytes);
}

export function float(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return element(id, bytes);
}

export function text(id: number, value: string): Buffer {
  return element(id, Buffer.from(value));
}

/** Void element of `length` bytes in total (2 to 128). */
export function voidElement(length: number): Buffer {
  return element(ids.void, Buffer.alloc(length - 2));
}

export function idBytes(id: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(id);
  return bytes.subarray(bytes.findIndex((byte) => byte !== 0));
}

export function size8(size: number): Buffer {
  const bytes = Buffer.alloc(sizeLength);
  bytes.writeBigUInt64BE(BigInt(size));
  bytes[0] = 0x01;
  return bytes;
}

function shortSize(size: number): Buffer {
  if (size < 0x7f) return Buffer.from([0x80 | size]);
  return size8(size);
}

export type Head = { id: number /** Undefined if it extends to the end of the file. */; size: number | undefined; length: number };

/** Reads the id and size at the start of these bytes. @returns undefined if they are incomplete or invalid */
export function readHead(bytes: Buffer): Head | undefined {
  const idLength = lengthOf(bytes[0]);
  if (idLength > 4 || bytes.length <= idLength) return undefined;
  const sizeBytes = lengthOf(bytes[idLength]);
  if (sizeBytes > 8 || bytes.length < idLength + sizeBytes) return undefined;
  let size = (bytes[idLength] ?? 0) & (0xff >> sizeBytes);
  let unknown = size === 0xff >> sizeBytes;
  for (let at = idLength + 1; at < idLength + sizeBytes; at += 1) {
    unknown &&= bytes[at] === 0xff;
    size = size * 256 + (bytes[at] ?? 0);
  }
  return { id: bytes.readUIntBE(0, idLength), size: unknown ? undefined : size, length: idLength + sizeBytes };
}

/** Length by the number of leading zero bits. */
function lengthOf(first: number | undefined): number {
  return first === undefined || first === 0 ? 9 : Math.clz32(first) - 23;
}
