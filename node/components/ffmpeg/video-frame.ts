// A picture in memory: what decoders give, scalers draw and encoders take.
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

/** A part of a picture, in pixels; all four are even. */
export type Rectangle = { x: number; y: number; width: number; height: number };
/** Limited range, as video has it. */
export type YuvColor = { y: number; u: number; v: number };
export const black: YuvColor = { y: 16, u: 128, v: 128 };

/** What cameras and browsers send, unless they say otherwise; what we make says that it is. */
export const colors = {
  range: AVCOL_RANGE_MPEG,
  space: AVCOL_SPC_SMPTE170M,
  primaries: AVCOL_PRI_SMPTE170M,
  transfer: AVCOL_TRC_SMPTE170M,
} as const;

/** Bytes that rows begin at a multiple of, as the fast code of FFmpeg likes it. */
const alignment = 64;

export class VideoFrame {
  #frame: Frame;
  #closed = false;

  /** Empty: to be filled by a decoder. */
  constructor() {
    this.#frame = new Frame();
    this.#frame.alloc();
  }

  /** Of 4:2:0, filled with one colour. Sizes in pixels, even. */
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
    throwOnError(frame.getBuffer(alignment), 'A picture cannot be made');
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

  /** As it was given to the decoder with what became this picture. */
  get timestamp(): number {
    return Number(this.#frame.pts);
  }

  /** Takes the content of the other, which gets this one's. */
  swap(other: VideoFrame): void {
    const frame = this.#frame;
    this.#frame = other.#frame;
    other.#frame = frame;
  }

  /** For this folder only: takes the content of the frame. */
  adopt(frame: Frame): void {
    this.#frame.unref();
    throwOnError(this.#frame.ref(frame), 'A picture cannot be held');
  }

  /** Before its bytes are changed: an encoder may still read them. */
  makeWritable(): void {
    throwOnError(this.#frame.makeWritable(), 'A picture cannot be written');
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

  /** Copies a part of another picture of 4:2:0 to a place in this one; both lie inside. */
  draw(source: VideoFrame, from: Rectangle, to: { x: number; y: number }): void {
    const [target, origin] = [this.#cut(to), source.#cut(from)];
    avImageCopy2(target.planes, target.strides, origin.planes, origin.strides, AV_PIX_FMT_YUV420P, from.width, from.height);
  }

  /** How bright each pixel of a row is. */
  luma(row: number): Buffer {
    const { data, linesize, width } = this.#frame;
    const start = row * (linesize[0] ?? 0);
    return data?.[0]?.subarray(start, start + width) ?? Buffer.alloc(0);
  }

  /** `timestamp` in the time base of the encoder that takes it; `key`: it becomes a key picture. */
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
