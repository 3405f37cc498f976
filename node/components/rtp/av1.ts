// AV1 RTP depacketizer (https://aomediacodec.github.io/av1-rtp-spec/): outputs temporal units whose OBUs have sizes, as files require.
import { readAv1Sequence } from './av1-sequence.ts';
import { type EncodedFrame, maxUnits, type RtpDepacketizer, type VideoDescription } from './frame-assembler.ts';

const types = { sequenceHeader: 1, temporalDelimiter: 2, tileList: 8, padding: 15 } as const;
/**
 * Temporal delimiter OBU of two bytes (AV1 specification, section 5.6). Matroska recommends omitting it. But without it dav1d shows no
 * units that are missing the highest spatial layer, which occur while layers are switched.
 */
const delimiter = Buffer.from([(types.temporalDelimiter << 3) | 0x02, 0]);

/** Section 4.4. `continues`: the first element continues the last of the previous packet; `open`: the last element continues. */
type Aggregation = { continues: boolean; open: boolean; begins: boolean; elements: Buffer[] };

function readAggregation(payload: Buffer): Aggregation | undefined {
  const head = payload[0] ?? 0;
  const count = (head >> 4) & 3;
  const elements: Buffer[] = [];
  for (let at = 1; at < payload.length; ) {
    const isLast = count > 0 && elements.length === count - 1;
    const size = isLast ? { value: payload.length - at, bytes: 0 } : readLeb128(payload, at);
    if (!size || at + size.bytes + size.value > payload.length) return undefined;
    at += size.bytes;
    elements.push(payload.subarray(at, at + size.value));
    at += size.value;
  }
  if (elements.length === 0 || (count > 0 && elements.length !== count)) return undefined;
  return { continues: (head & 0x80) !== 0, open: (head & 0x40) !== 0, begins: (head & 0x08) !== 0, elements };
}

export class Av1Depacketizer implements RtpDepacketizer {
  #units: Buffer[] = [];
  #sequence: VideoDescription | undefined;
  /** Fragments of an incomplete OBU. */
  #fragments: Buffer[] | undefined;

  /** Only certain at the start of a coded video sequence. */
  begins(payload: Buffer): boolean {
    return payload.length > 1 && ((payload[0] ?? 0) & 0x88) === 0x08;
  }

  reset(): void {
    this.#units = [];
    this.#fragments = undefined;
  }

  add(payload: Buffer): boolean {
    const aggregation = readAggregation(payload);
    if (!aggregation || aggregation.continues !== (this.#fragments !== undefined)) return false;
    for (const [index, element] of aggregation.elements.entries()) {
      const fragments = index === 0 && this.#fragments ? this.#fragments : [];
      fragments.push(element);
      this.#fragments = undefined;
      if (aggregation.open && index === aggregation.elements.length - 1) this.#fragments = fragments;
      else if (!this.#addUnit(fragments.length === 1 ? element : Buffer.concat(fragments))) return false;
    }
    return true;
  }

  take(): EncodedFrame | undefined {
    if (this.#fragments || this.#units.length === 0) return undefined;
    const [header, ...others] = this.#units.filter((unit) => typeOf(unit) === types.sequenceHeader);
    // One size applies to all frames of the sequence.
    if (others.some((other) => !other.equals(header as Buffer))) return undefined;
    if (header) this.#sequence = describe(header);
    return { data: Buffer.concat([delimiter, ...this.#units]), key: header !== undefined };
  }

  /** Description of the last key frame. */
  describe(): VideoDescription | undefined {
    return this.#sequence;
  }

  /** Adds the size, which RTP usually omits (AV1 specification, section 5.3). False for an invalid OBU, or too many. */
  #addUnit(unit: Buffer): boolean {
    const head = unit[0] ?? 0;
    const start = head & 0x04 ? 2 : 1;
    if (unit.length < start || head & 0x80 || this.#units.length >= maxUnits) return false;
    const type = typeOf(unit);
    if (type === types.temporalDelimiter || type === types.tileList || type === types.padding) return true;
    if (head & 0x02) {
      this.#units.push(unit);
      return true;
    }
    const header = Buffer.from(unit.subarray(0, start));
    header[0] = head | 0x02;
    this.#units.push(Buffer.concat([header, leb128(unit.length - start), unit.subarray(start)]));
    return true;
  }
}

/** `unit`: a sequence header OBU with its size. */
function describe(unit: Buffer): VideoDescription | undefined {
  const start = (unit[0] ?? 0) & 0x04 ? 2 : 1;
  const size = readLeb128(unit, start);
  const sequence = size && readAv1Sequence(unit, unit.subarray(start + size.bytes, start + size.bytes + size.value));
  return sequence && { width: sequence.width, height: sequence.height, codecPrivate: sequence.configuration };
}

function typeOf(unit: Buffer): number {
  return ((unit[0] ?? 0) >> 3) & 0x0f;
}

/** Seven bits per byte, least significant first (AV1 specification, section 4.10.5). */
function leb128(value: number): Buffer {
  const bytes: number[] = [];
  let left = value;
  do {
    const more = left >= 0x80;
    bytes.push((left & 0x7f) | (more ? 0x80 : 0));
    left >>>= 7;
  } while (left > 0);
  return Buffer.from(bytes);
}

function readLeb128(bytes: Buffer, at: number): { value: number; bytes: number } | undefined {
  let value = 0;
  for (let count = 0; count < 4; count += 1) {
    const byte = bytes[at + count];
    if (byte === undefined) return undefined;
    value |= (byte & 0x7f) << (count * 7);
    if (!(byte & 0x80)) return { value, bytes: count + 1 };
  }
  return undefined;
}
