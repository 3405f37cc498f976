// Reads what is in a file of Matroska or WebM with one track, packet by packet: also where its end is cut off or a part of it is broken.
import { Dictionary, FormatContext, InputFormat, Packet } from 'node-av';
import {
  AV_CODEC_ID_AV1,
  AV_CODEC_ID_H264,
  AV_CODEC_ID_OPUS,
  AV_CODEC_ID_VP8,
  AV_CODEC_ID_VP9,
  AV_NOPTS_VALUE,
  type AVCodecID,
} from 'node-av/constants';
import { DeferredFree, hasOutput, throwOnError } from './ffmpeg.ts';

export type DemuxedEncoding = 'opus' | 'vp8' | 'vp9' | 'h264' | 'av1';
/** `time`: milliseconds since the beginning of the file. */
export type DemuxedPacket = { data: Buffer; time: number; key: boolean };

const encodings = new Map<AVCodecID, DemuxedEncoding>([
  [AV_CODEC_ID_OPUS, 'opus'],
  [AV_CODEC_ID_VP8, 'vp8'],
  [AV_CODEC_ID_VP9, 'vp9'],
  [AV_CODEC_ID_H264, 'h264'],
  [AV_CODEC_ID_AV1, 'av1'],
]);
/** It opens nothing but the file that it was given, whatever that says. */
const safe = { format_whitelist: 'matroska,webm', protocol_whitelist: 'file' };

export class Demuxer {
  readonly #format = new FormatContext();
  readonly #packet = new Packet();
  readonly #deferredFree: DeferredFree;
  #encoding: DemuxedEncoding | undefined;
  #millisecondsPerTick = 1;

  private constructor() {
    this.#format.allocContext();
    this.#packet.alloc();
    this.#deferredFree = new DeferredFree(() => {
      this.#format.closeInputSync();
      this.#packet.free();
    });
  }

  /** `path` is absolute. @throws AvError for what is no such file */
  static async open(path: string): Promise<Demuxer> {
    const demuxer = new Demuxer();
    try {
      await demuxer.#deferredFree.use(async () => {
        const format = InputFormat.findInputFormat('matroska');
        throwOnError(await demuxer.#format.openInput(path, format, Dictionary.fromObject(safe)), 'The file cannot be read');
      });
      const [stream] = demuxer.#format.streams;
      if (stream) {
        const { num, den } = stream.timeBase;
        demuxer.#encoding = encodings.get(stream.codecpar.codecId);
        demuxer.#millisecondsPerTick = (num * 1000) / den;
      }
      return demuxer;
    } catch (error) {
      demuxer.close();
      throw error;
    }
  }

  /** Undefined where it is of another kind, or there is no track. */
  get encoding(): DemuxedEncoding | undefined {
    return this.#encoding;
  }

  /** What decoders need to know before the first packet; for H.264 an AVCDecoderConfigurationRecord. */
  get codecPrivate(): Buffer | undefined {
    const data = this.#format.streams[0]?.codecpar.extradata;
    return data ? Buffer.from(data) : undefined;
  }

  /** Undefined at its end. One call at a time. @throws AvError where it cannot be read any further */
  read(): Promise<DemuxedPacket | undefined> {
    return this.#deferredFree.use(async () => {
      const packet = this.#packet;
      for (;;) {
        packet.unref();
        if (!hasOutput(await this.#format.readFrame(packet), 'The file cannot be read')) return undefined;
        if (packet.streamIndex !== 0 || packet.pts === AV_NOPTS_VALUE || !packet.data) continue;
        return { data: Buffer.from(packet.data), time: Number(packet.pts) * this.#millisecondsPerTick, key: packet.isKeyframe };
      }
    });
  }

  /** Idempotent; also while it reads. */
  close(): void {
    this.#deferredFree.close();
  }
}
