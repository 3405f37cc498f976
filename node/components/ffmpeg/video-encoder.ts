// H.264 encoder (x264): without delay for streams, with lookahead for files.
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
  /** Maximum of frames between two key frames. */
  keyInterval: number;
  /** For files: CRF of x264, limited by the bit rate. Frames are delayed then. */
  quality?: number;
  /** Number of threads; chosen by x264 if undefined. */
  threads?: number;
};

/** Maximum bit rate relative to the average, and the buffer over which it is measured (seconds). */
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

  /** @throws AvError if this FFmpeg has no x264, or rejects the options */
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
      // Not open2Sync, because node-av frees its dictionary twice.
      throwOnError(await context.open2(codec, Dictionary.fromObject(own)), 'Could not open the H.264 encoder');
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

  /** SPS and PPS with start codes; frames do not contain them. */
  get parameterSets(): Buffer {
    return this.#context.extraData ?? Buffer.alloc(0);
  }

  /** As in RFC 6381 (section 3.3). */
  get codec(): string {
    const bytes = this.parameterSets;
    // They start with the SPS: profile, constraints and level follow its NAL unit type.
    const at = bytes.indexOf(startCode) + startCode.length;
    return `avc1.${bytes.subarray(at + 1, at + 4).toString('hex')}`;
  }

  /** `timestamp` counts frames at the frame rate, strictly increasing. Not reentrant. */
  encode(videoFrame: VideoFrame, { timestamp, key }: { timestamp: number; key: boolean }): Promise<EncodedPacket[]> {
    return this.#deferredFree.use(async () => {
      videoFrame.prepare(timestamp, key);
      throwOnError(await this.#context.sendFrame(videoFrame.frame), 'Could not encode the frame');
      return drainEncoder(this.#context, this.#packet);
    });
  }

  /** The remaining packets at the end. */
  flush(): Promise<EncodedPacket[]> {
    return this.#deferredFree.use(async () => {
      await this.#context.sendFrame(null);
      return drainEncoder(this.#context, this.#packet);
    });
  }

  /** Idempotent; allowed during encode(). */
  close(): void {
    this.#deferredFree.close();
  }
}
