// report.json of a folder that is kept: written whole or not at all, with what has become of its upload.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { UploadState } from '../rooms/shapes/recordings.ts';

export const reportName = 'report.json';

export const reportFileSchema = z.record(z.string(), z.unknown());
export type ReportFile = z.infer<typeof reportFileSchema>;

/** All of it or nothing, whenever the process ends. */
export async function writeReportFile(folder: string, report: object): Promise<void> {
  const temporary = join(folder, `.${reportName}`);
  await writeFile(temporary, reportText(report), { mode: 0o640 });
  await rename(temporary, join(folder, reportName));
}

export function reportText(report: object): string {
  return `${JSON.stringify(report, null, 2)}\n`;
}

/** @returns undefined where there is none, or none that can be read. */
export async function readReportFile(folder: string): Promise<ReportFile | undefined> {
  try {
    return reportFileSchema.parse(JSON.parse(await readFile(join(folder, reportName), 'utf8')));
  } catch {
    return undefined;
  }
}

/** What is being changed, by folder: of two who do it at once, one would take back what the other said. */
const changing = new Map<string, Promise<void>>();

/** Of a folder that is as it is to be. Nothing where there is no report. @throws Error where the disk refuses */
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

/** Of a folder that has one more file, or another: that all is up is not true any more. */
export function markUploadPending(report: ReportFile): ReportFile {
  const { state } = (report.upload ?? {}) as Partial<UploadState>;
  return state === 'done' ? { ...report, upload: { state: 'pending' } } : report;
}
