// What of a recording is played when: by its report, which may be anybody's.

import { formatValue } from '../../common/validation-messages.ts';
import { fileNameSchema } from '../../rooms/shapes/content.ts';
import type { Report, ReportTrack } from '../../rooms/shapes/recording-report.ts';

/** A file of a track. Times are milliseconds since the beginning of the recording. */
export type Clip = {
  file: string;
  kind: 'audio' | 'video';
  /** The peer or component that it is of: clips of one share a place in the picture. */
  source: string;
  start: number;
  /** By which times in the file are multiplied: its sender's clock ran so much slower than ours. */
  rate: number;
  /** When it ends by the report; undefined where that does not say. */
  end: number | undefined;
};

/** `clips` by their beginning. `skipped`: a sentence for each track that is left out. `length`: as far as it is known. */
export type RenderPlan = { clips: Clip[]; skipped: string[]; length: number | undefined };

/** Milliseconds of the longest recording that is believed. */
export const maxLength = 7 * 24 * 3_600_000;
/** Clocks of devices differ from each other by less: what differs more is no drift. */
const maxDrift = 500e-6;
/** Milliseconds of a frame of sound. */
const soundFrame = 20;

export function renderPlan(report: Report): RenderPlan {
  const clips: Clip[] = [];
  const skipped: string[] = [];
  for (const track of report.tracks) {
    const clip = clipOf(track);
    if (typeof clip === 'string') skipped.push(`Track ${formatValue(track.trackId)} is left out: ${clip}`);
    else clips.push(clip);
  }
  clips.sort((a, b) => a.start - b.start);
  return { clips, skipped, length: lengthOf(report, clips) };
}

/** @returns why not, where it cannot be */
function clipOf(track: ReportTrack): Clip | string {
  const { file, type, offset, origin, duration, problem } = track;
  if (file === null) return `it has no file${problem === undefined ? '' : ` (${formatValue(problem)})`}`;
  if (!fileNameSchema.safeParse(file).success) return 'its file has a name that no recording has';
  if (offset === undefined) return 'the report does not say when it began';
  if (Math.abs(offset) > maxLength) return 'the report says that it began at no time of the recording';
  // A peer and a component may have the same id.
  const source = 'peerId' in origin ? `peer ${origin.peerId}` : `component ${origin.componentId}`;
  const rate = rateOf(track);
  const end = duration === undefined ? undefined : offset + duration * rate;
  return { file, kind: type, source, start: offset, rate, end };
}

/**
 * Frames are placed by the clock that made them, e.g. that of a sound card, which drifts; when the first and the last one were sent is known
 * by the clock that all tracks of a sender share.
 */
function rateOf({ type, startTime, endTime, duration, frames }: ReportTrack): number {
  if (startTime === undefined || endTime === undefined || duration === undefined || frames === undefined || frames < 2) return 1;
  const lastFrame = type === 'audio' ? duration - soundFrame : (duration * (frames - 1)) / frames;
  const rate = (Date.parse(endTime) - Date.parse(startTime)) / lastFrame;
  return Math.abs(rate - 1) <= maxDrift ? rate : 1;
}

function lengthOf({ startTime, endTime }: Report, clips: readonly Clip[]): number | undefined {
  const ends = clips.map(({ end }) => end);
  if (ends.every((end) => end !== undefined)) return Math.max(0, ...ends);
  return endTime === null ? undefined : Math.max(0, Date.parse(endTime) - Date.parse(startTime));
}
