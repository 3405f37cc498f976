// Audio receiver of one RTP source: orders packets, and decodes them when their block is due.
import { AvError } from '../../ffmpeg/ffmpeg.ts';
import { JitterBuffer, type OrderedPacket } from '../../rtp/jitter-buffer.ts';
import type { RtpPacket } from '../../rtp/rtp-reader.ts';
import { sampleRate, samplesPerMillisecond } from './audio-format.ts';
import { CallDecoder, callCodecFacts } from './call-codecs.ts';
import { PlayoutBuffer } from './playout-buffer.ts';
import type { CallCodec } from './session.ts';

/** Maximum milliseconds to wait for a missing packet; it counts as lost when its block is due. */
const maxWait = 200;
/** Packets read per block, and the burst limit; more is a flood. */
const packetsPerBlock = 10;
const maxBurst = 100;
const nothing = Buffer.alloc(0);

export class AudioReceiver {
  readonly #decoder: CallDecoder;
  readonly #playoutBuffer = new PlayoutBuffer();
  readonly #buffer: JitterBuffer;
  /** Samples at 48 kHz per tick of the RTP clock. */
  readonly #ratio: number;
  #budget = maxBurst;
  /** The block that is due. */
  #due: number | undefined;
  #closed = false;

  /** @throws AvError if this FFmpeg has no such codec */
  constructor(codec: CallCodec) {
    this.#decoder = new CallDecoder(codec);
    this.#ratio = sampleRate / callCodecFacts[codec].clockRate;
    const isDue = () => this.#due !== undefined && !this.#playoutBuffer.isComplete(this.#due);
    this.#buffer = new JitterBuffer({
      // A missing packet is waited for until its block is due.
      get wait() {
        return isDue() ? 0 : maxWait;
      },
      out: (packet) => this.#decode(packet),
    });
  }

  /** `now`: milliseconds on the time line of read(). Packets without audio (digits, comfort noise) also have sequence numbers. */
  push(packet: RtpPacket, now: number, options: { silent: boolean } = { silent: false }): void {
    if (this.#budget <= 0 || this.#closed) return;
    this.#budget -= 1;
    this.#buffer.push(options.silent ? { ...packet, payload: nothing } : packet, now);
  }

  /** Fills the block with audio from sample `from`. @returns false if there is none */
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
      // Audio that cannot be decoded is concealed like a lost packet.
      if (!(error instanceof AvError)) throw error;
    }
  }
}
