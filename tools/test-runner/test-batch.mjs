// Test batch: runs test files one after the other in this process, `node test-batch.mjs FILE ...`, and fails each that changes global state.
// Most files of unit tests load much longer than they run.

import { relative } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { root } from '../paths.mjs';
import { changedState, readState } from './global-state.mjs';

// Without it node:test would end while a test waits for something that keeps no process alive.
const alive = setInterval(() => {}, 60_000);
// With its first hook or test node:test adds listeners to the process.
after(() => {});
let before = readState();

for (const file of process.argv.slice(2)) {
  /** @type {unknown} */
  let error;
  try {
    await import(pathToFileURL(file).href);
  } catch (caught) {
    error = caught;
  }
  // It starts when the tests of the file have ended; outcome-reporter.mjs and test-files.mjs recognize it.
  await test(relative(root, file), () => {
    const now = readState();
    const changed = changedState(before, now);
    before = now;
    if (error !== undefined) throw error;
    if (changed.length === 0) return;
    throw new Error(`The file changed for the next ones: ${changed.join(', ')}; restore it, or name the file in "apart" of layers.mjs`);
  });
}
clearInterval(alive);
