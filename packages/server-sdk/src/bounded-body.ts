// Bounded body: reads a response or request body up to a size limit.

/** The body as UTF-8 text. @throws RangeError if it is larger than `maxBytes` */
export async function boundedText(body: ReadableStream<Uint8Array> | null, maxBytes: number): Promise<string> {
  if (!body) return '';
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.byteLength;
    if (bytes > maxBytes) {
      await reader.cancel().catch(() => {});
      throw new RangeError(`The body exceeds ${maxBytes} bytes`);
    }
    text += decoder.decode(value, { stream: true });
  }
}
