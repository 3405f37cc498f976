// RTP sender of a call: sends the mix or a digit every 20 ms.
import { randomInt } from 'node:crypto';
import { rtpPacket } from '../../rtp/rtp-writer.ts';
import { frameDuration } from './audio-format.ts';
import { CallEncoder, callCodecFacts } from './call-codecs.ts';
import type { NegotiatedMedia } from './session.ts';
import { SrtpSender } from './srtp.ts';
import { DigitSender, digitToEvent } from './telephone-event.ts';

export type FarSenderOptions = { send: (packet: Buffer) => void };
/** Milliseconds of a digit and of the pause after it, by default. */
const defaultDuration = 120;
const defaultGap = 80;
const bounds = { duration: { min: 40, max: 6000 }, gap: { min: 40, max: 6000 } } as const;
/** Maximum of waiting digits. */
const maxDigits = 128;

export class CallRtpSender {
  readonly #options: FarSenderOptions;
  readonly #ssrc = randomInt(1, 2 ** 32);
  readonly #firstTimestamp = randomInt(2 ** 32);
  readonly #digits = new DigitSender();
  readonly #refusals = new Set<(error: Error) => void>();
  /** In the lower half, so that a loss at the beginning cannot hide a wrap-around (RFC 3711, section 3.3.1). */
  #sequence = randomInt(2 ** 15);
  #agreed: NegotiatedMedia | undefined;
  #encoder: CallEncoder | undefined;
  #srtp: { key: string; sender: SrtpSender } | undefined;
  /** True if audio starts, or continues after a pause. */
  #begins = true;

  constructor(options: FarSenderOptions) {
    this.#options = options;
  }

  /** @throws AvError if this FFmpeg has no such codec, RangeError for invalid keys */
  agree(negotiatedMedia: NegotiatedMedia): void {
    const before = this.#agreed;
    const { keys } = negotiatedMedia;
    // One sender per key, also after a pause: a restarted counter would reuse the key stream (RFC 3711, section 9.1).
    if (keys && this.#srtp?.key !== keys.local) this.#srtp = { key: keys.local, sender: new SrtpSender(keys.local) };
    if (before?.codec !== negotiatedMedia.codec) {
      this.#encoder?.close();
      this.#encoder = undefined;
      this.#encoder = new CallEncoder(negotiatedMedia.codec);
      this.#begins = true;
    }
    this.#agreed = negotiatedMedia;
    if (negotiatedMedia.dtmfPayloadType === undefined) this.#refuseDigits('The remote party no longer accepts digits');
  }

  /** Resolves when they are sent. @throws RangeError, Error if the remote party accepts none */
  sendDigits(digits: string, { duration = defaultDuration, gap = defaultGap }: { duration?: number; gap?: number }): Promise<void> {
    if (this.#agreed?.dtmfPayloadType === undefined) throw new Error('The remote party accepts no digits');
    const steps = { duration: stepsOf('duration', duration), gap: stepsOf('gap', gap) };
    const events = [...digits].map((digit) => {
      const event = digitToEvent(digit);
      if (event === undefined) throw new RangeError('Valid digits are 0 to 9, *, # and A to D');
      return event;
    });
    if (events.length === 0 || this.#digits.waiting + events.length > maxDigits)
      throw new RangeError(`At most ${maxDigits} digits can be queued, and at least one`);
    return new Promise((resolve, reject) => {
      this.#refusals.add(reject);
      for (const [index, event] of events.entries()) {
        this.#digits.add({ event, steps: steps.duration, gap: steps.gap }, () => {
          if (index < events.length - 1) return;
          this.#refusals.delete(reject);
          resolve();
        });
      }
    });
  }

  /** Sends block `number` of the mix; skipped blocks are lost. */
  next(number: number, block: Float32Array): void {
    const negotiatedMedia = this.#agreed;
    if (!negotiatedMedia || !this.#encoder) return;
    if (negotiatedMedia.direction === 'recvonly' || negotiatedMedia.direction === 'inactive') {
      this.#begins = true;
      return;
    }
    const { clockRate } = callCodecFacts[negotiatedMedia.codec];
    const step = (clockRate * frameDuration) / 1000;
    const eventStep = ((negotiatedMedia.dtmfClockRate ?? clockRate) * frameDuration) / 1000;
    const timestamp = (this.#firstTimestamp + number * step) % 2 ** 32;
    const events = negotiatedMedia.dtmfPayloadType === undefined ? undefined : this.#digits.next(timestamp, eventStep);
    // Always encodes, because codecs have state.
    const payload = this.#encoder.encode(block);
    if (events && negotiatedMedia.dtmfPayloadType !== undefined) {
      for (const event of events) this.#send({ ...event, payloadType: negotiatedMedia.dtmfPayloadType });
      this.#begins = true;
    } else if (payload.length > 0) {
      this.#send({ payload, timestamp, marker: this.#begins, payloadType: negotiatedMedia.payloadType });
      this.#begins = false;
    }
  }

  /** Idempotent. */
  close(): void {
    this.#agreed = undefined;
    this.#encoder?.close();
    this.#encoder = undefined;
    this.#refuseDigits('The call has ended');
  }

  #send({ payload, ...header }: { payload: Buffer; timestamp: number; marker: boolean; payloadType: number }): void {
    const packet = rtpPacket({ ...header, sequence: this.#sequence, ssrc: this.#ssrc }, payload);
    this.#sequence = (this.#sequence + 1) % 2 ** 16;
    const keys = this.#agreed?.keys;
    this.#options.send(keys && this.#srtp ? this.#srtp.sender.protect(packet, keys.suite) : packet);
  }

  #refuseDigits(reason: string): void {
    this.#digits.clear();
    for (const refuse of this.#refusals) refuse(new Error(reason));
    this.#refusals.clear();
  }
}

function stepsOf(what: keyof typeof bounds, time: number): number {
  const { min, max } = bounds[what];
  if (!(time >= min && time <= max)) throw new RangeError(`The ${what} of a digit must be between ${min} and ${max} ms`);
  return Math.round(time / frameDuration);
}
