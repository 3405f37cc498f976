// A reporter of node:test that writes only the counts of the whole run, as one line of JSON.

/**
 * @param {AsyncIterable<{ type: string, data: { file?: string, counts?: Record<string, number> } }>} source
 * @returns {AsyncGenerator<string>}
 */
async function* countReporter(source) {
  for await (const { type, data } of source) {
    // Each file has its summary; the one without a file is of all of them.
    if (type === 'test:summary' && data.file === undefined) yield `${JSON.stringify(data.counts)}\n`;
  }
}

// biome-ignore lint/style/noDefaultExport: node:test takes a reporter from the default export.
export default countReporter;
