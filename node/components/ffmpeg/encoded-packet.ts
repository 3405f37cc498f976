// What encoders give and files take.
import type { CodecContext, Packet } from 'node-av';
import { hasOutput } from './ffmpeg.ts';

/** `timestamp` in the time base of its encoder. */
export type EncodedPacket = { data: Buffer; timestamp: number; key: boolean };

/** Fetches what is ready. */
export function drainEncoder(context: CodecContext, packet: Packet): EncodedPacket[] {
  const ready: EncodedPacket[] = [];
  while (hasOutput(context.receivePacketSync(packet), 'Nothing can be encoded')) {
    ready.push({ data: Buffer.from(packet.data ?? []), timestamp: Number(packet.pts), key: packet.isKeyframe });
    packet.unref();
  }
  return ready;
}
