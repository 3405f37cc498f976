// report.json of a folder that is kept: written whole or not at all, with what has become of its upload.
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { UploadState } from '../rooms/recordings.ts';

export const reportName = 'report.json';

const reportFileSchema = z.record(z.string(), z.unknown());
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

/** Nothing where there is no report. @throws Error where the disk refuses */
export async function writeUploadState(folder: string, upload: UploadState): Promise<void> {
  const report = await readReportFile(folder);
  if (report) await writeReportFile(folder, { ...report, upload });
}
