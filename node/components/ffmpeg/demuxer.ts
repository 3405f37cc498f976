// Demuxer: reads packets of a Matroska or WebM file with one track, which may be truncated or damaged.
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
/** `time`: milliseconds since the start of the file. */
export type DemuxedPacket = { data: Buffer; time: number; key: boolean };

const encodings = new Map<AVCodecID, DemuxedEncoding>([
  [AV_CODEC_ID_OPUS, 'opus'],
  [AV_CODEC_ID_VP8, 'vp8'],
  [AV_CODEC_ID_VP9, 'vp9'],
  [AV_CODEC_ID_H264, 'h264'],
  [AV_CODEC_ID_AV1, 'av1'],
]);
/** FFmpeg must open this file only, regardless of its content. */
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

  /** `path` is absolute. @throws AvError if the file is invalid */
  static async open(path: string): Promise<Demuxer> {
    const demuxer = new Demuxer();
    try {
      await demuxer.#deferredFree.use(async () => {
        const format = InputFormat.findInputFormat('matroska');
        throwOnError(await demuxer.#format.openInput(path, format, Dictionary.fromObject(safe)), 'Could not open the file');
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

  /** Undefined if the codec is not supported, or there is no track. */
  get encoding(): DemuxedEncoding | undefined {
    return this.#encoding;
  }

  /** Decoder configuration; an AVCDecoderConfigurationRecord for H.264. */
  get codecPrivate(): Buffer | undefined {
    const data = this.#format.streams[0]?.codecpar.extradata;
    return data ? Buffer.from(data) : undefined;
  }

  /** Undefined at the end of the file. Not reentrant. @throws AvError if reading fails */
  read(): Promise<DemuxedPacket | undefined> {
    return this.#deferredFree.use(async () => {
      const packet = this.#packet;
      for (;;) {
        packet.unref();
        if (!hasOutput(await this.#format.readFrame(packet), 'Could not read the file')) return undefined;
        if (packet.streamIndex !== 0 || packet.pts === AV_NOPTS_VALUE || !packet.data) continue;
        return { data: Buffer.from(packet.data), time: Number(packet.pts) * this.#millisecondsPerTick, key: packet.isKeyframe };
      }
    });
  }

  /** Idempotent; allowed during read(). */
  close(): void {
    this.#deferredFree.close();
  }
}
