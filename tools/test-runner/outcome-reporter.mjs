// Reporter of node:test: writes the result of a test file as one line of JSON with counts and failures.

import { inspect } from 'node:util';

/**
 * @typedef {object} TestEvent
 * @property {string} type
 * @property {{ name?: string, file?: string, line?: number, counts?: Record<string, number>, details?: { error?: { failureType?: string, cause?: unknown } } }} data
 *
 * @typedef {object} Outcome
 * @property {Record<string, number>} counts
 * @property {string[]} failures each failed test with location and error
 */

/** Maximum length of an error that is repeated at the end, in characters. */
const maxErrorLength = 4_000;

/**
 * @param {AsyncIterable<TestEvent>} source
 * @returns {AsyncGenerator<string>}
 */
async function* outcomeReporter(source) {
  /** @type {string[]} */
  const failures = [];
  for await (const { type, data } of source) {
    // A test that failed only because of a subtest is not reported twice.
    if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') failures.push(failure(data));
    if (type === 'test:summary') yield `${JSON.stringify({ counts: data.counts, failures })}\n`;
  }
}

/**
 * @param {TestEvent['data']} data
 * @returns {string}
 */
function failure({ name, file, line, details }) {
  const error = inspect(details?.error?.cause ?? details?.error, { depth: 3 });
  return `${file}:${line} ${name}\n${error.slice(0, maxErrorLength)}`;
}

// biome-ignore lint/style/noDefaultExport: node:test loads a reporter from the default export.
export default outcomeReporter;
