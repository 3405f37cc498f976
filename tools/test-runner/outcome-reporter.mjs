// A reporter of node:test that writes what came of a test file as one line of JSON: its counts, and what failed.

import { inspect } from 'node:util';

/**
 * @typedef {object} Told
 * @property {string} type
 * @property {{ name?: string, file?: string, line?: number, counts?: Record<string, number>, details?: { error?: { failureType?: string, cause?: unknown } } }} data
 *
 * @typedef {object} Outcome
 * @property {Record<string, number>} counts
 * @property {string[]} failures each failed test with its place and error
 */

/** How much of an error is said again at the end, in characters. */
const maxErrorLength = 4_000;

/**
 * @param {AsyncIterable<Told>} source
 * @returns {AsyncGenerator<string>}
 */
async function* outcomeReporter(source) {
  /** @type {string[]} */
  const failures = [];
  for await (const { type, data } of source) {
    // What only failed with one of its own parts is not told twice.
    if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') failures.push(failure(data));
    if (type === 'test:summary') yield `${JSON.stringify({ counts: data.counts, failures })}\n`;
  }
}

/**
 * @param {Told['data']} data
 * @returns {string}
 */
function failure({ name, file, line, details }) {
  const error = inspect(details?.error?.cause ?? details?.error, { depth: 3 });
  return `${file}:${line} ${name}\n${error.slice(0, maxErrorLength)}`;
}

// biome-ignore lint/style/noDefaultExport: node:test takes a reporter from the default export.
export default outcomeReporter;
