// RTP sender of call audio to the room: Opus, with a sender report each second.
import { randomInt } from 'node:crypto';
import { VoiceEncoder } from '../../ffmpeg/voice-encoder.ts';
import { rtpPacket, senderReport } from '../../rtp/rtp-writer.ts';
import { roomAudioCodec } from '../room-audio-codec.ts';
import { frameDuration, frameSamples } from './audio-format.ts';

const blocksPerReport = 1000 / frameDuration;

export type RoomSenderOptions = {
  ssrc: number;
  /** Audio bandwidth in hertz. */
  bandwidth: number;
  /** Previous sender, whose packet stream is continued. */
  after: RoomRtpSender | undefined;
  send: (packet: Buffer) => void;
};

export class RoomRtpSender {
  readonly #options: RoomSenderOptions;
  readonly #encoder: VoiceEncoder;
  readonly #line: { firstTimestamp: number; sequence: number; packets: number; octets: number };

  /** @throws AvError */
  constructor(options: RoomSenderOptions) {
    this.#options = options;
    this.#line = options.after
      ? options.after.#line
      : { firstTimestamp: randomInt(2 ** 32), sequence: randomInt(2 ** 16), packets: 0, octets: 0 };
    this.#encoder = new VoiceEncoder({ encoding: 'opus-near', bandwidth: options.bandwidth });
  }

  get bandwidth(): number {
    return this.#options.bandwidth;
  }

  /** Sends block `number`, recorded at `time` (milliseconds since 1970). */
  next(number: number, block: Float32Array, time: number): void {
    const { ssrc, send } = this.#options;
    const line = this.#line;
    const timestamp = (line.firstTimestamp + number * frameSamples) % 2 ** 32;
    const payload = this.#encoder.encode(block);
    if (payload.length === 0) return;
    const { payloadType } = roomAudioCodec;
    send(rtpPacket({ payloadType, sequence: line.sequence, timestamp, ssrc, marker: line.packets === 0 }, payload));
    line.sequence = (line.sequence + 1) % 2 ** 16;
    line.packets += 1;
    line.octets += payload.length;
    const { packets, octets } = line;
    if (packets % blocksPerReport === 1) send(senderReport({ ssrc, time, timestamp, packets, octets }));
  }

  /** Idempotent. */
  close(): void {
    this.#encoder.close();
  }
}
