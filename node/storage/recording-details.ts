// Recording details: summaries of recordings on this node for lists, from their reports.
import { join } from 'node:path';
import { latestRecordingIds, maxRecordingDetails, type RecordingSummary, recordingSummarySchema } from '../../api/recording.ts';
import { mapConcurrent } from './map-concurrent.ts';
import { readReportFile } from './report-file.ts';

const reportsAtOnce = 16;

/** `resources`: absolute path of the resources directory. Recordings without a readable report are skipped. */
export async function recordingDetails(resources: string, ids: readonly string[]): Promise<RecordingSummary[]> {
  const found = await mapConcurrent(latestRecordingIds(ids, maxRecordingDetails), reportsAtOnce, async (id) => {
    const report = await readReportFile(join(resources, 'recordings', id));
    return recordingSummarySchema.safeParse(report).data;
  });
  return found.filter((summary) => summary !== undefined);
}
