// SIP over a stream: splits messages by Content-Length (RFC 3261, section 18.3) and detects keep-alives (RFC 5626, section 3.5.1).

/** Maximum bytes of a message. */
export const maxMessageBytes = 64 * 1024;
const maxHeadBytes = 32 * 1024;

export type StreamFrame = { message: Buffer } | 'ping' | 'pong';

export class StreamFraming {
  #bytes: Buffer = Buffer.alloc(0);

  /** @throws RangeError for invalid or too large messages, after which the stream is unusable */
  push(chunk: Buffer): StreamFrame[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const pieces: StreamFrame[] = [];
    for (let streamFrame = this.#next(); streamFrame; streamFrame = this.#next()) pieces.push(streamFrame);
    return pieces;
  }

  #next(): StreamFrame | undefined {
    const bytes = this.#bytes;
    // Two CRLF are a ping, one is the pong. A ping that arrives in two chunks counts as two pongs, which is harmless.
    if (bytes[0] === 13) {
      if (bytes.length < 2) return undefined;
      if (bytes[1] !== 10) throw new RangeError('A line ends with CR without LF');
      const ping = bytes[2] === 13 && bytes[3] === 10;
      this.#bytes = bytes.subarray(ping ? 4 : 2);
      return ping ? 'ping' : 'pong';
    }
    const head = bytes.indexOf('\r\n\r\n');
    if (head < 0 || head > maxHeadBytes) {
      if (bytes.length > maxHeadBytes) throw new RangeError('The header of a message is too large');
      return undefined;
    }
    const length = lengthOf(bytes.toString('latin1', 0, head + 2));
    const end = head + 4 + length;
    if (end > maxMessageBytes) throw new RangeError('A message is too large');
    if (bytes.length < end) return undefined;
    this.#bytes = bytes.subarray(end);
    return { message: bytes.subarray(0, end) };
  }
}

function lengthOf(head: string): number {
  const values = [...head.matchAll(/^(?:Content-Length|l)[ \t]*:[ \t]*(.*?)[ \t]*\r$/gim)].map(([, value]) => value ?? '');
  const [value] = values;
  // Mandatory over streams (section 20.14).
  if (value === undefined || values.some((each) => each !== value)) throw new RangeError('A message has no valid Content-Length');
  if (!/^\d{1,7}$/.test(value)) throw new RangeError('Content-Length is not a number');
  return Number(value);
}
