// Where the media worker is; tells mediasoup too, which looks when it is loaded: hand `workerBin` on where that may have been before.
import { findWorker } from '../../../tools/worker/worker.mjs';

const found = process.env.MEDIASOUP_WORKER_BIN || findWorker();
if (!found) throw new Error('There is no media worker yet: run npm test, which gets one.');
process.env.MEDIASOUP_WORKER_BIN = found;

export const workerBin: string = found;
