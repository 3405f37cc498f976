// Video clip: decodes frames when they are due; each is shown until the next.
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { VideoDecoder } from '../ffmpeg/video-decoder.ts';
import { VideoFrame } from '../ffmpeg/video-frame.ts';
import { parameterSets, toAnnexB } from '../rtp/h264.ts';
import { type ClipPacket, ClipPackets } from './clip-packets.ts';
import type { Clip } from './plan.ts';

/** Milliseconds for which a frame is shown without a next one: after that the source has paused. */
const staleAfter = 3000;
/** Bounds in milliseconds of the last frame, which lasts as long as the one before. */
const minLastFrameMs = 10;
const maxLastFrameMs = 1000;

export class VideoClip {
  readonly kind = 'video';
  readonly clip: Clip;
  readonly #packets: ClipPackets;
  readonly #decoder: VideoDecoder;
  readonly #shown = new VideoFrame();
  /** Times of the newest frame and the one before. */
  #times: { last: number; before: number } | undefined;
  #isShown = false;
  /** No frame can be decoded before the next key frame. */
  #broken = true;
  #decoded = 0;
  #failed = 0;

  private constructor(clip: Clip, packets: ClipPackets, decoder: VideoDecoder) {
    this.clip = clip;
    this.#packets = packets;
    this.#decoder = decoder;
  }

  /** @throws Error if the file has no video */
  static async open(folder: string, clip: Clip): Promise<VideoClip> {
    const packets = await ClipPackets.open(folder, clip);
    try {
      if (packets.encoding === 'opus') throw new Error('The file contains audio');
      return new VideoClip(clip, packets, new VideoDecoder(packets.encoding));
    } catch (error) {
      packets.close();
      throw error;
    }
  }

  /** Undefined if no frame was decoded, or none recently. */
  get frame(): VideoFrame | undefined {
    return this.#isShown ? this.#shown : undefined;
  }

  /** Number of decoded frames, and messages about the rest; final after the end. */
  get outcome(): { played: number; problems: string[] } {
    const { problem } = this.#packets;
    const lost = this.#failed === 0 ? [] : [`${this.#failed} of its frames could not be decoded`];
    return { played: this.#decoded, problems: [...lost, ...(problem === undefined ? [] : [problem])] };
  }

  hasEnded(time: number): boolean {
    if (!this.#packets.over) return false;
    const { last, before } = this.#times ?? { last: this.clip.start, before: this.clip.start };
    return time >= last + Math.min(maxLastFrameMs, Math.max(minLastFrameMs, last - before));
  }

  /** Decodes frames that are due at `time`. Not reentrant. @returns true if the shown frame changed */
  async showAt(time: number): Promise<boolean> {
    let changed = false;
    for (let next = await this.#take(time); next; next = await this.#take(time)) changed = (await this.#decode(next)) || changed;
    const fresh = this.#decoded > 0 && time - (this.#times?.last ?? 0) <= staleAfter;
    changed ||= fresh !== this.#isShown;
    this.#isShown = fresh;
    return changed;
  }

  /** Not while its frame is drawn. Idempotent. */
  close(): void {
    this.#packets.close();
    this.#decoder.close();
    this.#shown.close();
  }

  /** Adds parameter sets to H.264 frames without them, as decoders require. */
  #complete(data: Buffer): Buffer {
    const { encoding, codecPrivate } = this.#packets;
    if (encoding !== 'h264') return data;
    const frame = toAnnexB(data);
    return this.#decoded === 0 && codecPrivate ? Buffer.concat([parameterSets(codecPrivate), frame]) : frame;
  }

  #take(time: number): Promise<ClipPacket | undefined> {
    return this.#packets.take(time + 0.5);
  }

  async #decode({ data, key, time }: ClipPacket): Promise<boolean> {
    this.#times = { last: time, before: this.#times?.last ?? time };
    if (this.#broken && !key) {
      this.#failed += 1;
      return false;
    }
    this.#broken = false;
    try {
      const some = await this.#decoder.decode(this.#complete(data), Math.round(time), this.#shown);
      if (some) this.#decoded += 1;
      return some;
    } catch (error) {
      if (!(error instanceof AvError)) throw error;
      this.#failed += 1;
      this.#broken = true;
      return false;
    }
  }
}
