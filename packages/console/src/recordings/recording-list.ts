// Recording list: rows of all recordings, the newest first, with the summaries that the nodes returned.
import type { RecordingSummary } from '../../../server-sdk/src/generated/schemas.ts';
import { type RecordingList, roomOfRecording } from '../api/recordings.ts';
import { markInterrupted, type ReportState } from './report.ts';

type Summary = Omit<RecordingSummary, 'state'> & { state: ReportState };
/** `summary` is undefined if the nodes returned the id only. `start`: milliseconds since 1970. */
export type RecordingRow = { id: string; roomId: string; start: number | undefined; summary: Summary | undefined };

/** @param nodes names of all nodes of the cluster */
export function rowsOf({ ids, described }: RecordingList, nodes: readonly string[]): RecordingRow[] {
  const byId = new Map(described.map((summary) => [summary.id, markInterrupted<Summary>(summary, nodes)]));
  // A recording that started between the two queries of a node is in one of the results only.
  const all = new Set([...ids, ...byId.keys()]);
  const rows = [...all].map((id) => {
    const summary = byId.get(id);
    return { id, roomId: summary?.roomId ?? roomOfRecording(id) ?? id, start: startOf(summary?.startTime, id), summary };
  });
  return rows.sort((one, other) => (other.start ?? 0) - (one.start ?? 0) || (one.id < other.id ? -1 : 1));
}

/** Rows that contain every word. */
export function matching(rows: readonly RecordingRow[], search: string): RecordingRow[] {
  const words = search.toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter(({ id, summary }) => {
    const text =
      `${id} ${summary?.node ?? ''} ${summary?.state ?? ''} ${summary?.type ?? ''} ${summary?.upload?.state ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** Ids end with their start time: `-20261121T120000005Z`. */
function startOf(reported: string | undefined, id: string): number | undefined {
  const [, year, month, day, hour, minute, second, rest] = /-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(\d{3})Z$/.exec(id) ?? [];
  const time = Date.parse(reported ?? (year ? `${year}-${month}-${day}T${hour}:${minute}:${second}.${rest}Z` : ''));
  return Number.isNaN(time) ? undefined : time;
}
