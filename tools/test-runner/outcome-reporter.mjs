// Reporter of node:test: writes the result of a test file as one line of JSON with counts and failures; of a batch, first a line per file.

import { basename } from 'node:path';
import { inspect } from 'node:util';

/**
 * @typedef {object} TestEvent
 * @property {string} type
 * @property {{ name?: string, file?: string, line?: number, skip?: unknown, todo?: unknown, counts?: Record<string, number>, details?: { type?: string, error?: { failureType?: string, cause?: unknown } } }} data
 *
 * @typedef {object} Outcome
 * @property {Record<string, number>} counts
 * @property {string[]} failures each failed test with location and error
 *
 * @typedef {object} BatchedFile result of a file in a batch
 * @property {string} path relative to the root
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 * @property {string[]} failures
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
  let current = noResult();
  for await (const { type, data } of source) {
    const isEnd = data.file !== undefined && basename(data.file) === 'test-batch.mjs';
    // A test that failed only because of a subtest is not reported twice.
    if (type === 'test:fail' && data.details?.error?.failureType !== 'subtestsFailed') {
      const text = failure(data);
      failures.push(text);
      current.failures.push(text);
    }
    if (type === 'test:fail' || (type === 'test:pass' && !isEnd)) count(current, type, data);
    if (isEnd && (type === 'test:fail' || type === 'test:pass')) {
      yield `${JSON.stringify({ ...current, path: data.name })}\n`;
      current = noResult();
    }
    if (type === 'test:summary') yield `${JSON.stringify({ counts: data.counts, failures })}\n`;
  }
}

/** @returns {BatchedFile} */
function noResult() {
  return { path: '', passed: 0, failed: 0, skipped: 0, failures: [] };
}

/**
 * @param {BatchedFile} result
 * @param {'test:pass' | 'test:fail'} type
 * @param {TestEvent['data']} data
 */
function count(result, type, { skip, todo, details }) {
  if (details?.type === 'suite') return;
  if (skip !== undefined || todo !== undefined) result.skipped += 1;
  else if (type === 'test:pass') result.passed += 1;
  else result.failed += 1;
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
