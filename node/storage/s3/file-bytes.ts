// File bytes: a range of an open file as a stream that leaves the file open.
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';

/** Bytes per read. */
const readAhead = 256 * 1024;

export function readBytes(file: FileHandle, start: number, length: number): Readable {
  if (length === 0) return Readable.from([]);
  return file.createReadStream({ start, end: start + length - 1, autoClose: false, highWaterMark: readAhead });
}
