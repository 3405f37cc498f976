// Upload settings: intervals, delays and timeouts.

/** Milliseconds. */
export type UploadSettings = {
  /** Interval at which a growing file is checked for new data. */
  growth: number;
  /** Minimum interval between uploads of a file that changes repeatedly. */
  again: number;
  /** Delay after the first failure, doubled after each further one, and the maximum. A part of it is random. */
  firstDelay: number;
  maxDelay: number;
  /** Time without a success after which a failure other than a rejection is reported by the component. */
  problemAfter: number;
  /** Time after the end of a recording after which its upload fails permanently. */
  maxAge: number;
  /** Interval of scans for orphaned uploads. */
  scan: number;
  /** Time after which an orphaned upload that no component resumes counts as finished. */
  orphanedAfter: number;
};

export const uploadSettings: UploadSettings = {
  growth: 10_000,
  again: 2000,
  firstDelay: 1000,
  maxDelay: 60_000,
  problemAfter: 15_000,
  maxAge: 24 * 3600_000,
  scan: 10_000,
  orphanedAfter: 3600_000,
};

/** Milliseconds until the next attempt; `failures`: number of consecutive ones, from 1. `chance`: from 0 to 1. */
export function retryDelay(failures: number, { firstDelay, maxDelay }: UploadSettings, chance: number): number {
  return Math.min(maxDelay, firstDelay * 2 ** Math.min(failures - 1, 30)) * (0.5 + chance / 2);
}
