// Encoded packet: output of encoders and input of muxers.
import type { CodecContext, Packet } from 'node-av';
import { hasOutput } from './ffmpeg.ts';

/** `timestamp` in the time base of its encoder. */
export type EncodedPacket = { data: Buffer; timestamp: number; key: boolean };

/** Receives all available packets. */
export function drainEncoder(context: CodecContext, packet: Packet): EncodedPacket[] {
  const ready: EncodedPacket[] = [];
  while (hasOutput(context.receivePacketSync(packet), 'Could not receive an encoded packet')) {
    ready.push({ data: Buffer.from(packet.data ?? []), timestamp: Number(packet.pts), key: packet.isKeyframe });
    packet.unref();
  }
  return ready;
}
