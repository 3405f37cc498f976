// Recordings API: lists recordings and saved streams of the cluster, reads reports, deletes recordings.
import type { RecordingSummary } from '../../../server-sdk/src/generated/schemas.ts';
import { operationRequest } from './operation-request.ts';
import { type Api, ApiError } from './rest.ts';

/** `ids`: all; `described`: the newest only. `incomplete`: unreachable nodes, and `s3`. */
export type RecordingList = { ids: string[]; described: RecordingSummary[]; incomplete: string[] };

export const recordingEndpoints = {
  list: operationRequest('listRecordings', { query: { details: true } }),
  report: (recordingId: string) => operationRequest('getRecording', { path: { recordingId } }),
  file: (recordingId: string, file: string) => operationRequest('getRecordingFile', { path: { recordingId, file } }),
  remove: (recordingId: string) => operationRequest('deleteRecording', { path: { recordingId } }),
};

/** The room of a recording, for which viewer tokens are issued; undefined if the id has a foreign format. */
export function roomOfRecording(id: string): string | undefined {
  return /^(.+)-\d{8}T\d{9}Z$/.exec(id)?.[1];
}

export async function listRecordings(api: Api, signal: AbortSignal): Promise<RecordingList> {
  const { data = [], recordings = [], incomplete = [] } = await api.send(recordingEndpoints.list, signal);
  return { ids: data, described: recordings, incomplete };
}

/** @returns the unchecked report, undefined if the recording does not exist */
export async function fetchReport(api: Api, id: string, signal: AbortSignal): Promise<unknown> {
  try {
    return await api.send(recordingEndpoints.report(id), signal);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** Deletes it from all nodes and from S3. Succeeds if it does not exist. */
export async function deleteRecording(api: Api, id: string): Promise<void> {
  try {
    await api.send(recordingEndpoints.remove(id));
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 404)) throw error;
  }
}
