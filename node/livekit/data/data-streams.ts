// Data streams of a LiveKit client, which sends a text or a file in parts: collects each, as a message for peers with other clients.
import type { DataPacket, DataStream_Header, DataStream_Trailer } from '@livekit/protocol';
import type { Metadata } from '../../../api/json.ts';

/** Streams that a client has begun and not ended; beyond it, the oldest is not delivered. */
const maxStreams = 16;

/** `file`: undefined for a text. */
type Stream = {
  topic: string;
  attributes: Readonly<Record<string, string>>;
  file: { name: string; mimeType: string } | undefined;
  chunks: Uint8Array[];
  bytes: number;
};
export type CompleteStream = Pick<Stream, 'topic' | 'attributes' | 'file'> & { bytes: Uint8Array };

export class DataStreams {
  readonly #maxBytes: number;
  /** By id of the stream. */
  readonly #streams = new Map<string, Stream>();

  /** `maxBytes`: of a text or a file; longer ones are not delivered. */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** @returns the stream that ends with this packet */
  received({ value: { case: name, value } }: Pick<DataPacket, 'value'>): CompleteStream | undefined {
    if (name === 'streamHeader') this.#begin(value);
    else if (name === 'streamChunk') this.#add(value.streamId, value.content);
    else if (name === 'streamTrailer') return this.#end(value);
    return undefined;
  }

  #begin({ streamId: id, topic, attributes, mimeType, contentHeader: { case: kind, value } }: DataStream_Header): void {
    if (kind === undefined) return;
    const file = kind === 'byteHeader' ? { name: value.name, mimeType } : undefined;
    this.#streams.set(id, { topic, attributes, file, chunks: [], bytes: 0 });
    const [oldest] = this.#streams.keys();
    if (this.#streams.size > maxStreams && oldest !== undefined) this.#streams.delete(oldest);
  }

  #add(id: string, content: Uint8Array): void {
    const stream = this.#streams.get(id);
    if (!stream) return;
    stream.chunks.push(content);
    stream.bytes += content.length;
    if (stream.bytes > this.#maxBytes) this.#streams.delete(id);
  }

  /** `reason`: why the sender cancelled it. */
  #end({ streamId: id, reason, attributes }: DataStream_Trailer): CompleteStream | undefined {
    const stream = this.#streams.get(id);
    this.#streams.delete(id);
    if (!stream || reason !== '') return undefined;
    const { topic, file, chunks } = stream;
    return { topic, file, attributes: { ...stream.attributes, ...attributes }, bytes: Buffer.concat(chunks) };
  }
}

/** A text as it is, a file as `{name, mimeType, base64}`. */
export function streamPayload({ file, bytes }: CompleteStream): Metadata {
  return file ? { ...file, base64: Buffer.from(bytes).toString('base64') } : new TextDecoder().decode(bytes);
}
