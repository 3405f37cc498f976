// Raw stats: requests statistics of a media worker with a timeout; undefined if the subject has ended meanwhile.
import { isClosedError, mediaClosedError, toWorkerError } from './media-error.ts';
import type { WorkerProcess } from './worker/worker-process.ts';

type Measured<Stats> = { readonly closed: boolean; getStats(): Promise<Stats> };

/** @throws ServiceError `unavailable` */
export async function rawStats<Stats>(worker: WorkerProcess, about: Measured<Stats>): Promise<Stats | undefined> {
  try {
    return await worker.call('statistics', about.getStats());
  } catch (error) {
    if (isClosedError(error, about)) return undefined;
    throw toWorkerError(error, mediaClosedError);
  }
}
