// Test file timeout, loaded into the process of every test file: kills a file that exceeds its timeout and prints its open resources.
// node:test has timeouts for tests only, and would wait forever for a file that leaves a socket or timer open.

import { resolve } from 'node:path';
import { isMainThread } from 'node:worker_threads';

import { testFileVariable, timeoutVariable } from '../paths.mjs';

const file = process.env[testFileVariable];
const deadline = Number(process.env[timeoutVariable]);

// Workers and forked processes inherit --import.
if (isMainThread && deadline > 0 && file !== undefined && resolve(process.argv[1] ?? '') === file) {
  setTimeout(() => {
    const resources = [...new Set(process.getActiveResourcesInfo())].join(', ');
    console.error(`${file} did not exit within ${deadline / 1000} s and was killed; open resources: ${resources || 'none'}`);
    process.exit(1);
  }, deadline).unref();
}
