// Byte ranges of requests (RFC 9110, section 14).

/** First and last byte, both inclusive. */
export type ByteRange = { start: number; end: number };

/**
 * The range of a Range header. @returns 'whole' if there is none, several, or one with another unit, because these may be ignored;
 * 'unsatisfiable' if the file does not contain it.
 */
export function readRange(header: string | undefined, size: number): ByteRange | 'whole' | 'unsatisfiable' {
  const match = /^bytes=(?:(\d{1,15})-(\d{1,15})?|-(\d{1,15}))$/i.exec(header?.trim() ?? '');
  if (!match) return 'whole';
  const [, first, last, suffix] = match;
  if (suffix !== undefined) {
    const length = Math.min(Number(suffix), size);
    return length === 0 ? 'unsatisfiable' : { start: size - length, end: size - 1 };
  }
  const start = Number(first);
  if (last !== undefined && Number(last) < start) return 'whole';
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === undefined ? size - 1 : Math.min(Number(last), size - 1) };
}
