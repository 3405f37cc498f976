// Packets of a clip with their times: reads on demand, one packet ahead, so that the end of the clip is known in time.
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

  /** @throws Error if the file has no playable track */
  static async open(folder: string, clip: Clip): Promise<ClipPackets> {
    const demuxer = await demux(join(folder, clip.file));
    try {
      const { encoding } = demuxer;
      if (encoding === undefined) throw new Error('The file has no track with a supported codec');
      if ((encoding === 'opus') !== (clip.kind === 'audio')) throw new Error(`The file has ${encoding}, the report ${clip.kind}`);
      const packets = new ClipPackets(clip, demuxer, encoding);
      await packets.#advance();
      if (!packets.#next) throw new Error(packets.#problem ?? 'The file has no playable packets');
      return packets;
    } catch (error) {
      demuxer.close();
      throw error;
    }
  }

  /** True if all packets were taken. */
  get over(): boolean {
    return this.#next === undefined;
  }

  /** Reason of an early end. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** The next packet, if its time is before `before`. Not reentrant. */
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
      if (packet.time > maxLength) throw new Error('The file has a timestamp beyond the maximum length of a recording');
      this.#next = { data: packet.data, key: packet.key, time: start + packet.time * rate };
    } catch (error) {
      this.#problem = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Opens the file through its descriptor, so that it cannot be replaced after the check. */
async function demux(path: string): Promise<Demuxer> {
  // Without blocking: a named pipe would wait for a writer.
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    throw new Error(error.code === 'ENOENT' ? 'The file does not exist' : `Could not open the file (${error.code})`);
  });
  try {
    if (!(await file.stat()).isFile()) throw new Error('Not a regular file');
    return await Demuxer.open(`/dev/fd/${file.fd}`);
  } catch (error) {
    throw error instanceof AvError ? new Error('The file is damaged at its start, or not a recording') : error;
  } finally {
    await file.close();
  }
}
