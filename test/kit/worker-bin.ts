// Tells mediasoup where its worker is. Import it before anything that imports node/media: mediasoup looks once, when it is loaded.
import { findWorker } from '../../node/setup/worker.mjs';

const worker = process.env.MEDIASOUP_WORKER_BIN || findWorker();
if (!worker) throw new Error('There is no media worker yet: run npm test, which gets one.');
process.env.MEDIASOUP_WORKER_BIN = worker;
