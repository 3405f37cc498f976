// Text streams of a LiveKit client, which sends a text in parts: collects each, as a message for peers with other clients.
import type { DataPacket, DataStream_Header, DataStream_Trailer } from '@livekit/protocol';

/** Streams that a client has begun and not ended; beyond it, the oldest is not delivered. */
const maxStreams = 16;

type Text = { topic: string; attributes: Readonly<Record<string, string>>; chunks: Uint8Array[]; bytes: number };
export type CompleteText = Pick<Text, 'topic' | 'attributes'> & { bytes: Uint8Array };

export class TextStreams {
  readonly #maxBytes: number;
  /** By id of the stream. */
  readonly #streams = new Map<string, Text>();

  /** `maxBytes`: of a text; longer ones are not delivered. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the text of a stream that ends with this packet */
  received({ value: { case: name, value } }: Pick<DataPacket, 'value'>): CompleteText | undefined {
    if (name === 'streamHeader' && value.contentHeader.case === 'textHeader') this.#begin(value);
    else if (name === 'streamChunk') this.#add(value.streamId, value.content);
    else if (name === 'streamTrailer') return this.#end(value);
    return undefined;
  }

  #begin({ streamId: id, topic, attributes }: DataStream_Header): void {
    this.#streams.set(id, { topic, attributes, chunks: [], bytes: 0 });
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
  #end({ streamId: id, reason, attributes }: DataStream_Trailer): CompleteText | undefined {
    const text = this.#streams.get(id);
    this.#streams.delete(id);
    if (!text || reason !== '') return undefined;
    return { topic: text.topic, attributes: { ...text.attributes, ...attributes }, bytes: Buffer.concat(text.chunks) };
  }
}
