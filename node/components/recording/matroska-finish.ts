// Finishes a file of matroska.ts that is complete or ends at a crash: adds duration and index, and removes a partial frame at the end.
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { element, float, type Head, idBytes, ids, readHead, size8, sizeLength, uint8Element, unsigned, voidElement } from './ebml.ts';
import { seekHeadReserve, trackNumber } from './matroska.ts';

/** Milliseconds from the first frame to the end of the last; undefined if the file has no frame. */
export type FinishedFile = { duration: number | undefined };

type ElementPosition = Head & { at: number };
type Cue = { time: number; position: number };
type Scan = {
  segment: ElementPosition | undefined;
  room: ElementPosition | undefined;
  durationAt: number | undefined;
  defaultDuration: number;
  cues: Cue[];
  last: ElementPosition | undefined;
  end: number;
  finished: boolean;
};

const headBytes = 16;
/** Bytes read from a cluster: its timestamp and the head of its first block. */
const clusterBeginning = 64;
/** Milliseconds between two cue points. */
const cueInterval = 1000;

/** Idempotent. @throws Error if the file cannot be read or written, or was not written by matroska.ts */
export async function finishMatroska(path: string): Promise<FinishedFile> {
  const file = await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
  try {
    return await finish(file);
  } finally {
    await file.close();
  }
}

async function finish(file: FileHandle): Promise<FinishedFile> {
  const { size } = await file.stat();
  if (size === 0) return { duration: undefined };
  const found = await scan(file, size);
  const { segment, last } = found;
  if (!segment) throw new Error('Not a Matroska file');
  if (!last) return { duration: undefined };
  const blocks = await blocksOf(file, last, found.end);
  const duration = blocks.lastTime + (found.defaultDuration || blocks.lastInterval);
  if (found.finished) return { duration };
  // Removes a partial cluster; a complete one stays unchanged.
  await file.truncate(blocks.end);
  await file.write(size8(blocks.end - last.at - last.length), 0, sizeLength, last.at + last.length - sizeLength);
  if (found.durationAt !== undefined) await writeAt(file, float(ids.duration, duration), found.durationAt);
  const base = segment.at + segment.length;
  const cues = cuesElement(found.cues, base);
  await writeAt(file, cues, blocks.end);
  if (found.room) await writeAt(file, seekHead(blocks.end - base), found.room.at);
  await file.write(size8(blocks.end + cues.length - base), 0, sizeLength, base - sizeLength);
  return { duration };
}

/** Walks over element heads, and reads only the start of each cluster. */
async function scan(file: FileHandle, size: number): Promise<Scan> {
  const found: Scan = {
    segment: undefined,
    room: undefined,
    durationAt: undefined,
    defaultDuration: 0,
    cues: [],
    last: undefined,
    end: size,
    finished: false,
  };
  for (let at = 0; at < size; ) {
    const head = readHead(await read(file, at, headBytes));
    if (!head) break;
    const place = { ...head, at };
    const inside = at + head.length;
    if (head.id === ids.segment) {
      found.segment = place;
      at = inside;
      continue;
    }
    if (head.size === undefined) break;
    if (head.id === ids.void) found.room ??= place;
    else if (head.id === ids.info) found.durationAt = await findInside(file, place, ids.void);
    else if (head.id === ids.tracks) found.defaultDuration = await readDefaultDuration(file, place);
    else if (head.id === ids.cues) found.finished = inside + head.size <= size;
    else if (head.id === ids.cluster) await addCluster(file, place, found);
    at = inside + head.size;
  }
  return found;
}

