// How patient uploads are.

/** Milliseconds. */
export type UploadSettings = {
  /** Between two looks at what a growing file has more. */
  growth: number;
  /** Between two uploads of a file that changes again and again. */
  again: number;
  /** Until the first try after a failure, doubled with each more, and the longest. A part of it is left to chance. */
  firstDelay: number;
  maxDelay: number;
  /** Without a success after which a failure that is no refusal is more than a passing one: whoever looks at the component is told. */
  problemAfter: number;
  /** After its files were as they are to be, an upload is given up. */
  maxAge: number;
  /** Between two looks for what processes left that are gone. */
  scan: number;
  /** An upload that was left before its end, and that nobody takes up, is taken for ended. */
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

/** Milliseconds until the next try; `failures`: how many in a row, from 1. `chance`: from 0 to 1. */
export function retryDelay(failures: number, { firstDelay, maxDelay }: UploadSettings, chance: number): number {
  return Math.min(maxDelay, firstDelay * 2 ** Math.min(failures - 1, 30)) * (0.5 + chance / 2);
}
