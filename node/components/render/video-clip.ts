// The pictures of a clip: decoded when their time has come, each shown until the next.
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { VideoDecoder } from '../ffmpeg/video-decoder.ts';
import { VideoFrame } from '../ffmpeg/video-frame.ts';
import { parameterSets, toAnnexB } from '../rtp/h264.ts';
import { type ClipPacket, ClipPackets } from './clip-packets.ts';
import type { Clip } from './plan.ts';

/** Milliseconds that a picture is shown without another: who is silent for longer has paused. */
const staleAfter = 3000;
/** Milliseconds of the last picture: as long as the one before, within these. */
const minLastFrameMs = 10;
const maxLastFrameMs = 1000;

export class VideoClip {
  readonly kind = 'video';
  readonly clip: Clip;
  readonly #packets: ClipPackets;
  readonly #decoder: VideoDecoder;
  readonly #shown = new VideoFrame();
  /** Of the newest picture and the one before. */
  #times: { last: number; before: number } | undefined;
  #isShown = false;
  /** Nothing can be decoded before the next key picture. */
  #broken = true;
  #decoded = 0;
  #failed = 0;

  private constructor(clip: Clip, packets: ClipPackets, decoder: VideoDecoder) {
    this.clip = clip;
    this.#packets = packets;
    this.#decoder = decoder;
  }

  /** @throws Error with a sentence where there is nothing to be shown */
  static async open(folder: string, clip: Clip): Promise<VideoClip> {
    const packets = await ClipPackets.open(folder, clip);
    try {
      if (packets.encoding === 'opus') throw new Error('It holds sound');
      return new VideoClip(clip, packets, new VideoDecoder(packets.encoding));
    } catch (error) {
      packets.close();
      throw error;
    }
  }

  /** Undefined where none came, or none for too long. */
  get picture(): VideoFrame | undefined {
    return this.#isShown ? this.#shown : undefined;
  }

  /** Pictures that were decoded, and sentences about the rest; whole when it has ended. */
  get outcome(): { played: number; problems: string[] } {
    const { problem } = this.#packets;
    const lost = this.#failed === 0 ? [] : [`${this.#failed} of its pictures cannot be decoded`];
    return { played: this.#decoded, problems: [...lost, ...(problem === undefined ? [] : [problem])] };
  }

  hasEnded(time: number): boolean {
    if (!this.#packets.over) return false;
    const { last, before } = this.#times ?? { last: this.clip.start, before: this.clip.start };
    return time >= last + Math.min(maxLastFrameMs, Math.max(minLastFrameMs, last - before));
  }

  /** Decodes what is to be seen at `time`. One call at a time. @returns whether what is seen is another than before */
  async showAt(time: number): Promise<boolean> {
    let changed = false;
    for (let next = await this.#take(time); next; next = await this.#take(time)) changed = (await this.#decode(next)) || changed;
    const fresh = this.#decoded > 0 && time - (this.#times?.last ?? 0) <= staleAfter;
    changed ||= fresh !== this.#isShown;
    this.#isShown = fresh;
    return changed;
  }

  /** Not while it is drawn. Idempotent. */
  close(): void {
    this.#packets.close();
    this.#decoder.close();
    this.#shown.close();
  }

  /** H.264 as decoders take it. Parameter sets need not be among the pictures. */
  #complete(data: Buffer): Buffer {
    const { encoding, codecPrivate } = this.#packets;
    if (encoding !== 'h264') return data;
    const picture = toAnnexB(data);
    return this.#decoded === 0 && codecPrivate ? Buffer.concat([parameterSets(codecPrivate), picture]) : picture;
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
