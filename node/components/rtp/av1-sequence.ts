// AV1 sequence header (AV1 specification, section 5.5): frame size, and the configuration record for files.
import { BitReader } from './bits.ts';

/** `configuration`: AV1CodecConfigurationRecord (https://aomediacodec.github.io/av1-isobmff/, section 2.3), including the header. */
export type Av1Sequence = { width: number; height: number; configuration: Buffer };

/** Fields of the record; names as in the specification, flags as 0 or 1. */
type Facts = { profile: number; level: number; tier: number; width: number; height: number; color: Color };
type Color = {
  highBitdepth: number;
  twelveBit: number;
  monochrome: number;
  subsamplingX: number;
  subsamplingY: number;
  samplePosition: number;
};

/** sRGB, for which chroma is never subsampled (section 5.5.2). */
const srgb = { primaries: 1, transfer: 13, matrix: 0 } as const;

/** `unit`: the whole OBU; `payload`: without header and size. Undefined if it is invalid. */
export function readAv1Sequence(unit: Buffer, payload: Buffer): Av1Sequence | undefined {
  try {
    const { profile, level, tier, width, height, color } = readFacts(new BitReader(payload));
    const { highBitdepth, twelveBit, monochrome, subsamplingX, subsamplingY, samplePosition } = color;
    const formats =
      (tier << 7) | (highBitdepth << 6) | (twelveBit << 5) | (monochrome << 4) | (subsamplingX << 3) | (subsamplingY << 2) | samplePosition;
    return { width, height, configuration: Buffer.concat([Buffer.from([0x81, (profile << 5) | level, formats, 0]), unit]) };
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function readFacts(bits: BitReader): Facts {
  const profile = bits.read(3);
  bits.skip(1);
  const reduced = bits.read(1) === 1;
  const { level, tier } = reduced ? { level: bits.read(5), tier: 0 } : readOperatingPoints(bits);
  const [widthBits, heightBits] = [bits.read(4) + 1, bits.read(4) + 1];
  const [width, height] = [bits.read(widthBits) + 1, bits.read(heightBits) + 1];
  // Lengths of frame ids.
  if (!reduced && bits.read(1) === 1) bits.skip(7);
  bits.skip(3);
  if (!reduced) skipTools(bits);
  bits.skip(3);
  return { profile, level, tier, width, height, color: readColor(bits, profile) };
}

/** @returns level and tier of the first operating point */
function readOperatingPoints(bits: BitReader): { level: number; tier: number } {
  let delayBits: number | undefined;
  if (bits.read(1) === 1) {
    bits.skip(64);
    if (bits.read(1) === 1) bits.unsigned();
    if (bits.read(1) === 1) {
      delayBits = bits.read(5) + 1;
      bits.skip(42);
    }
  }
  const displayDelays = bits.read(1) === 1;
  const count = bits.read(5) + 1;
  let first: { level: number; tier: number } | undefined;
  for (let index = 0; index < count; index += 1) {
    bits.skip(12);
    const level = bits.read(5);
    const tier = level > 7 ? bits.read(1) : 0;
    first ??= { level, tier };
    if (delayBits !== undefined && bits.read(1) === 1) bits.skip(2 * delayBits + 1);
    if (displayDelays && bits.read(1) === 1) bits.skip(4);
  }
  return first ?? { level: 0, tier: 0 };
}

/** From enable_interintra_compound to order_hint_bits_minus_1. */
function skipTools(bits: BitReader): void {
  bits.skip(4);
  const orderHint = bits.read(1) === 1;
  if (orderHint) bits.skip(2);
  const chosen = bits.read(1) === 1;
  const screenContent = chosen || bits.read(1) === 1;
  if (screenContent && bits.read(1) === 0) bits.skip(1);
  if (orderHint) bits.skip(3);
}

function readColor(bits: BitReader, profile: number): Color {
  const highBitdepth = bits.read(1);
  const twelveBit = profile === 2 && highBitdepth === 1 ? bits.read(1) : 0;
  const monochrome = profile === 1 ? 0 : bits.read(1);
  const described = bits.read(1) === 1;
  const [primaries, transfer, matrix] = described ? [bits.read(8), bits.read(8), bits.read(8)] : [];
  const depth = { highBitdepth, twelveBit, monochrome };
  if (monochrome) return { ...depth, subsamplingX: 1, subsamplingY: 1, samplePosition: 0 };
  if (primaries === srgb.primaries && transfer === srgb.transfer && matrix === srgb.matrix)
    return { ...depth, subsamplingX: 0, subsamplingY: 0, samplePosition: 0 };
  bits.skip(1);
  let [subsamplingX, subsamplingY] = profile === 0 ? [1, 1] : [profile === 1 ? 0 : 1, 0];
  if (twelveBit) {
    subsamplingX = bits.read(1);
    subsamplingY = subsamplingX ? bits.read(1) : 0;
  }
  return { ...depth, subsamplingX, subsamplingY, samplePosition: subsamplingX && subsamplingY ? bits.read(2) : 0 };
}
