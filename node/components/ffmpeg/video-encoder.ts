// Encodes pictures to H.264 with x264: without delay for streams, each comes out before the next goes in; with a look ahead for files.
import { Codec, CodecContext, Dictionary, Packet, Rational } from 'node-av';
import { AV_CODEC_FLAG_CLOSED_GOP, AV_CODEC_FLAG_GLOBAL_HEADER, AV_PIX_FMT_YUV420P, type FFEncoderCodec } from 'node-av/constants';
import { drainEncoder, type EncodedPacket } from './encoded-packet.ts';
import { DeferredFree, throwOnError } from './ffmpeg.ts';
import { colors, type VideoFrame } from './video-frame.ts';

export type VideoEncoderOptions = {
  width: number;
  height: number;
  framerate: number;
  /** Bits per second. */
  bitrate: number;
  /** Pictures between two key pictures at most. */
  keyInterval: number;
  /** For files: as good as this (x264's CRF), with as few bits as that takes and no more than the bitrate. Pictures come out late then. */
  quality?: number;
  /** Threads; as many as x264 likes where left out. */
  threads?: number;
};

/** The most that is sent in a short while, as part of the bitrate, and how long that while is (seconds). */
const peak = 1.2;
const bufferTime = 1;

const startCode = Buffer.from([0, 0, 1]);

export class VideoEncoder {
  readonly #context: CodecContext;
  readonly #packet = new Packet();
  readonly #deferredFree: DeferredFree;

  private constructor(context: CodecContext) {
    this.#context = context;
    this.#packet.alloc();
    this.#deferredFree = new DeferredFree(() => {
      context.freeContext();
      this.#packet.free();
    });
  }

  /** @throws AvError where this FFmpeg has no x264, or it does not take the options */
  static async open(options: VideoEncoderOptions): Promise<VideoEncoder> {
    const codec = Codec.findEncoderByName('libx264' as FFEncoderCodec);
    const context = new CodecContext();
    context.allocContext3(codec);
    const { width, height, framerate, bitrate, keyInterval, quality, threads } = options;
    const most = Math.round(bitrate * peak);
    Object.assign(context, {
      width,
      height,
      pixelFormat: AV_PIX_FMT_YUV420P,
      timeBase: new Rational(1, framerate),
      framerate: new Rational(framerate, 1),
      gopSize: keyInterval,
      maxBFrames: 0,
      bitRate: BigInt(quality === undefined ? bitrate : 0),
      rcMaxRate: BigInt(most),
      rcBufferSize: Math.round(most * bufferTime),
      colorRange: colors.range,
      colorSpace: colors.space,
      colorPrimaries: colors.primaries,
      colorTrc: colors.transfer,
    });
    if (threads !== undefined) context.threadCount = threads;
    context.setFlags(AV_CODEC_FLAG_GLOBAL_HEADER, AV_CODEC_FLAG_CLOSED_GOP);
    const encoder = new VideoEncoder(context);
    try {
      const purpose = quality === undefined ? { tune: 'zerolatency' } : { crf: String(quality) };
      const own = { preset: 'veryfast', profile: 'main', 'forced-idr': '1', 'x264-params': 'scenecut=0', ...purpose };
      // Never open2Sync with a dictionary: node-av frees that twice.
      throwOnError(await context.open2(codec, Dictionary.fromObject(own)), 'H.264 cannot be encoded');
      return encoder;
    } catch (error) {
      encoder.close();
      throw error;
    }
  }

  /** For this folder only. */
  get context(): CodecContext {
    return this.#context;
  }

  /** As RFC 6381 (section 3.3) writes it. */
  get codec(): string {
    const bytes = this.#context.extraData ?? Buffer.alloc(0);
    // x264 begins with the sequence parameter set: behind its type stand profile, constraints and level.
    const at = bytes.indexOf(startCode) + startCode.length;
    return `avc1.${bytes.subarray(at + 1, at + 4).toString('hex')}`;
  }

  /** `timestamp` counts pictures at the framerate; each is more than the one before. One call at a time. */
  encode(videoFrame: VideoFrame, { timestamp, key }: { timestamp: number; key: boolean }): Promise<EncodedPacket[]> {
    return this.#deferredFree.use(async () => {
      videoFrame.prepare(timestamp, key);
      throwOnError(await this.#context.sendFrame(videoFrame.frame), 'A picture cannot be encoded');
      return drainEncoder(this.#context, this.#packet);
    });
  }

  /** What is still inside, at the end. */
  flush(): Promise<EncodedPacket[]> {
    return this.#deferredFree.use(async () => {
      await this.#context.sendFrame(null);
      return drainEncoder(this.#context, this.#packet);
    });
  }

  /** Idempotent; also while it encodes. */
  close(): void {
    this.#deferredFree.close();
  }
}
