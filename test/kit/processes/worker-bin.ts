// Path of the media worker. Also sets it for mediasoup, which reads it when it is loaded: pass `workerBin` on if that may happen earlier.
import { findWorker } from '../../../tools/worker/worker.mjs';

const found = process.env.MEDIASOUP_WORKER_BIN || findWorker();
if (!found) throw new Error('The media worker is not built yet: run npm test, which builds it.');
process.env.MEDIASOUP_WORKER_BIN = found;

export const workerBin: string = found;
