// What encoders give and files take.
import type { CodecContext, Packet } from 'node-av';
import { came } from './ffmpeg.ts';

/** `timestamp` in the time base of its encoder. */
export type Encoded = { data: Buffer; timestamp: number; key: boolean };

/** Fetches what is ready. */
export function fetchEncoded(context: CodecContext, packet: Packet): Encoded[] {
  const ready: Encoded[] = [];
  while (came(context.receivePacketSync(packet), 'Nothing can be encoded')) {
    ready.push({ data: Buffer.from(packet.data ?? []), timestamp: Number(packet.pts), key: packet.isKeyframe });
    packet.unref();
  }
  return ready;
}