async function addCluster(file: FileHandle, elementPosition: ElementPosition, found: Scan): Promise<void> {
  const beginning = await read(file, elementPosition.at + elementPosition.length, clusterBeginning);
  const timestamp = readHead(beginning);
  if (timestamp?.id !== ids.timestamp || timestamp.size === undefined || timestamp.size === 0) return;
  const behind = timestamp.length + timestamp.size;
  const block = readHead(beginning.subarray(behind));
  // Truncated before the first frame was complete.
  if (block?.id !== ids.simpleBlock || elementPosition.at + elementPosition.length + behind + block.length + (block.size ?? 0) > found.end)
    return;
  const time = readUnsigned(beginning.subarray(timestamp.length, behind));
  const flags = beginning[behind + block.length + 3] ?? 0;
  const previous = found.cues.at(-1)?.time ?? Number.NEGATIVE_INFINITY;
  if (flags & 0x80 && time - previous >= cueInterval) found.cues.push({ time, position: elementPosition.at });
  found.last = elementPosition;
}

type Blocks = { lastTime: number; lastInterval: number; end: number };

/** Complete blocks of a cluster. */
async function blocksOf(file: FileHandle, elementPosition: ElementPosition, fileEnd: number): Promise<Blocks> {
  const start = elementPosition.at + elementPosition.length;
  const end = Math.min(fileEnd, start + (elementPosition.size ?? 0));
  const found: Blocks = { lastTime: 0, lastInterval: 0, end: start };
  let base = 0;
  let before: number | undefined;
  for (let at = start; at < end; ) {
    const bytes = await read(file, at, headBytes);
    const head = readHead(bytes);
    if (head?.size === undefined || at + head.length + head.size > end) break;
    if (head.id === ids.timestamp) {
      base = readUnsigned(bytes.subarray(head.length, head.length + head.size));
      found.lastTime = base;
    }
    if (head.id === ids.simpleBlock) {
      found.lastTime = base + bytes.readInt16BE(head.length + 1);
      if (before !== undefined) found.lastInterval = found.lastTime - before;
      before = found.lastTime;
    }
    at += head.length + head.size;
    found.end = at;
  }
  return found;
}

async function readDefaultDuration(file: FileHandle, tracks: ElementPosition): Promise<number> {
  const entry = await read(file, tracks.at, tracks.length + (tracks.size ?? 0));
  const wanted = idBytes(ids.defaultDuration);
  const at = entry.indexOf(wanted);
  const head = at < 0 ? undefined : readHead(entry.subarray(at));
  if (head?.size === undefined) return 0;
  return readUnsigned(entry.subarray(at + head.length, at + head.length + head.size)) / 1_000_000;
}

/** Position of the first element with this id inside another element. */
async function findInside(file: FileHandle, elementPosition: ElementPosition, id: number): Promise<number | undefined> {
  const bytes = await read(file, elementPosition.at + elementPosition.length, elementPosition.size ?? 0);
  for (let at = 0; at < bytes.length; ) {
    const head = readHead(bytes.subarray(at));
    if (head?.size === undefined) return undefined;
    if (head.id === id) return elementPosition.at + elementPosition.length + at;
    at += head.length + head.size;
  }
  return undefined;
}

function cuesElement(cues: readonly Cue[], base: number): Buffer {
  const points = cues.map(({ time, position }) =>
    element(
      ids.cuePoint,
      unsigned(ids.cueTime, time),
      element(ids.cueTrackPositions, unsigned(ids.cueTrack, trackNumber), unsigned(ids.cueClusterPosition, position - base)),
    ),
  );
  return element(ids.cues, ...points);
}

/** Fills exactly the space that was reserved for it. */
function seekHead(position: number): Buffer {
  const seek = element(ids.seek, element(ids.seekId, idBytes(ids.cues)), uint8Element(ids.seekPosition, position));
  const made = element(ids.seekHead, seek);
  return made.length === seekHeadReserve ? made : voidElement(seekHeadReserve);
}

function writeAt(file: FileHandle, bytes: Buffer, at: number): Promise<unknown> {
  return file.write(bytes, 0, bytes.length, at);
}

async function read(file: FileHandle, at: number, length: number): Promise<Buffer> {
  const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at);
  return buffer.subarray(0, bytesRead);
}

function readUnsigned(bytes: Buffer): number {
  return bytes.reduce((value, byte) => value * 256 + byte, 0);
}
