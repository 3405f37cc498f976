// Video frame in memory: output of decoders, target of scalers and input of encoders.
import { avImageCopy2, Frame } from 'node-av';
import {
  AV_PICTURE_TYPE_I,
  AV_PICTURE_TYPE_NONE,
  AV_PIX_FMT_YUV420P,
  AVCOL_PRI_SMPTE170M,
  AVCOL_RANGE_MPEG,
  AVCOL_SPC_SMPTE170M,
  AVCOL_TRC_SMPTE170M,
  type AVPixelFormat,
} from 'node-av/constants';
import { throwOnError } from './ffmpeg.ts';

/** Rectangle of a frame in pixels; all values are even. */
export type Rectangle = { x: number; y: number; width: number; height: number };
/** Limited range (16 to 235). */
export type YuvColor = { y: number; u: number; v: number };
export const black: YuvColor = { y: 16, u: 128, v: 128 };

/** Default colors of cameras and browsers; composed frames declare them explicitly. */
export const colors = {
  range: AVCOL_RANGE_MPEG,
  space: AVCOL_SPC_SMPTE170M,
  primaries: AVCOL_PRI_SMPTE170M,
  transfer: AVCOL_TRC_SMPTE170M,
} as const;

/** Byte alignment of rows, for the SIMD code of FFmpeg. */
const alignment = 64;

export class VideoFrame {
  #frame: Frame;
  #closed = false;

  /** An empty frame, to be filled by a decoder. */
  constructor() {
    this.#frame = new Frame();
    this.#frame.alloc();
  }

  /** Frame in 4:2:0, filled with one color. Sizes in pixels, even. */
  static filled(width: number, height: number, yuvColor: YuvColor = black): VideoFrame {
    const videoFrame = new VideoFrame();
    const frame = videoFrame.#frame;
    frame.format = AV_PIX_FMT_YUV420P;
    frame.width = width;
    frame.height = height;
    frame.colorRange = colors.range;
    frame.colorSpace = colors.space;
    frame.colorPrimaries = colors.primaries;
    frame.colorTrc = colors.transfer;
    throwOnError(frame.getBuffer(alignment), 'Could not allocate a frame');
    videoFrame.fill({ x: 0, y: 0, width, height }, yuvColor);
    return videoFrame;
  }

  /** For this folder only. */
  get frame(): Frame {
    return this.#frame;
  }

  get width(): number {
    return this.#frame.width;
  }

  get height(): number {
    return this.#frame.height;
  }

  get format(): AVPixelFormat {
    return this.#frame.format as AVPixelFormat;
  }

  /** Timestamp that was passed to the decoder with this frame. */
  get timestamp(): number {
    return Number(this.#frame.pts);
  }

  /** Swaps the content with another frame. */
  swap(other: VideoFrame): void {
    const frame = this.#frame;
    this.#frame = other.#frame;
    other.#frame = frame;
  }

  /** For this folder only: references the content of the frame. */
  adopt(frame: Frame): void {
    this.#frame.unref();
    throwOnError(this.#frame.ref(frame), 'Could not reference the frame');
  }

  /** Call before changing its bytes, because an encoder may still read them. */
  makeWritable(): void {
    throwOnError(this.#frame.makeWritable(), 'Could not write to the frame');
  }

  fill({ x, y, width, height }: Rectangle, yuvColor: YuvColor): void {
    const { data, linesize } = this.#frame;
    for (const [plane, value] of [yuvColor.y, yuvColor.u, yuvColor.v].entries()) {
      const bytes = data?.[plane];
      const stride = linesize[plane];
      if (!bytes || stride === undefined) continue;
      const shift = plane === 0 ? 0 : 1;
      for (let row = y >> shift; row < (y + height) >> shift; row += 1) {
        bytes.fill(value, row * stride + (x >> shift), row * stride + ((x + width) >> shift));
      }
    }
  }

  /** Copies a rectangle of another 4:2:0 frame into this one; both must be inside. */
  draw(source: VideoFrame, from: Rectangle, to: { x: number; y: number }): void {
    const [target, origin] = [this.#cut(to), source.#cut(from)];
    avImageCopy2(target.planes, target.strides, origin.planes, origin.strides, AV_PIX_FMT_YUV420P, from.width, from.height);
  }

  /** Luma of the pixels of a row. */
  luma(row: number): Buffer {
    const { data, linesize, width } = this.#frame;
    const start = row * (linesize[0] ?? 0);
    return data?.[0]?.subarray(start, start + width) ?? Buffer.alloc(0);
  }

  /** `timestamp` in the time base of the encoder; `key`: forces a key frame. */
  prepare(timestamp: number, key: boolean): void {
    this.#frame.pts = BigInt(timestamp);
    this.#frame.pictType = key ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE;
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#frame.free();
  }

  #cut({ x, y }: { x: number; y: number }): { planes: Buffer[]; strides: number[] } {
    const { data, linesize } = this.#frame;
    const strides = linesize.slice(0, 3);
    const starts = strides.map((stride, plane) => (plane === 0 ? y * stride + x : (y >> 1) * stride + (x >> 1)));
    return { planes: (data ?? []).slice(0, 3).map((bytes, plane) => bytes.subarray(starts[plane])), strides };
  }
}
