// A reporter of node:test that writes what came of the whole run as one line of JSON: its counts, how long each file took, what failed, and the secrets that it printed.

import { inspect } from 'node:util';

import { readSecrets, SecretSearch, secretsVariable } from './secret-search.mjs';

/**
 * @typedef {object} Told
 * @property {string} type
 * @property {{ name?: string, message?: string, file?: string, line?: number, counts?: Record<string, number>, duration_ms?: number, details?: { error?: { failureType?: string, cause?: unknown } } }} data
 *
 * @typedef {object} Outcome
 * @property {Record<string, number>} counts
 * @property {Record<string, number>} files milliseconds that each took
 * @property {string[]} failures each failed test with its place and error
 * @property {string[]} secrets a sentence for every kind that was printed
 */

/** How much of an error is said again at the end, in characters. */
const longestError = 4_000;

/**
 * @param {AsyncIterable<Told>} source
 * @returns {AsyncGenerator<string>}
 */
async function* outcomeReporter(source) {
  /** @type {string[]} */
  const printed = [];
  /** @type {string[]} */
  const failures = [];
  /** @type {Record<string, number>} */
  const files = {};
  for await (const { type, data } of source) {
    if (data.message !== undefined) printed.push(data.message);
    if (type === 'test:pass' || type === 'test:fail') printed.push(`\n${data.name}\n`);
    if (type === 'test:fail') {
      const error = inspect(data.details?.error, { depth: 5 });
      printed.push(`${error}\n`);
      // What only failed with one of its own parts is not told twice.
      if (data.details?.error?.failureType !== 'subtestsFailed') failures.push(failure(data));
    }
    if (type !== 'test:summary') continue;
    // Each file has its summary; the one without a file is of all of them.
    if (data.file !== undefined) files[data.file] = data.duration_ms ?? 0;
    else yield `${JSON.stringify({ counts: data.counts, files, failures, secrets: secretsIn(printed.join('')) })}\n`;
  }
}

/**
 * @param {Told['data']} data
 * @returns {string}
 */
function failure({ name, file, line, details }) {
  const error = inspect(details?.error?.cause ?? details?.error, { depth: 3 });
  return `${file}:${line} ${name}\n${error.slice(0, longestError)}`;
}

/**
 * @param {string} text
 * @returns {string[]}
 */
function secretsIn(text) {
  // Which secrets there are is known only now: the tests note them as they go.
  const search = new SecretSearch(readSecrets(process.env[secretsVariable] ?? ''));
  search.look(text);
  return search.found();
}

// biome-ignore lint/style/noDefaultExport: node:test takes a reporter from the default export.
export default outcomeReporter;
