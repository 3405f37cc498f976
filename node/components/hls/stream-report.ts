// report.json of a stream: describes it, and serves as heartbeat by its modification time.
import { readFile, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { type Report, readReport } from '../../../api/recording-report.ts';
import type { Log } from '../../common/log.ts';
import { Timer } from '../../common/timer.ts';
import { reportName, writeReportFile } from '../../storage/report-file.ts';

/** Milliseconds between two heartbeats (utimes of the report). */
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

  /** @throws Error if the disk write fails */
  static async create(folder: string, report: Report, log: Log): Promise<StreamReport> {
    await writeReportFile(folder, report);
    return new StreamReport(folder, report, log);
  }

  /** Writes it for the last time. Never rejects. */
  async finish(change: Partial<Report>): Promise<void> {
    this.close();
    this.#report = { ...this.#report, ...change };
    await writeReportFile(this.#folder, this.#report).catch((error: unknown) => {
      this.#log.error({ err: error }, 'could not write stream report');
    });
  }

  close(): void {
    this.#closed = true;
    this.#touch?.stop();
  }

  #keepTouching(): void {
    this.#touch = new Timer(touchInterval, () => {
      const now = new Date();
      // If this fails, the disk also fails the stream itself.
      utimes(join(this.#folder, reportName), now, now).catch(() => {});
      if (!this.#closed) this.#keepTouching();
    });
  }
}

/** `touched`: milliseconds since 1970. @returns undefined if no valid report exists */
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
