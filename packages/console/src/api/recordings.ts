// Recordings API: lists recordings and saved streams of the cluster, reads reports, deletes recordings.
import type { RecordingSummary, Recordings } from '../../../server-sdk/src/generated/schemas.ts';
import { type Api, ApiError } from './rest.ts';

/** `ids`: all; `described`: the newest only. `incomplete`: unreachable nodes, and `s3`. */
export type RecordingList = { ids: string[]; described: RecordingSummary[]; incomplete: string[] };

const pathOf = (id: string): string => `recording/${encodeURIComponent(id)}`;

export const recordingEndpoints = {
  list: { method: 'GET', path: 'recording?details=true' },
  report: (id: string) => ({ method: 'GET', path: pathOf(id) }),
  file: (id: string, file: string) => ({ method: 'GET', path: `${pathOf(id)}/${encodeURIComponent(file)}` }),
  remove: (id: string) => ({ method: 'DELETE', path: pathOf(id) }),
};

/** The room of a recording, for which viewer tokens are issued; undefined if the id has a foreign format. */
export function roomOfRecording(id: string): string | undefined {
  return /^(.+)-\d{8}T\d{9}Z$/.exec(id)?.[1];
}

export async function listRecordings(api: Api, signal: AbortSignal): Promise<RecordingList> {
  const { method, path } = recordingEndpoints.list;
  const body = await api.call(method, path, undefined, signal);
  const { data = [], recordings = [], incomplete = [] } = body as Partial<Recordings>;
  return { ids: data, described: recordings, incomplete };
}

/** @returns the unchecked report, undefined if the recording does not exist */
export async function fetchReport(api: Api, id: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await api.call('GET', pathOf(id), undefined, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Deletes it from all nodes and from S3. Succeeds if it does not exist. */
export async function deleteRecording(api: Api, id: string): Promise<void> {
  try {
    await api.call('DELETE', pathOf(id));
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
}
