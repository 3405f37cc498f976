// Which picture of the stream is made next, when none is to be hoped for, and how parts and segments are counted in pictures.

export type GopTiming = {
  /** Milliseconds between two pictures. */
  interval: number;
  /** Pictures of a part; segments are whole parts. */
  perPart: number;
  perSegment: number;
  /** Pictures between two key pictures of a segment, at most. */
  perKey: number;
};

/** Pictures that it may be late before some are left out. */
const maxLateFrames = 2;

/**
 * Milliseconds between two key pictures. Players begin at the last one before their place, part by part: what that takes they are late for
 * good, where they do not catch up (hls.js by default).
 */
const keyInterval = 1000;

/** Durations are milliseconds. Parts are no longer than asked for, segments as near to it as whole parts allow. */
export function gopTiming(framerate: number, partDuration: number, segmentDuration: number): GopTiming {
  const interval = 1000 / framerate;
  const perPart = Math.max(1, Math.floor((partDuration + 0.001) / interval));
  const wholeParts = (duration: number) => Math.max(1, Math.round(duration / interval / perPart)) * perPart;
  return { interval, perPart, perSegment: wholeParts(segmentDuration), perKey: wholeParts(keyInterval) };
}

/** Whether this picture begins anew: parts that begin with it can be decoded without those before. */
export function isKeyFrame(number: number, { perSegment, perKey }: GopTiming): boolean {
  const at = number % perSegment;
  // Right before the next segment one would only cost bits.
  return at === 0 || (at % perKey === 0 && perSegment - at >= perKey / 2);
}

/**
 * `next`: the picture behind the last one; `due`: the one whose time it is. Where that is far ahead, those between are left out, but no part
 * is without a picture at its beginning: its length is told to players, and has to be right.
 */
export function nextFrame(next: number, due: number, perPart: number): number {
  if (due - next <= maxLateFrames) return next;
  return Math.min(due, Math.ceil(next / perPart) * perPart);
}

/** Rounds of sound, of 21.3 ms each: 10 s. The slowest machine that makes a stream at all makes a picture in far less. */
const maxWaitMs = 470;

/**
 * Whether pictures still come. It counts rounds of sound, not time: a process that stood still meanwhile, with its machine or for want of a
 * core, makes up for all of it in one round.
 */
export class FrameWatchdog {
  #rounds = 0;

  pictureMade(): void {
    this.#rounds = 0;
  }

  /** @returns whether no picture is to be hoped for */
  soundMade(): boolean {
    this.#rounds += 1;
    return this.#rounds >= maxWaitMs;
  }
}
