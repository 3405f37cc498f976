// Frames of a fragmented MP4 file with their stored times, because ffprobe derives durations from the frame rate.
import { readFile } from 'node:fs/promises';

const ticksPerMillisecond = 90;
/** Bytes before the first sample in a box of this type, by its flags (ISO/IEC 14496-12, 8.8.7 and 8.8.8), and in each sample. */
const beforeSamples = { tfhd: [0x1, 8, 0x2, 4], trun: [0x1, 4, 0x4, 4] } as const;
const inSamples = [0x100, 0x200, 0x400, 0x800];

type Box = { type: string; bytes: Buffer };

/** Top-level boxes in these bytes. */
export function boxes(bytes: Buffer): Box[] {
  const found: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = bytes.readUInt32BE(at);
    found.push({ type: bytes.toString('latin1', at + 4, at + 8), bytes: bytes.subarray(at + 8, at + size) });
    at += Math.max(8, size);
  }
  return found;
}

const within = (outer: readonly Box[], type: string) => outer.filter((box) => box.type === type).flatMap(({ bytes }) => boxes(bytes));
const flagsOf = (bytes: Buffer) => bytes.readUIntBE(1, 3);

/** Start and duration of each frame in milliseconds. The first track must be video. */
export function framesInFragment(file: Buffer): { time: number; duration: number }[] {
  return within(boxes(file), 'moof')
    .filter(({ type }) => type === 'traf')
    .flatMap(({ bytes }) => {
      const parts = new Map(boxes(bytes).map((box) => [box.type, box.bytes]));
      const [head, time, run] = ['tfhd', 'tfdt', 'trun'].map((type) => parts.get(type));
      if (!head || !time || !run) throw new Error('A box is missing in a fragment');
      if (head.readUInt32BE(4) !== 1) return [];
      let at = Number(time.readBigUInt64BE(4));
      return durationsIn(run, defaultDuration(head)).map((duration) => {
        const frame = { time: at / ticksPerMillisecond, duration: duration / ticksPerMillisecond };
        at += duration;
        return frame;
      });
    });
}

/** Like `framesInFragment`, for a file. */
export async function writtenFrames(path: string): Promise<{ time: number; duration: number }[]> {
  return framesInFragment(await readFile(path));
}

function offset(kind: keyof typeof beforeSamples, flags: number): number {
  const [first, firstSize, second, secondSize] = beforeSamples[kind];
  return 8 + (flags & first ? firstSize : 0) + (flags & second ? secondSize : 0);
}

function defaultDuration(head: Buffer): number {
  const flags = flagsOf(head);
  return flags & 0x8 ? head.readUInt32BE(offset('tfhd', flags)) : 0;
}

function durationsIn(run: Buffer, usual: number): number[] {
  const flags = flagsOf(run);
  const [start, size] = [offset('trun', flags), 4 * inSamples.filter((flag) => flags & flag).length];
  return Array.from({ length: run.readUInt32BE(4) }, (_, index) => (flags & 0x100 ? run.readUInt32BE(start + index * size) : usual));
}
