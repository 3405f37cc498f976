// A reporter of node:test that writes what came of the whole run as one line of JSON: its counts, and the secrets that it printed.

import { inspect } from 'node:util';

import { readSecrets, SecretSearch, secretsVariable } from './secret-search.mjs';

/**
 * @typedef {object} Told
 * @property {string} type
 * @property {{ name?: string, message?: string, file?: string, counts?: Record<string, number>, details?: { error?: unknown } }} data
 *
 * @typedef {{ counts: Record<string, number>, secrets: string[] }} Outcome secrets: a sentence for every kind that was printed
 */

/**
 * @param {AsyncIterable<Told>} source
 * @returns {AsyncGenerator<string>}
 */
async function* outcomeReporter(source) {
  /** @type {string[]} */
  const printed = [];
  for await (const { type, data } of source) {
    if (data.message !== undefined) printed.push(data.message);
    if (type === 'test:pass' || type === 'test:fail') printed.push(`\n${data.name}\n`);
    if (type === 'test:fail') printed.push(`${inspect(data.details?.error, { depth: 5 })}\n`);
    // Each file has its summary; the one without a file is of all of them.
    if (type === 'test:summary' && data.file === undefined)
      yield `${JSON.stringify({ counts: data.counts, secrets: secretsIn(printed.join('')) })}\n`;
  }
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
