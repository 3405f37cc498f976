// Programme sender of a composer: its encoded frames, and its mix as Opus, as RTP for players of the room.
import { randomInt } from 'node:crypto';
import type { EncodedPacket } from '../../ffmpeg/encoded-packet.ts';
import { VoiceEncoder } from '../../ffmpeg/voice-encoder.ts';
import { h264Payloads, nalUnits } from '../../rtp/h264-packetizer.ts';
import { rtpPacket, senderReport } from '../../rtp/rtp-writer.ts';
import { type ProgrammeDestination, programmePayloadTypes } from './composer-messages.ts';

export type ProgrammeSenderOptions = {
  destination: ProgrammeDestination;
  /** SPS and PPS of the encoder, with start codes. */
  parameterSets: Buffer;
  /** Milliseconds between two frames. */
  frameInterval: number;
  /** Milliseconds since 1970 of the first frame and sample. */
  began: number;
  send: (packet: Buffer) => void;
};

const clockRates = { audio: 48_000, video: 90_000 } as const;
/** Samples of one Opus packet, per channel. */
const packetSamples = 960;
/** Milliseconds between two requested key frames: they cost bits of the stream too. */
const keyInterval = 500;
const reportInterval = 1000;
/** Packets per burst, which fit the socket buffer of the media worker; then it gets a pause in milliseconds. */
const burst = 32;
const pause = 1;
/** Maximum of waiting packets: more than the largest frame has. */
const maxWaiting = 8192;

/** One RTP stream. Times are milliseconds since 1970. */
class RtpStream {
  readonly #ssrc: number;
  readonly #kind: keyof typeof clockRates;
  readonly #began: number;
  readonly #firstTimestamp = randomInt(2 ** 32);
  #sequence = randomInt(2 ** 16);
  #packets = 0;
  #octets = 0;
  #reported = Number.NEGATIVE_INFINITY;

  constructor(kind: keyof typeof clockRates, ssrc: number, began: number) {
    this.#kind = kind;
    this.#ssrc = ssrc;
    this.#began = began;
  }

  /** `time`: milliseconds since `began`. @returns the packets, with a sender report each second */
  packetsOf(payloads: readonly Buffer[], time: number): Buffer[] {
    const ssrc = this.#ssrc;
    const timestamp = this.#firstTimestamp + Math.round((time * clockRates[this.#kind]) / 1000);
    const packets = payloads.map((payload, index) => {
      const marker = this.#kind === 'video' && index === payloads.length - 1;
      this.#sequence += 1;
      this.#packets += 1;
      this.#octets += payload.length;
      return rtpPacket({ payloadType: programmePayloadTypes[this.#kind], sequence: this.#sequence, timestamp, ssrc, marker }, payload);
    });
    if (time - this.#reported < reportInterval) return packets;
    this.#reported = time;
    return [...packets, senderReport({ ssrc, time: this.#began + time, timestamp, packets: this.#packets, octets: this.#octets })];
  }
}

export class ProgrammeSender {
  readonly #options: ProgrammeSenderOptions;
  readonly #opus = new VoiceEncoder({ encoding: 'opus-mix' });
  readonly #audio: RtpStream;
  readonly #video: RtpStream | undefined;
  readonly #parameterSets: readonly Buffer[];
  /** Interleaved samples of the next Opus packet, how many it has, and the number of its first one. */
  readonly #samples = new Float32Array(2 * packetSamples);
  #filled = 0;
  #firstSample: number | undefined;
  #keyRequested = true;
  #lastKey = Number.NEGATIVE_INFINITY;
  #waiting: Buffer[] = [];
  #pause: NodeJS.Timeout | undefined;

  /** @throws AvError if this FFmpeg has no Opus encoder */
  constructor(options: ProgrammeSenderOptions) {
    const { destination, began, parameterSets } = options;
    this.#options = options;
    this.#audio = new RtpStream('audio', destination.audio, began);
    this.#video = destination.video === null ? undefined : new RtpStream('video', destination.video, began);
    this.#parameterSets = nalUnits(parameterSets);
  }

  /** A player needs a key frame. */
  requestKeyFrame(ssrc: number): void {
    if (ssrc === this.#options.destination.video) this.#keyRequested = true;
  }

  /** True if the frame with this number should be a key frame. */
  needsKeyFrame(number: number): boolean {
    return this.#keyRequested && this.#video !== undefined && number * this.#options.frameInterval - this.#lastKey >= keyInterval;
  }

  /** A frame with start codes; its timestamp counts frames. */
  addFrame({ data, key, timestamp }: EncodedPacket): void {
    const time = timestamp * this.#options.frameInterval;
    if (key) {
      this.#keyRequested = false;
      this.#lastKey = time;
    }
    if (!this.#video) return;
    const units = nalUnits(data);
    this.#send(this.#video.packetsOf(h264Payloads(key ? [...this.#parameterSets, ...units] : units), time));
  }

  /** Mixed samples; `first`: the number of the first one. They follow each other without a gap. */
  addAudio(left: Float32Array, right: Float32Array, first: number): void {
    this.#firstSample ??= first;
    for (let index = 0; index < left.length; index += 1) {
      this.#samples[2 * this.#filled] = left[index] ?? 0;
      this.#samples[2 * this.#filled + 1] = right[index] ?? 0;
      this.#filled += 1;
      if (this.#filled < packetSamples) continue;
      this.#filled = 0;
      this.#send(this.#audio.packetsOf([this.#opus.encode(this.#samples)], (this.#firstSample * 1000) / clockRates.audio));
      this.#firstSample += packetSamples;
    }
  }

  /** Idempotent. */
  close(): void {
    clearTimeout(this.#pause);
    this.#waiting = [];
    this.#opus.close();
  }

  #send(packets: readonly Buffer[]): void {
    if (this.#waiting.length + packets.length > maxWaiting) return;
    this.#waiting.push(...packets);
    if (this.#pause === undefined) this.#sendBurst();
  }

  #sendBurst(): void {
    for (const packet of this.#waiting.splice(0, burst)) this.#options.send(packet);
    this.#pause =
      this.#waiting.length === 0
        ? undefined
        : setTimeout(() => {
            this.#pause = undefined;
            this.#sendBurst();
          }, pause);
  }
}
