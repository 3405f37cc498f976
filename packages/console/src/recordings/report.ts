// Recording report: parses the untrusted report.json for the page; invalid values are omitted.
import type { RecordingSummary, Upload } from '../../../server-sdk/src/generated/schemas.ts';
import { nameOf } from '../api/types.ts';
import { stripBidiControls } from '../user-text.ts';

/** `offset` and `duration` in milliseconds; `offset` from the start of the recording. */
export type ReportTrack = {
  id: string;
  /** Undefined if nothing could be recorded; `problem` says why. */
  file: string | undefined;
  kind: 'audio' | 'video';
  encoding: string;
  size: string | undefined;
  originName: string;
  /** Type and id of the track origin. */
  origin: string;
  about: string | undefined;
  offset: number | undefined;
  duration: number | undefined;
  lostPackets: number;
  problem: string | undefined;
};
/** `duration` in milliseconds. */
export type Rendered = { size: string | undefined; duration: number | undefined; bytes: number | undefined; problems: string[] };
/** `interrupted`: its report has the state `running`, but its node is not in the cluster. */
export type ReportState = RecordingSummary['state'] | 'interrupted';
export type Report = {
  type: RecordingSummary['type'];
  roomId: string;
  node: string;
  state: ReportState;
  startTime: number | undefined;
  endTime: number | undefined;
  tracks: ReportTrack[];
  /** File with captions; undefined if speech was not transcribed. */
  captions: string | undefined;
  rendered: Rendered | undefined;
  upload: Upload | undefined;
};

const maxText = 160;

type Fields = Readonly<Record<string, unknown>>;

export function readReport(value: unknown): Report {
  const report = fieldsOf(value);
  const upload = fieldsOf(report.upload);
  const { state } = upload;
  const known = state === 'pending' || state === 'done' || state === 'failed';
  return {
    type: report.type === 'hls' ? 'hls' : 'recording',
    roomId: textOf(report.roomId) ?? '',
    node: textOf(report.node) ?? '',
    state: report.state === 'running' || report.state === 'recovered' ? report.state : 'finished',
    startTime: timeOf(report.startTime),
    endTime: timeOf(report.endTime),
    tracks: Array.isArray(report.tracks) ? report.tracks.map((track, index) => readTrack(fieldsOf(track), index)) : [],
    captions: textOf(report.captions),
    rendered: typeof report.rendered === 'object' && report.rendered !== null ? readRendered(fieldsOf(report.rendered)) : undefined,
    upload: known ? { state, time: textOf(upload.time), problem: textOf(upload.problem) } : undefined,
  };
}

/** @param nodes names of all nodes of the cluster */
export function markInterrupted<Made extends Pick<Report, 'node' | 'state'>>(made: Made, nodes: readonly string[]): Made {
  return made.state === 'running' && !nodes.includes(made.node) ? { ...made, state: 'interrupted' } : made;
}

/** Milliseconds from its start to its end, or to the end of its known tracks while it is running. */
export function lengthOf({ startTime, endTime, tracks }: Report): number {
  const measured = startTime !== undefined && endTime !== undefined ? endTime - startTime : 0;
  return tracks.reduce((longest, { offset = 0, duration = 0 }) => Math.max(longest, offset + duration), Math.max(measured, 0));
}

function readRendered({ duration, bytes, problems, ...rest }: Fields): Rendered {
  return {
    size: sizeOf(rest),
    duration: numberOf(duration),
    bytes: numberOf(bytes),
    problems: Array.isArray(problems) ? problems.map(String) : [],
  };
}

function sizeOf({ width, height }: Fields): string | undefined {
  return numberOf(width) !== undefined && numberOf(height) !== undefined ? `${numberOf(width)}×${numberOf(height)}` : undefined;
}

function readTrack(track: Fields, index: number): ReportTrack {
  const { peerId, componentId } = fieldsOf(track.origin);
  const peer = textOf(peerId);
  const component = textOf(componentId);
  const name = nameOf(track.metadata);
  const id = peer ?? component;
  const origin = peer !== undefined ? 'peer' : component !== undefined ? 'component' : undefined;
  return {
    id: textOf(track.trackId) ?? String(index),
    file: textOf(track.file),
    kind: track.type === 'video' ? 'video' : 'audio',
    encoding: textOf(track.encoding) ?? 'unknown',
    size: sizeOf(track),
    originName: short(name ?? id ?? 'unknown'),
    origin: origin === undefined ? '' : name === undefined || id === undefined ? origin : `${origin} ${id}`,
    about: aboutOf(track.metadata),
    offset: numberOf(track.offset),
    duration: numberOf(track.duration),
    lostPackets: numberOf(track.lostPackets) ?? 0,
    problem: textOf(track.problem),
  };
}

/** Metadata without the name; undefined if nothing remains. */
function aboutOf(metadata: unknown): string | undefined {
  if (metadata === null || metadata === undefined) return undefined;
  if (typeof metadata !== 'object') return short(String(metadata));
  const { name: _, ...rest } = metadata as Fields;
  if (Object.keys(rest).length === 0) return undefined;
  const { source } = rest;
  return short(Object.keys(rest).length === 1 && typeof source === 'string' ? source : JSON.stringify(rest));
}

/** Untrusted text: may be long and contain marks that change the direction of the following text. */
function short(measured: string): string {
  const text = stripBidiControls(measured);
  return text.length <= maxText ? text : `${[...text.slice(0, maxText)].slice(0, -1).join('')}…`;
}

const fieldsOf = (value: unknown): Fields => (typeof value === 'object' && value !== null ? (value as Fields) : {});
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined);
const numberOf = (value: unknown): number | undefined =>
  typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined;

function timeOf(value: unknown): number | undefined {
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isNaN(time) ? undefined : time;
}
