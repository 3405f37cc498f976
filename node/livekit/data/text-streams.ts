// Text streams of a LiveKit client, which sends a text in parts: collects each, as a message for peers with other clients.
import type { DataPacket } from '@livekit/protocol';

/** Streams that a client has begun and not ended; beyond it, the oldest is not delivered. */
const maxStreams = 16;

type Text = { topic: string; chunks: Uint8Array[]; bytes: number };

export class TextStreams {
  readonly #maxBytes: number;
  /** By id of the stream. */
  readonly #streams = new Map<string, Text>();

  /** `maxBytes`: of a text; longer ones are not delivered. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the text of a stream that ends with this packet */
  received({ value: { case: name, value } }: Pick<DataPacket, 'value'>): { topic: string; bytes: Uint8Array } | undefined {
    if (name === 'streamHeader' && value.contentHeader.case === 'textHeader') this.#begin(value.streamId, value.topic);
    else if (name === 'streamChunk') this.#add(value.streamId, value.content);
    else if (name === 'streamTrailer') return this.#end(value.streamId, value.reason);
    return undefined;
  }

  #begin(id: string, topic: string): void {
    this.#streams.set(id, { topic, chunks: [], bytes: 0 });
    const [oldest] = this.#streams.keys();
    if (this.#streams.size > maxStreams && oldest !== undefined) this.#streams.delete(oldest);
  }

  #add(id: string, content: Uint8Array): void {
    const text = this.#streams.get(id);
    if (!text) return;
    text.chunks.push(content);
    text.bytes += content.length;
    if (text.bytes > this.#maxBytes) this.#streams.delete(id);
  }

  /** `reason`: why the sender cancelled it. */
  #end(id: string, reason: string): { topic: string; bytes: Uint8Array } | undefined {
    const text = this.#streams.get(id);
    this.#streams.delete(id);
    return text && reason === '' ? { topic: text.topic, bytes: Buffer.concat(text.chunks) } : undefined;
  }
}
