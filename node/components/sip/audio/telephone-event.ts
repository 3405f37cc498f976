// DTMF digits as RTP events (RFC 4733, section 2): receiver and sender.

/** Digits by event code. */
const digits = '0123456789*#ABCD';
/** Value of the volume field: dBm0 without the sign. */
const volume = 10;
const maxDuration = 0xffff;
/** Number of end packets (section 2.5.1.4). */
const endPackets = 3;
/** Milliseconds without packets of an event after which its end packet counts as lost. */
const endLost = 200;
/** Maximum milliseconds that packets of a digit may be late. Older timestamps mean a restarted source, or half a wrap-around. */
const maxLate = 20_000;

/** `timestamp` as in RTP. */
export type TelephoneEventPacket = { payload: Buffer; timestamp: number; marker: boolean };
export type TelephoneEvent = { event: number; end: boolean; duration: number };

/** @returns undefined if it is not an event */
export function parseEvent(payload: Buffer): TelephoneEvent | undefined {
  if (payload.length < 4) return undefined;
  return { event: payload.readUInt8(0), end: (payload.readUInt8(1) & 0x80) !== 0, duration: payload.readUInt16BE(2) };
}

function eventPayload({ event, end, duration }: TelephoneEvent): Buffer {
  return Buffer.of(event, (end ? 0x80 : 0) | volume, duration >> 8, duration & 0xff);
}

/** @returns undefined if it is not a digit */
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

/** Reports each digit once, for any order and number of its packets. */
export class DigitReceiver {
  readonly #options: DigitReceiverOptions;
  #heard: Heard | undefined;
  /** Start of the last reported digit, as in RTP. */
  #reported: number | undefined;

  constructor(options: DigitReceiverOptions) {
    this.#options = options;
  }

  /** `now`: milliseconds of any monotonic clock. */
  push({ payload, timestamp, marker }: TelephoneEventPacket, now: number): void {
    const parsed = parseEvent(payload);
    if (!parsed || parsed.event >= digits.length) return;
    if (this.#reported !== undefined && (this.#reported - timestamp) >>> 0 <= (maxLate * this.#options.clockRate) / 1000) return;
    const { event, end, duration } = parsed;
    const heard = this.#heard;
    if (heard && heard.event === event && timestamp === heard.segment) {
      heard.duration = Math.max(heard.duration, duration);
      heard.at = now;
    } else if (heard && heard.event === event && !marker && (timestamp - heard.segment) >>> 0 <= maxDuration) {
      // A long event continues in another segment (section 2.5.1.3).
      Object.assign(heard, { segment: timestamp, duration, at: now });
    } else if (!heard || !isAtOrBefore(timestamp, heard.segment)) {
      this.#tell();
      this.#heard = { event, start: timestamp, segment: timestamp, duration, at: now };
    } else {
      return;
    }
    if (end) this.#tell();
  }

  /** Call periodically. */
  tick(now: number): void {
    if (this.#heard && now - this.#heard.at >= endLost) this.#tell();
  }

  #tell(): void {
    const heard = this.#heard;
    if (!heard) return;
    this.#heard = undefined;
    this.#reported = heard.segment;
    const ticks = ((heard.segment - heard.start) >>> 0) + heard.duration;
    this.#options.onDigit(digits[heard.event] ?? '', (ticks * 1000) / this.#options.clockRate);
  }
}

/** RTP timestamps wrap around. */
function isAtOrBefore(timestamp: number, other: number): boolean {
  return (other - timestamp) >>> 0 < 2 ** 31;
}

/** Digit in steps of 20 ms. */
export type SentDigit = { event: number; steps: number; gap: number };
type Sending = { digit: SentDigit; segment: number; duration: number; step: number; sent: () => void };

/** Sends digits one after the other, one step at a time. */
export class DigitSender {
  readonly #queue: (SentDigit & { sent: () => void })[] = [];
  #current: Sending | undefined;
  #repeated: { packet: TelephoneEventPacket; left: number } | undefined;
  #pause = 0;

  /** Number of unsent digits. */
  get waiting(): number {
    return this.#queue.length + (this.#current ? 1 : 0);
  }

  add(digit: SentDigit, sent: () => void): void {
    this.#queue.push({ ...digit, sent });
  }

  /** Drops unsent digits; a digit in progress gets no end packet. */
  clear(): void {
    this.#queue.length = 0;
    this.#current = undefined;
    this.#repeated = undefined;
    this.#pause = 0;
  }

  /** Packets that replace audio in this step; undefined if audio is sent. `timestamp` is the current one of audio, `step` its increment. */
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
      // The last packet of a segment is also sent three times, without the end bit.
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
