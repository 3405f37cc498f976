// Recordings and kept streams of the whole cluster: lists, reports, and addresses of their files that do not hold the API token.
import type { RecordingSummary, Recordings } from '../../../server-sdk/src/generated/schemas.ts';
import { type Api, ApiError } from './rest.ts';

/** `ids`: of all; `described`: of the newest. `incomplete`: nodes that did not answer, and `s3`. */
export type RecordingList = { ids: string[]; described: RecordingSummary[]; incomplete: string[] };

const pathOf = (id: string): string => `recording/${encodeURIComponent(id)}`;

export const recordingEndpoints = {
  list: { method: 'GET', path: 'recording?details=true' },
  report: (id: string) => ({ method: 'GET', path: pathOf(id) }),
  file: (id: string, file: string) => ({ method: 'GET', path: `${pathOf(id)}/${encodeURIComponent(file)}` }),
  remove: (id: string) => ({ method: 'DELETE', path: pathOf(id) }),
};

/** The room that a recording is of, which viewers' tokens are made for; undefined where its id is none of ours. */
export function roomOfRecording(id: string): string | undefined {
  return /^(.+)-\d{8}T\d{9}Z$/.exec(id)?.[1];
}

export async function listRecordings(api: Api, signal: AbortSignal): Promise<RecordingList> {
  const { method, path } = recordingEndpoints.list;
  const body = await api.call(method, path, undefined, signal);
  const { data = [], recordings = [], incomplete = [] } = body as Partial<Recordings>;
  return { ids: data, described: recordings, incomplete };
}

/** @returns the report as it is, undefined where the recording is gone */
export async function fetchReport(api: Api, id: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await api.call('GET', pathOf(id), undefined, signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Removes it from all nodes and from S3. One that is gone already is fine. */
export async function deleteRecording(api: Api, id: string): Promise<void> {
  try {
    await api.call('DELETE', pathOf(id));
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
}
