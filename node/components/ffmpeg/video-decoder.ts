// Decodes video in the threads of the process, not in its main one.
import { Codec, CodecContext, Packet, Rational } from 'node-av';
import { AV_CODEC_FLAG_LOW_DELAY, AV_OPT_TYPE_INT64, type FFDecoderCodec } from 'node-av/constants';
import { AvError, DeferredFree, hasOutput, throwOnError } from './ffmpeg.ts';
import { VideoFrame } from './video-frame.ts';

export type DecodedVideo = 'vp8' | 'vp9' | 'h264' | 'av1';

const names = { vp8: 'vp8', vp9: 'vp9', h264: 'h264', av1: 'libdav1d' } as const satisfies Record<DecodedVideo, string>;

/** A few bytes can say that a picture is huge; nobody sends larger ones than 4K. */
const maxPixels = 4096 * 2304;
/** Pixels by which a decoder may round sides up. */
const alignment = 64;

export class VideoDecoder {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #spare = new VideoFrame();
  readonly #deferredFree: DeferredFree;

  /** @throws AvError where this FFmpeg cannot decode it */
  constructor(encoding: DecodedVideo) {
    this.#deferredFree = new DeferredFree(() => {
      this.#context.freeContext();
      this.#packet.free();
      this.#spare.close();
    });
    const codec = Codec.findDecoderByName(names[encoding] as FFDecoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    // One thread: pictures come out at once, and rooms have many tracks.
    this.#context.threadCount = 1;
    this.#context.pktTimebase = new Rational(1, 90_000);
    this.#context.setFlags(AV_CODEC_FLAG_LOW_DELAY);
    try {
      this.#bound(maxPixels);
      // Without a dictionary: node-av frees that of open2Sync twice.
      throwOnError(this.#context.open2Sync(codec), `${encoding} cannot be decoded`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Decodes one picture (H.264 with start codes, AV1 with sizes); the newest that comes of it goes into `into`. One call at a time.
   * @returns whether there is one. @throws AvError for what cannot be decoded
   */
  decode(data: Buffer, timestamp: number, into: VideoFrame): Promise<boolean> {
    return this.#deferredFree.use(async () => {
      const packet = this.#packet;
      packet.unref();
      packet.data = data;
      packet.pts = BigInt(timestamp);
      packet.dts = packet.pts;
      let code = await this.#context.sendPacket(packet);
      // A picture that was not fetched is in the way, e.g. behind an error.
      const some = this.#fetch(into);
      if (code < 0 && some) code = await this.#context.sendPacket(packet);
      throwOnError(code, 'A picture cannot be decoded');
      return this.#fetch(into) || some;
    });
  }

  /** Pictures are no larger than this from here; libdav1d keeps to what it began with, and a sequence of AV1 to its header. */
  limit({ width, height }: { width: number; height: number }): void {
    this.#bound(Math.min(maxPixels, (width + alignment) * (height + alignment)));
  }

  /** The pictures that are still inside, at the end. */
  async flush(each: (videoFrame: VideoFrame) => Promise<void>): Promise<void> {
    await this.#deferredFree.use(async () => {
      await this.#context.sendPacket(null);
      while (hasOutput(this.#context.receiveFrameSync(this.#spare.frame), 'A picture cannot be decoded')) await each(this.#spare);
    });
  }

  /** Idempotent; also while it decodes. */
  close(): void {
    this.#deferredFree.close();
  }

  #bound(pixels: number): void {
    throwOnError(this.#context.setOption('max_pixels', BigInt(pixels), AV_OPT_TYPE_INT64), 'Pictures cannot be bounded');
  }

  #fetch(into: VideoFrame): boolean {
    let some = false;
    for (;;) {
      const code = this.#context.receiveFrameSync(this.#spare.frame);
      try {
        if (!hasOutput(code, 'A picture cannot be decoded')) return some;
      } catch (error) {
        if (some && error instanceof AvError) return true;
        throw error;
      }
      some = true;
      into.swap(this.#spare);
    }
  }
}
