// Spool records: length and CRC-32 of the payload (both 32 bit, little endian), then the payload as JSON.
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { Delivery } from './delivery.ts';

const headerBytes = 8;
/** Maximum payload size. A larger value comes from a damaged length field. */
const maxPayload = 4 * 1024 * 1024;

const pendingSchema = z.tuple([z.literal(1), z.int().positive(), z.string(), z.string(), z.string(), z.string(), z.number(), z.string()]);
const doneSchema = z.tuple([z.literal(0), z.array(z.int().positive())]);
const recordSchema = z.union([pendingSchema, doneSchema]);

export function pendingRecord({ n, url, roomId, incarnation, eventId, at, body }: Delivery): Buffer {
  return record([1, n, url, roomId, incarnation, eventId, at, body]);
}

/** These deliveries were delivered or failed permanently. */
export function doneRecord(numbers: readonly number[]): Buffer {
  return record([0, numbers]);
}

/** Records in the bytes of a segment. `bad`: the offset of the first unreadable record, if any. */
export function readRecords(bytes: Buffer): { pending: Delivery[]; done: number[]; bad: number | undefined } {
  const pending: Delivery[] = [];
  const done: number[] = [];
  let offset = 0;
  while (offset < bytes.length) {
    const payload = payloadAt(bytes, offset);
    const read = payload && parse(payload);
    if (!payload || !read) return { pending, done, bad: offset };
    if (read[0] === 0) done.push(...read[1]);
    else {
      const [, n, url, roomId, incarnation, eventId, at, body] = read;
      pending.push({ n, url, roomId, incarnation, eventId, at, body, attempts: 0 });
    }
    offset += headerBytes + payload.length;
  }
  return { pending, done, bad: undefined };
}

function record(value: unknown): Buffer {
  const payload = Buffer.from(JSON.stringify(value));
  const header = Buffer.alloc(headerBytes);
  header.writeUInt32LE(payload.length, 0);
  header.writeUInt32LE(crc32(payload), 4);
  return Buffer.concat([header, payload]);
}

function payloadAt(bytes: Buffer, offset: number): Buffer | undefined {
  if (offset + headerBytes > bytes.length) return undefined;
  const length = bytes.readUInt32LE(offset);
  const end = offset + headerBytes + length;
  if (length > maxPayload || end > bytes.length) return undefined;
  const payload = bytes.subarray(offset + headerBytes, end);
  return crc32(payload) === bytes.readUInt32LE(offset + 4) ? payload : undefined;
}

function parse(payload: Buffer): z.infer<typeof recordSchema> | undefined {
  try {
    const read = recordSchema.safeParse(JSON.parse(payload.toString()));
    return read.success ? read.data : undefined;
  } catch {
    return undefined;
  }
}
