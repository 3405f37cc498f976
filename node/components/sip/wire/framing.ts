// SIP over a stream: messages cut by their Content-Length (RFC 3261, section 18.3), keep-alives in between (RFC 5626, section 3.5.1).

/** Bytes of a message in all. */
export const maxMessageBytes = 64 * 1024;
const maxHeadBytes = 32 * 1024;

export type StreamFrame = { message: Buffer } | 'ping' | 'pong';

export class StreamFraming {
  #bytes: Buffer = Buffer.alloc(0);

  /** @throws RangeError for what is no SIP or larger than a message may be: the stream cannot be followed any more */
  push(chunk: Buffer): StreamFrame[] {
    this.#bytes = this.#bytes.length === 0 ? chunk : Buffer.concat([this.#bytes, chunk]);
    const pieces: StreamFrame[] = [];
    for (let streamFrame = this.#next(); streamFrame; streamFrame = this.#next()) pieces.push(streamFrame);
    return pieces;
  }

  #next(): StreamFrame | undefined {
    const bytes = this.#bytes;
    // Two of them are a ping, one is the answer to it. A ping that comes in halves counts for two answers, which nobody misses.
    if (bytes[0] === 13) {
      if (bytes.length < 2) return undefined;
      if (bytes[1] !== 10) throw new RangeError('A line ends with CR alone');
      const ping = bytes[2] === 13 && bytes[3] === 10;
      this.#bytes = bytes.subarray(ping ? 4 : 2);
      return ping ? 'ping' : 'pong';
    }
    const head = bytes.indexOf('\r\n\r\n');
    if (head < 0 || head > maxHeadBytes) {
      if (bytes.length > maxHeadBytes) throw new RangeError('The head of a message is too large');
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
  // Over streams it must be there (section 20.14).
  if (value === undefined || values.some((each) => each !== value)) throw new RangeError('A message does not say how long it is');
  if (!/^\d{1,7}$/.test(value)) throw new RangeError('The length of a message is no number');
  return Number(value);
}
