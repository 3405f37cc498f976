// Report file: reads and atomically writes report.json of a folder, including the state of its upload.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { UploadState } from '../../api/recording.ts';

export const reportName = 'report.json';

export const reportFileSchema = z.record(z.string(), z.unknown());
export type ReportFile = z.infer<typeof reportFileSchema>;

/** Atomic, even if the process ends at any time. */
export async function writeReportFile(folder: string, report: object): Promise<void> {
  const temporary = join(folder, `.${reportName}`);
  await writeFile(temporary, reportText(report), { mode: 0o640 });
  await rename(temporary, join(folder, reportName));
}

export function reportText(report: object): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** @returns undefined if there is no readable report. */
export async function readReportFile(folder: string): Promise<ReportFile | undefined> {
  try {
    return reportFileSchema.parse(JSON.parse(await readFile(join(folder, reportName), 'utf8')));
  } catch {
    return undefined;
  }
}

/** Updates in progress by folder. Concurrent updates would overwrite each other. */
const changing = new Map<string, Promise<void>>();

/** For finished folders. Does nothing if there is no report. @throws Error of the disk */
export async function updateReportFile(folder: string, change: (report: ReportFile) => ReportFile): Promise<void> {
  const before = changing.get(folder) ?? Promise.resolve();
  const changed = before.then(async () => {
    const report = await readReportFile(folder);
    if (report) await writeReportFile(folder, change(report));
  });
  const settled = changed.catch(() => {});
  changing.set(folder, settled);
  try {
    await changed;
  } finally {
    if (changing.get(folder) === settled) changing.delete(folder);
  }
}

export function writeUploadState(folder: string, upload: UploadState): Promise<void> {
  return updateReportFile(folder, (report) => ({ ...report, upload }));
}

/** For a folder with a new or changed file: the upload is not complete any more. */
export function markUploadPending(report: ReportFile): ReportFile {
  const { state } = (report.upload ?? {}) as Partial<UploadState>;
  return state === 'done' ? { ...report, upload: { state: 'pending' } } : report;
}
