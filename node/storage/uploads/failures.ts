// Upload failures: counts consecutive failures of one upload and decides about delay, message, and rejection by the storage.
import { StorageError } from '../s3/s3-errors.ts';
import { retryDelay, type UploadSettings } from './settings.ts';

/** A single rejection may be temporary. The second one in a row needs a change by the operator. */
const refusalsForGood = 2;

/**
 * `delay`: milliseconds until the next attempt. `isNews`: the message differs from the last one. `toShow`: the component reports the
 * problem.
 */
export type Failure = { problem: string; delay: number; isNews: boolean; isRefused: boolean; toShow: boolean };

export class Failures {
  readonly #settings: UploadSettings;
  #count = 0;
  #refusals = 0;
  #since: number | undefined;
  #problem: string | undefined;

  constructor(settings: UploadSettings) {
    this.#settings = settings;
  }

  get count(): number {
    return this.#count;
  }

  /** `now`: monotonic clock in milliseconds. */
  add(error: unknown, now: number): Failure {
    this.#count += 1;
    this.#since ??= now;
    this.#refusals = error instanceof StorageError && error.fault === 'refused' ? this.#refusals + 1 : 0;
    const problem = problemOf(error);
    const isNews = problem !== this.#problem;
    this.#problem = problem;
    const isRefused = this.#refusals >= refusalsForGood;
    // After a first rejection the delay is short, even after a long outage of the storage.
    const delay = retryDelay(this.#refusals === 1 ? 1 : this.#count, this.#settings, Math.random());
    return { problem, delay, isNews, isRefused, toShow: isRefused || now - this.#since >= this.#settings.problemAfter };
  }

  clear(): void {
    this.#count = 0;
    this.#refusals = 0;
    this.#since = undefined;
    this.#problem = undefined;
  }
}

function problemOf(error: unknown): string {
  if (error instanceof StorageError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? 'The files cannot be sent' : `The files cannot be read (${code})`;
}
