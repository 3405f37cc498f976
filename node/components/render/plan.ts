// Render plan: schedules the clips of a recording by its report, which is untrusted input.

import { formatValue } from '../../../api/derive/validation-messages.ts';
import { fileNameSchema } from '../../../api/recording.ts';
import type { Report, ReportTrack } from '../../../api/recording-report.ts';

/** A file of a track. Times are milliseconds since the beginning of the recording. */
export type Clip = {
  file: string;
  kind: 'audio' | 'video';
  /** Peer or component that published it: clips of one source share a layout cell. */
  source: string;
  start: number;
  /** Factor for times in the file: corrects the clock drift of the sender. */
  rate: number;
  /** End by the report; undefined if the report has none. */
  end: number | undefined;
};

/** `clips` by start. `skipped`: a message for each omitted track. `length`: as far as known. */
export type RenderPlan = { clips: Clip[]; skipped: string[]; length: number | undefined };

/** Maximum length of an accepted recording in milliseconds. */
export const maxLength = 7 * 24 * 3_600_000;
/** Maximum clock drift of a device; a larger difference is not drift. */
const maxDrift = 500e-6;
/** Milliseconds of an audio frame. */
const audioFrame = 20;

export function renderPlan(report: Report): RenderPlan {
  const clips: Clip[] = [];
  const skipped: string[] = [];
  for (const track of report.tracks) {
    const clip = clipOf(track);
    if (typeof clip === 'string') skipped.push(`Track ${formatValue(track.trackId)} was omitted: ${clip}`);
    else clips.push(clip);
  }
  clips.sort((a, b) => a.start - b.start);
  return { clips, skipped, length: lengthOf(report, clips) };
}

/** @returns the reason if the track cannot be used */
function clipOf(track: ReportTrack): Clip | string {
  const { file, type, offset, origin, duration, problem } = track;
  if (file === null) return `it has no file${problem === undefined ? '' : ` (${formatValue(problem)})`}`;
  if (!fileNameSchema.safeParse(file).success) return 'its file name is invalid';
  if (offset === undefined) return 'the report has no start time for it';
  if (Math.abs(offset) > maxLength) return 'its start time is outside of the recording';
  // A peer and a component may have the same id.
  const source = 'peerId' in origin ? `peer ${origin.peerId}` : `component ${origin.componentId}`;
  const rate = rateOf(track);
  const end = duration === undefined ? undefined : offset + duration * rate;
  return { file, kind: type, source, start: offset, rate, end };
}

/**
 * Frames are placed by the clock that created them, for example that of a sound card, which drifts. The times of the first and last frame
 * come from the clock that all tracks of a sender share.
 */
function rateOf({ type, startTime, endTime, duration, frames }: ReportTrack): number {
  if (startTime === undefined || endTime === undefined || duration === undefined || frames === undefined || frames < 2) return 1;
  const lastFrame = type === 'audio' ? duration - audioFrame : (duration * (frames - 1)) / frames;
  const rate = (Date.parse(endTime) - Date.parse(startTime)) / lastFrame;
  return Math.abs(rate - 1) <= maxDrift ? rate : 1;
}

function lengthOf({ startTime, endTime }: Report, clips: readonly Clip[]): number | undefined {
  const ends = clips.map(({ end }) => end);
  if (ends.every((end) => end !== undefined)) return Math.max(0, ...ends);
  return endTime === null ? undefined : Math.max(0, Date.parse(endTime) - Date.parse(startTime));
}
