// Whole content: reads a complete file before the response starts.
import { ServiceError } from '../../api/errors.ts';
import type { ContentResponse } from '../rooms/services/content.ts';

/** `most`: maximum bytes. `what`: subject of the error message. @throws ServiceError `unavailable` if it is larger or ends early */
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
    throw new ServiceError('unavailable', `${what} could not be read completely`, { cause });
  }
  return Buffer.concat(chunks);
}
