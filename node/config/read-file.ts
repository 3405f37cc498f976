// File reader with a size limit, for files of the configuration.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

export class FileTooLargeError extends Error {}

/** All bytes of a file. @throws FileTooLargeError beyond `max` bytes; errors of open and read. */
export async function readFileLimited(path: string, max: number): Promise<Buffer> {
  // Nonblocking: a pipe without a writer must not block the start.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    if (!(await file.stat()).isFile()) throw new Error('not a file');
    const buffer = Buffer.alloc(max + 1);
    let size = 0;
    while (size <= max) {
      const { bytesRead } = await file.read(buffer, size, buffer.length - size, null);
      if (bytesRead === 0) return Buffer.from(buffer.subarray(0, size));
      size += bytesRead;
    }
    throw new FileTooLargeError(`more than ${max} bytes`);
  } finally {
    await file.close();
  }
}
