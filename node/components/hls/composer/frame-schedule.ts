// Frame schedule: selects the next frame of the stream, detects a stalled composer and counts parts and segments in frames.

export type GopTiming = {
  /** Milliseconds between two frames. */
  interval: number;
  /** Frames of a part; segments consist of whole parts. */
  perPart: number;
  perSegment: number;
  /** Maximum of frames between two key frames of a segment. */
  perKey: number;
};

/** Frames that the composer may be late by before it drops some. */
const maxLateFrames = 2;

/**
 * Milliseconds between two key frames. Players start at the last key frame before their position, part by part. The time that this takes
 * becomes permanent delay unless the player catches up (hls.js does not by default).
 */
const keyInterval = 1000;

/** Durations are milliseconds. Parts are at most as long as requested; segments are as close to it as whole parts allow. */
export function gopTiming(framerate: number, partDuration: number, segmentDuration: number): GopTiming {
  const interval = 1000 / framerate;
  const perPart = Math.max(1, Math.floor((partDuration + 0.001) / interval));
  const wholeParts = (duration: number) => Math.max(1, Math.round(duration / interval / perPart)) * perPart;
  return { interval, perPart, perSegment: wholeParts(segmentDuration), perKey: wholeParts(keyInterval) };
}

/** True if this frame is a key frame: a part that begins with it can be decoded independently. */
export function isKeyFrame(number: number, { perSegment, perKey }: GopTiming): boolean {
  const at = number % perSegment;
  // A key frame right before the next segment would only cost bits.
  return at === 0 || (at % perKey === 0 && perSegment - at >= perKey / 2);
}

/**
 * `next`: number after the last frame; `due`: number of the current time. If `due` is far ahead, the frames between are dropped, but never
 * the first frame of a part, because the announced duration of the part must be correct.
 */
export function nextFrame(next: number, due: number, perPart: number): number {
  if (due - next <= maxLateFrames) return next;
  return Math.min(due, Math.ceil(next / perPart) * perPart);
}

/** Rounds of 21.3 ms of audio: 10 s. Even a slow machine that can create a stream at all encodes a frame in far less. */
const maxWaitMs = 470;

/**
 * Detects that no frames are produced any more. It counts rounds of audio instead of time: a process that was stopped or had no CPU catches
 * up in one round.
 */
export class FrameWatchdog {
  #rounds = 0;

  frameMade(): void {
    this.#rounds = 0;
  }

  /** @returns true if the composer has stalled */
  audioMade(): boolean {
    this.#rounds += 1;
    return this.#rounds >= maxWaitMs;
  }
}
