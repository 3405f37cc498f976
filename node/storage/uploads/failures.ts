// The failures of one upload in a row: how long to wait, what they are called, and whether the storage refuses it for good.
import { StorageError } from '../s3/s3-errors.ts';
import { retryDelay, type UploadSettings } from './settings.ts';

/** The storage may answer otherwise once: a second refusal in a row is one that somebody must mend. */
const refusalsForGood = 2;

/** `delay`: milliseconds until the next try. `isNews`: the last failure had another sentence. `toShow`: whoever looks at the component is to know. */
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

  /** `now`: milliseconds of a clock that only goes on. */
  add(error: unknown, now: number): Failure {
    this.#count += 1;
    this.#since ??= now;
    this.#refusals = error instanceof StorageError && error.fault === 'refused' ? this.#refusals + 1 : 0;
    const problem = sentenceOf(error);
    const isNews = problem !== this.#problem;
    this.#problem = problem;
    const isRefused = this.#refusals >= refusalsForGood;
    // However long the way to the storage was broken before: the second refusal comes soon after the first.
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

function sentenceOf(error: unknown): string {
  if (error instanceof StorageError) return error.message;
  const { code } = error as NodeJS.ErrnoException;
  return code === undefined ? 'The files cannot be sent' : `The files cannot be read (${code})`;
}
