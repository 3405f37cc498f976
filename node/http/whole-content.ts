// A file that is needed as a whole before it is answered.
import { ServiceError } from '../common/errors.ts';
import type { ContentResponse } from '../rooms/shapes/content.ts';

/** `most`: bytes. `what`: a subject. @throws ServiceError `unavailable` where it is larger, or breaks off */
export async function wholeOf({ body, bytes }: ContentResponse, most: number, what: string): Promise<Buffer> {
  if (bytes) return bytes;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of (body ?? []) as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > most) throw new ServiceError('unavailable', `${what} is too large`);
      chunks.push(chunk);
    }
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError('unavailable', `${what} cannot be read to its end`, { cause });
  }
  return Buffer.concat(chunks);
}
