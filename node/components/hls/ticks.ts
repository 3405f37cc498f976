// Which picture of the stream is made next, and how parts and segments are counted in pictures.

export type Rhythm = {
  /** Milliseconds between two pictures. */
  interval: number;
  /** Pictures of a part; segments are whole parts. */
  perPart: number;
  perSegment: number;
};

/** Pictures that it may be late before some are left out. */
const patience = 2;

/** Durations are milliseconds. Parts are no longer than asked for, segments as near to it as whole parts allow. */
export function rhythmOf(framerate: number, partDuration: number, segmentDuration: number): Rhythm {
  const interval = 1000 / framerate;
  const perPart = Math.max(1, Math.floor((partDuration + 0.001) / interval));
  return { interval, perPart, perSegment: Math.max(1, Math.round(segmentDuration / interval / perPart)) * perPart };
}

/**
 * `next`: the picture behind the last one; `due`: the one whose time it is. Where that is far ahead, those between are left out, but no part
 * is without a picture at its beginning: its length is told to players, and has to be right.
 */
export function pictureToMake(next: number, due: number, perPart: number): number {
  if (due - next <= patience) return next;
  return Math.min(due, Math.ceil(next / perPart) * perPart);
}
