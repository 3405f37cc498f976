// The packets of a clip at their times: read when they are asked for, one ahead, so that the end is known when it is reached.
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { type DemuxedEncoding, type DemuxedPacket, Demuxer } from '../ffmpeg/demuxer.ts';
import { AvError } from '../ffmpeg/ffmpeg.ts';
import { type Clip, maxLength } from './plan.ts';

/** `time`: milliseconds since the beginning of the recording. */
export type ClipPacket = Pick<DemuxedPacket, 'data' | 'key'> & { time: number };

export class ClipPackets {
  readonly #clip: Clip;
  readonly #demuxer: Demuxer;
  readonly encoding: DemuxedEncoding;
  readonly codecPrivate: Buffer | undefined;
  #next: ClipPacket | undefined;
  #problem: string | undefined;

  private constructor(clip: Clip, demuxer: Demuxer, encoding: DemuxedEncoding) {
    this.#clip = clip;
    this.#demuxer = demuxer;
    this.encoding = encoding;
    this.codecPrivate = demuxer.codecPrivate;
  }

  /** @throws Error with a sentence where there is nothing that can be played */
  static async open(folder: string, clip: Clip): Promise<ClipPackets> {
    const demuxer = await demux(join(folder, clip.file));
    try {
      const { encoding } = demuxer;
      if (encoding === undefined) throw new Error('It holds no track of a codec that can be played');
      if ((encoding === 'opus') !== (clip.kind === 'audio')) throw new Error(`It holds ${encoding}, but the report says ${clip.kind}`);
      const packets = new ClipPackets(clip, demuxer, encoding);
      await packets.#advance();
      if (!packets.#next) throw new Error(packets.#problem ?? 'It holds nothing that can be played');
      return packets;
    } catch (error) {
      demuxer.close();
      throw error;
    }
  }

  /** Whether all was taken. */
  get over(): boolean {
    return this.#next === undefined;
  }

  /** Why it ended before its end. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The next one, where its time is before this. One call at a time. */
  async take(before: number): Promise<ClipPacket | undefined> {
    const next = this.#next;
    if (!next || next.time >= before) return undefined;
    await this.#advance();
    return next;
  }

  /** Idempotent. */
  close(): void {
    this.#demuxer.close();
  }

  async #advance(): Promise<void> {
    const { start, rate } = this.#clip;
    this.#next = undefined;
    try {
      const packet = await this.#demuxer.read();
      if (!packet) return;
      if (packet.time > maxLength) throw new Error('It goes on at a time that no recording has');
      this.#next = { data: packet.data, key: packet.key, time: start + packet.time * rate };
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Whatever the file is meanwhile, it is the one that was looked at. */
async function demux(path: string): Promise<Demuxer> {
  // Nobody writes into a pipe: without waiting for that.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'It is not there' : `It cannot be opened (${error.code})`);
  });
  try {
    if (!(await file.stat()).isFile()) throw new Error('It is no file');
    return await Demuxer.open(`/dev/fd/${file.fd}`);
  } catch (error) {
    throw error instanceof AvError ? new Error('It is damaged from its beginning, or no recording') : error;
  } finally {
    await file.close();
  }
}
