// MP4 muxers: complete files, or fragments that are cut on demand.
import { Dictionary, FormatContext, IOContext, Packet, Rational } from 'node-av';
import { AVFMT_FLAG_CUSTOM_IO } from 'node-av/constants';
import type { AudioEncoder } from './audio-encoder.ts';
import type { EncodedPacket } from './encoded-packet.ts';
import { DeferredFree, throwOnError } from './ffmpeg.ts';
import type { VideoEncoder } from './video-encoder.ts';

export type Encoders = { video: VideoEncoder; audio: AudioEncoder };
/** `timestamp` and `duration` in ticks of `mp4Rates`. */
export type Mp4Sample = Pick<EncodedPacket, 'data' | 'key'> & { track: 'video' | 'audio'; timestamp: number; duration: number };

/** Ticks per second of the tracks. */
export const mp4Rates = { video: 90_000, audio: 48_000 } as const;
/** Indexes of the streams in the file. */
const places = { video: 0, audio: 1 } as const;
const ioBuffer = 64 * 1024;

function addStreams(format: FormatContext, encoders: Encoders): void {
  for (const track of ['video', 'audio'] as const) {
    const stream = format.newStream();
    throwOnError(stream.codecpar.fromContext(encoders[track].context), 'Could not add a track to the MP4 file');
    stream.codecpar.codecTag = 0;
    stream.timeBase = new Rational(1, mp4Rates[track]);
  }
}

/** Writes samples to the file of `format`. */
class Writer {
  readonly #format: FormatContext;
  readonly #packet = new Packet();

  constructor(format: FormatContext) {
    this.#format = format;
    this.#packet.alloc();
  }

  async write({ track, data, key, timestamp, duration }: Mp4Sample): Promise<void> {
    const packet = this.#packet;
    packet.unref();
    packet.data = data;
    packet.streamIndex = places[track];
    packet.pts = BigInt(timestamp);
    packet.dts = packet.pts;
    packet.duration = BigInt(duration);
    packet.isKeyframe = key;
    throwOnError(await this.#format.writeFrame(packet), 'Could not write the MP4 file');
  }

  close(): void {
    this.#packet.free();
  }
}

/** fMP4 in memory: an init segment, and fragments of one moof and one mdat each. */
export class FragmentMuxer {
  readonly #format = new FormatContext();
  readonly #io = new IOContext();
  readonly #writer: Writer;
  readonly #deferredFree: DeferredFree;
  #chunks: Buffer[] = [];
  #init: Buffer = Buffer.alloc(0);

  private constructor() {
    throwOnError(this.#format.allocOutputContext2(null, 'mp4', null), 'Could not create the MP4 muxer');
    const hold = (bytes: Buffer) => {
      this.#chunks.push(Buffer.from(bytes));
      return bytes.length;
    };
    this.#io.allocContextWithCallbacks(ioBuffer, 1, null, hold, null);
    this.#format.pb = this.#io;
    this.#format.setFlags(AVFMT_FLAG_CUSTOM_IO);
    this.#writer = new Writer(this.#format);
    this.#deferredFree = new DeferredFree(() => {
      // In this order, because node-av would otherwise free the IO context twice.
      this.#format.pb = null;
      this.#io.freeContext();
      this.#format.freeContext();
      this.#writer.close();
    });
  }

  /** @throws AvError */
  static async open(encoders: Encoders): Promise<FragmentMuxer> {
    const muxer = new FragmentMuxer();
    try {
      addStreams(muxer.#format, encoders);
      const options = { movflags: 'frag_custom+empty_moov+default_base_moof+skip_trailer', use_editlist: '0' };
      muxer.#init = await muxer.#deferredFree.use(async () => {
        throwOnError(await muxer.#format.writeHeader(Dictionary.fromObject(options)), 'Could not write the MP4 header');
        return muxer.#take();
      });
      return muxer;
    } catch (error) {
      muxer.close();
      throw error;
    }
  }

  get init(): Buffer {
    return this.#init;
  }

  /** Samples of each track must be in order. Not reentrant. */
  write(mp4Sample: Mp4Sample): Promise<void> {
    return this.#deferredFree.use(() => this.#writer.write(mp4Sample));
  }

  /** Everything since the last cut, as one fragment. */
  cut(): Promise<Buffer> {
    return this.#deferredFree.use(async () => {
      throwOnError(await this.#format.writeFrame(null), 'Could not write a fragment');
      return this.#take();
    });
  }

  /** Idempotent. */
  close(): void {
    this.#deferredFree.close();
  }

  async #take(): Promise<Buffer> {
    await this.#format.flush();
    return Buffer.concat(this.#chunks.splice(0));
  }
}

/** MP4 file with its index at the start (faststart). */
export class Mp4File {
  readonly #format = new FormatContext();
  readonly #writer: Writer;
  readonly #deferredFree: DeferredFree;

  private constructor(path: string) {
    throwOnError(this.#format.allocOutputContext2(null, 'mp4', path), 'Could not create the MP4 muxer');
    this.#writer = new Writer(this.#format);
    this.#deferredFree = new DeferredFree(() => {
      this.#format.closeOutputSync();
      this.#format.freeContext();
      this.#writer.close();
    });
  }

  /** @throws AvError also if the disk write fails */
  static async open(path: string, encoders: Encoders): Promise<Mp4File> {
    const file = new Mp4File(path);
    try {
      addStreams(file.#format, encoders);
      await file.#deferredFree.use(async () => {
        throwOnError(await file.#format.openOutput(), 'Could not create the file');
        throwOnError(await file.#format.writeHeader(Dictionary.fromObject({ movflags: 'faststart' })), 'Could not write the MP4 header');
      });
      return file;
    } catch (error) {
      file.close();
      throw error;
    }
  }

  /** Samples of each track must be in order, and those of both tracks roughly interleaved. Not reentrant. */
  write(mp4Sample: Mp4Sample): Promise<void> {
    return this.#deferredFree.use(() => this.#writer.write(mp4Sample));
  }

  /** Writes the trailer. */
  async finish(): Promise<void> {
    await this.#deferredFree.use(async () => throwOnError(await this.#format.writeTrailer(), 'Could not finish the file'));
    this.close();
  }

  /** Idempotent. */
  close(): void {
    this.#deferredFree.close();
  }
}
