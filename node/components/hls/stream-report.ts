// report.json of a stream: what it is, and, by the time of the file, whether somebody is at work on it.
import { readFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { type Report, readReport } from '../../rooms/shapes/recording-report.ts';
import { reportName, writeReportFile } from '../../storage/report-file.ts';

/** The report is touched so often, in milliseconds. */
const touchInterval = 2000;

export class StreamReport {
  readonly #log: Log;
  readonly #folder: string;
  #report: Report;
  #touch: Timer | undefined;
  #closed = false;

  private constructor(folder: string, report: Report, log: Log) {
    this.#folder = folder;
    this.#report = report;
    this.#log = log;
    this.#keepTouching();
  }

  /** @throws Error where the disk refuses */
  static async create(folder: string, report: Report, log: Log): Promise<StreamReport> {
    await writeReportFile(folder, report);
    return new StreamReport(folder, report, log);
  }

  /** Writes it for the last time. Never fails. */
  async finish(change: Partial<Report>): Promise<void> {
    this.close();
    this.#report = { ...this.#report, ...change };
    await writeReportFile(this.#folder, this.#report).catch((error: unknown) => {
      this.#log.error({ err: error }, 'the report of a stream cannot be written');
    });
  }

  close(): void {
    this.#closed = true;
    this.#touch?.stop();
  }

  #keepTouching(): void {
    this.#touch = new Timer(touchInterval, () => {
      const now = new Date();
      // Where the disk does not even take this, the stream itself fails.
      utimes(join(this.#folder, reportName), now, now).catch(() => {});
      if (!this.#closed) this.#keepTouching();
    });
  }
}

/** `touched`: milliseconds since 1970. @returns undefined where there is none that can be read */
export async function readStreamReport(folder: string): Promise<{ report: Report; touched: number } | undefined> {
  try {
    const path = join(folder, reportName);
    const [text, { mtimeMs }] = await Promise.all([readFile(path, 'utf8'), stat(path)]);
    const report = readReport(text);
    return report && { report, touched: mtimeMs };
  } catch {
    return undefined;
  }
}
