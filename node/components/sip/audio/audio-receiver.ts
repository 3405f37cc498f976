// One voice that comes in as RTP: put in order, decoded when it has to be, and heard block by block.
import { AvError } from '../../ffmpeg/ffmpeg.ts';
import { JitterBuffer, type OrderedPacket } from '../../rtp/jitter-buffer.ts';
import type { RtpPacket } from '../../rtp/rtp-reader.ts';
import { sampleRate, samplesPerMillisecond } from './audio-format.ts';
import { CallDecoder, callCodecFacts } from './call-codecs.ts';
import { PlayoutBuffer } from './playout-buffer.ts';
import type { CallCodec } from './session.ts';

/** Milliseconds that a missing packet is waited for where there is time; it is given up when its turn has come. */
const maxWait = 200;
/** Packets of each block that are read, and how many may come at once: more is a flood. */
const packetsPerBlock = 10;
const maxBurst = 100;
const nothing = Buffer.alloc(0);

export class AudioReceiver {
  readonly #decoder: CallDecoder;
  readonly #playoutBuffer = new PlayoutBuffer();
  readonly #buffer: JitterBuffer;
  /** Samples at 48 kHz of one tick of RTP's clock. */
  readonly #ratio: number;
  #budget = maxBurst;
  /** The block whose turn it is. */
  #due: number | undefined;
  #closed = false;

  /** @throws AvError where this FFmpeg has no such codec */
  constructor(codec: CallCodec) {
    this.#decoder = new CallDecoder(codec);
    this.#ratio = sampleRate / callCodecFacts[codec].clockRate;
    const isDue = () => this.#due !== undefined && !this.#playoutBuffer.isComplete(this.#due);
    this.#buffer = new JitterBuffer({
      // What is missing is waited for until its turn has come.
      get wait() {
        return isDue() ? 0 : maxWait;
      },
      out: (packet) => this.#decode(packet),
    });
  }

  /** `now`: milliseconds on the line of read(). What has no sound (digits, comfort noise) has a number among the others nevertheless. */
  push(packet: RtpPacket, now: number, options: { silent: boolean } = { silent: false }): void {
    if (this.#budget <= 0 || this.#closed) return;
    this.#budget -= 1;
    this.#buffer.push(options.silent ? { ...packet, payload: nothing } : packet, now);
  }

  /** Fills the block with what is heard from sample `from` on. @returns false where that is nothing */
  read(from: number, block: Float32Array): boolean {
    this.#budget = Math.min(maxBurst, this.#budget + packetsPerBlock);
    this.#due = from;
    this.#buffer.drain(from / samplesPerMillisecond);
    this.#due = undefined;
    return this.#playoutBuffer.read(from, block);
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    this.#decoder.close();
  }

  #decode({ payload, timestamp, arrival }: OrderedPacket): void {
    if (payload.length === 0) return;
    try {
      const samples = this.#decoder.decode(payload);
      this.#playoutBuffer.write(timestamp * this.#ratio, samples, Math.round(arrival * samplesPerMillisecond));
    } catch (error) {
      // What cannot be decoded is a hole.
      if (!(error instanceof AvError)) throw error;
    }
  }
}
