// Loaded into the process of every test file: ends one that outlives its deadline and says what keeps it alive. node:test itself
// gives a deadline to tests only, and would wait for ever for a file that leaves a socket or timer open.

import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';

import { testFileVariable, timeoutVariable } from '../paths.mjs';

const file = process.env[testFileVariable];
const deadline = Number(process.env[timeoutVariable]);

// Workers and forked processes inherit --import.
if (isMainThread && deadline > 0 && file !== undefined && resolve(process.argv[1] ?? '') === file) {
  setTimeout(() => {
    const resources = [...new Set(process.getActiveResourcesInfo())].join(', ');
    console.error(`${file} was still running after ${deadline / 1000} s and was ended; open: ${resources || 'nothing'}`);
    process.exit(1);
  }, deadline).unref();
}
