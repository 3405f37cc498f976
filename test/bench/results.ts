// Results of the last benchmarks: one file, from which docs/explanation/benchmarks.md is generated, so that each result exists once.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Results } from './report.ts';
import { withResults } from './results-page.ts';

const root = join(import.meta.dirname, '../..');
const resultsPath = 'test/bench/results.json';
const pagePath = 'docs/explanation/benchmarks.md';

export function readResults(): Results {
  return JSON.parse(readFileSync(join(root, resultsPath), 'utf8'));
}

/** The results of HEAD; the current file if this is not a checkout, or HEAD does not have the file. */
export function committedResults(): Results {
  try {
    return JSON.parse(execFileSync('git', ['show', `HEAD:${resultsPath}`], { cwd: root, encoding: 'utf8', stdio: 'pipe' }));
  } catch {
    return readResults();
  }
}

/** Replaces the results of the benchmarks that were measured. `names`: all benchmarks, in the order of the page. */
export function mergeResults(old: Results, measured: Results, names: readonly string[]): Results {
  const all = { ...old, ...measured };
  return Object.fromEntries(names.flatMap((name) => (all[name] ? [[name, all[name]]] : [])));
}

/** Writes the file and the page. @returns their paths from the root */
export function writeResults(results: Results): string[] {
  const biome = join(root, 'node_modules/.bin/biome');
  const input = JSON.stringify(results);
  const text = execFileSync(biome, ['format', `--stdin-file-path=${resultsPath}`], { cwd: root, input, encoding: 'utf8', timeout: 30_000 });
  writeFileSync(join(root, resultsPath), text);
  writeFileSync(join(root, pagePath), withResults(readPage(), results));
  return [resultsPath, pagePath];
}

export function readPage(): string {
  return readFileSync(join(root, pagePath), 'utf8');
}

if (import.meta.main) writeResults(readResults());
