// Digits as RTP events (RFC 4733, section 2): how they are read, and how they are sent.

/** By their event codes. */
const digits = '0123456789*#ABCD';
/** Where the volume would be: in dBm0 with the sign dropped. */
const volume = 10;
const maxDuration = 0xffff;
/** Packets that say the end (section 2.5.1.4). */
const endPackets = 3;
/** Milliseconds without a word of an event after which its end is taken for lost. */
const endLost = 200;
/** Milliseconds for which packets of a digit may still come: what is further behind the last digit is of a source that counts anew, or came half a round later. */
const maxLate = 20_000;

/** `timestamp` as in RTP. */
export type TelephoneEventPacket = { payload: Buffer; timestamp: number; marker: boolean };
export type TelephoneEvent = { event: number; end: boolean; duration: number };

/** @returns undefined for what is no event */
export function parseEvent(payload: Buffer): TelephoneEvent | undefined {
  if (payload.length < 4) return undefined;
  return { event: payload.readUInt8(0), end: (payload.readUInt8(1) & 0x80) !== 0, duration: payload.readUInt16BE(2) };
}

export function eventPayload({ event, end, duration }: TelephoneEvent): Buffer {
  return Buffer.of(event, (end ? 0x80 : 0) | volume, duration >> 8, duration & 0xff);
}

/** @returns undefined for what is no digit */
export function digitToEvent(digit: string): number | undefined {
  const event = digit.length === 1 ? digits.indexOf(digit.toUpperCase()) : -1;
  return event < 0 ? undefined : event;
}

type Heard = { event: number; start: number; segment: number; duration: number; at: number };

export type DigitReceiverOptions = {
  clockRate: number;
  /** `duration` in milliseconds. */
  onDigit: (digit: string, duration: number) => void;
};

/** Tells each digit once, however often its packets come and in whatever order. */
export class DigitReceiver {
  readonly #options: DigitReceiverOptions;
  #heard: Heard | undefined;
  /** Start of the last one that was told, as in RTP. */
  #told: number | undefined;

  constructor(options: DigitReceiverOptions) {
    this.#options = options;
  }

  /** `now`: milliseconds of any clock that does not go back. */
  push({ payload, timestamp, marker }: TelephoneEventPacket, now: number): void {
    const parsed = parseEvent(payload);
    if (!parsed || parsed.event >= digits.length) return;
    if (this.#told !== undefined && (this.#told - timestamp) >>> 0 <= (maxLate * this.#options.clockRate) / 1000) return;
    const { event, end, duration } = parsed;
    const heard = this.#heard;
    if (heard && heard.event === event && timestamp === heard.segment) {
      heard.duration = Math.max(heard.duration, duration);
      heard.at = now;
    } else if (heard && heard.event === event && !marker && (timestamp - heard.segment) >>> 0 <= maxDuration) {
      // A long one goes on in another segment (section 2.5.1.3).
      Object.assign(heard, { segment: timestamp, duration, at: now });
    } else if (!heard || !isAtOrBefore(timestamp, heard.segment)) {
      this.#tell();
      this.#heard = { event, start: timestamp, segment: timestamp, duration, at: now };
    } else {
      return;
    }
    if (end) this.#tell();
  }

  /** To be called from time to time. */
  tick(now: number): void {
    if (this.#heard && now - this.#heard.at >= endLost) this.#tell();
  }

  #tell(): void {
    const heard = this.#heard;
    if (!heard) return;
    this.#heard = undefined;
    this.#told = heard.segment;
    const ticks = ((heard.segment - heard.start) >>> 0) + heard.duration;
    this.#options.onDigit(digits[heard.event] ?? '', (ticks * 1000) / this.#options.clockRate);
  }
}

/** RTP timestamps wrap around. */
function isAtOrBefore(timestamp: number, other: number): boolean {
  return (other - timestamp) >>> 0 < 2 ** 31;
}

/** In steps of 20 ms. */
export type SentDigit = { event: number; steps: number; gap: number };
type Sending = { digit: SentDigit; segment: number; duration: number; step: number; sent: () => void };

/** Sends digits one after the other, a step at a time. */
export class DigitSender {
  readonly #queue: (SentDigit & { sent: () => void })[] = [];
  #current: Sending | undefined;
  #repeated: { packet: TelephoneEventPacket; left: number } | undefined;
  #pause = 0;

  /** Digits that are not sent yet. */
  get waiting(): number {
    return this.#queue.length + (this.#current ? 1 : 0);
  }

  add(digit: SentDigit, sent: () => void): void {
    this.#queue.push({ ...digit, sent });
  }

  /** Forgets what is not sent yet; the end of the one that is being sent is not told. */
  clear(): void {
    this.#queue.length = 0;
    this.#current = undefined;
    this.#repeated = undefined;
    this.#pause = 0;
  }

  /**
   * What this step sends in place of sound; undefined where it is sound. `timestamp` is where sound is now, `step` how far it goes on.
   */
  next(timestamp: number, step: number): TelephoneEventPacket[] | undefined {
    const repeated = this.#repeat();
    if (!this.#current) {
      if (this.#pause > 0) {
        this.#pause -= 1;
        return repeated;
      }
      const next = this.#queue.shift();
      if (!next) return repeated;
      this.#current = { digit: next, segment: timestamp, duration: 0, step: 0, sent: next.sent };
    }
    const current = this.#current;
    const packets = repeated ?? [];
    if (current.duration + step > maxDuration) {
      // The last word about this segment is said three times, too, without the end.
      this.#repeated = { packet: this.#packetOf(current, false), left: endPackets - 1 };
      current.segment = (current.segment + current.duration) >>> 0;
      current.duration = 0;
    }
    current.duration += step;
    current.step += 1;
    const end = current.step >= current.digit.steps;
    const packet = this.#packetOf(current, end);
    packets.push(packet);
    if (end) {
      this.#repeated = { packet, left: endPackets - 1 };
      this.#pause = current.digit.gap;
      this.#current = undefined;
      current.sent();
    }
    return packets;
  }

  #repeat(): TelephoneEventPacket[] | undefined {
    const repeated = this.#repeated;
    if (!repeated) return undefined;
    repeated.left -= 1;
    if (repeated.left === 0) this.#repeated = undefined;
    return [{ ...repeated.packet, marker: false }];
  }

  #packetOf({ digit, segment, duration, step }: Sending, end: boolean): TelephoneEventPacket {
    return { payload: eventPayload({ event: digit.event, end, duration }), timestamp: segment, marker: step === 1 };
  }
}
