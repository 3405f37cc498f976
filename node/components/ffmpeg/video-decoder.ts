// Video decoder: decodes in threads of the process, outside of the event loop.
import { Codec, CodecContext, Packet, Rational } from 'node-av';
import { AV_CODEC_FLAG_LOW_DELAY, AV_OPT_TYPE_INT64, type FFDecoderCodec } from 'node-av/constants';
import { AvError, DeferredFree, hasOutput, throwOnError } from './ffmpeg.ts';
import { VideoFrame } from './video-frame.ts';

export type DecodedVideo = 'vp8' | 'vp9' | 'h264' | 'av1';

const names = { vp8: 'vp8', vp9: 'vp9', h264: 'h264', av1: 'libdav1d' } as const satisfies Record<DecodedVideo, string>;

/** Maximum of 4K: a few bytes can declare huge frames, which clients never send. */
const maxPixels = 4096 * 2304;
/** Pixels to which a decoder may round up dimensions. */
const alignment = 64;

export class VideoDecoder {
  readonly #context = new CodecContext();
  readonly #packet = new Packet();
  readonly #spare = new VideoFrame();
  readonly #deferredFree: DeferredFree;

  /** @throws AvError if this FFmpeg cannot decode it */
  constructor(encoding: DecodedVideo) {
    this.#deferredFree = new DeferredFree(() => {
      this.#context.freeContext();
      this.#packet.free();
      this.#spare.close();
    });
    const codec = Codec.findDecoderByName(names[encoding] as FFDecoderCodec);
    this.#context.allocContext3(codec);
    this.#packet.alloc();
    // One thread, because it has the least latency, and rooms have many tracks.
    this.#context.threadCount = 1;
    this.#context.pktTimebase = new Rational(1, 90_000);
    this.#context.setFlags(AV_CODEC_FLAG_LOW_DELAY);
    try {
      this.#bound(maxPixels);
      // Without a dictionary, because node-av frees that of open2Sync twice.
      throwOnError(this.#context.open2Sync(codec), `Could not open the decoder for ${encoding}`);
    } catch (error) {
      this.close();
      throw error;
    }
  }

  /**
   * Decodes one frame (H.264 with start codes, AV1 with sizes) and stores the newest output in `into`. Not reentrant. @returns true if
   * there is output. @throws AvError for invalid data
   */
  decode(data: Buffer, timestamp: number, into: VideoFrame): Promise<boolean> {
    return this.#deferredFree.use(async () => {
      const packet = this.#packet;
      packet.unref();
      packet.data = data;
      packet.pts = BigInt(timestamp);
      packet.dts = packet.pts;
      let code = await this.#context.sendPacket(packet);
      // A pending output frame would block the input, for example after an error.
      const some = this.#fetch(into);
      if (code < 0 && some) code = await this.#context.sendPacket(packet);
      throwOnError(code, 'Could not decode the frame');
      return this.#fetch(into) || some;
    });
  }

  /** Maximum size of the following frames; libdav1d keeps its initial limit, and an AV1 sequence that of its header. */
  limit({ width, height }: { width: number; height: number }): void {
    this.#bound(Math.min(maxPixels, (width + alignment) * (height + alignment)));
  }

  /** Outputs the remaining frames at the end. */
  async flush(each: (videoFrame: VideoFrame) => Promise<void>): Promise<void> {
    await this.#deferredFree.use(async () => {
      await this.#context.sendPacket(null);
      while (hasOutput(this.#context.receiveFrameSync(this.#spare.frame), 'Could not decode the frame')) await each(this.#spare);
    });
  }

  /** Idempotent; allowed during decode(). */
  close(): void {
    this.#deferredFree.close();
  }

  #bound(pixels: number): void {
    throwOnError(this.#context.setOption('max_pixels', BigInt(pixels), AV_OPT_TYPE_INT64), 'Could not limit the frame size');
  }

  #fetch(into: VideoFrame): boolean {
    let some = false;
    for (;;) {
      const code = this.#context.receiveFrameSync(this.#spare.frame);
      try {
        if (!hasOutput(code, 'Could not decode the frame')) return some;
      } catch (error) {
        if (some && error instanceof AvError) return true;
        throw error;
      }
      some = true;
      into.swap(this.#spare);
    }
  }
}
