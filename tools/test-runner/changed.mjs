// Changed files: finds the files that `npm test -- --changed [REV]` treats as changed, and the tests to run for them.

import { extname, join } from 'node:path';

import { root } from '../paths.mjs';
import { run, SetupError } from '../steps.mjs';
import { reachedBy } from './reach.mjs';

const flag = '--changed';

/**
 * @param {readonly string[]} args of `npm test`
 * @param {readonly string[]} words that are not a revision: names of layers
 * @returns {{ revision: string | undefined, rest: string[] }} HEAD if none is named; undefined without the flag
 */
export function takeRevision(args, words) {
  const at = args.indexOf(flag);
  if (at < 0) return { revision: undefined, rest: [...args] };
  const named = args[at + 1];
  const revision = named === undefined || words.includes(named) ? undefined : named;
  return { revision: revision ?? 'HEAD', rest: args.filter((_, index) => index !== at && (revision === undefined || index !== at + 1)) };
}

/**
 * @param {string} revision
 * @returns {Promise<string[]>} absolute paths of existing files that differ from the revision or are untracked
 */
export async function changedSince(revision) {
  const lists = [
    ['diff', '--name-only', '--diff-filter=d', '-z', '--end-of-options', revision, '--'],
    ['ls-files', '--others', '--exclude-standard', '-z'],
  ];
  const names = [];
  for (const args of lists) {
    const { code, output } = await run('git', args, { cwd: root, deadline: 60_000 });
    if (code !== 0) throw new SetupError(`git cannot list changes since "${revision}": ${output.trim().split('\n', 1)[0]}`);
    names.push(...output.split('\0').filter(Boolean));
  }
  return names.map((name) => join(root, name));
}

/**
 * The house layer always runs. A change that no test reaches may affect any test, unless it is a document.
 * @param {readonly { layer: import('./layers.mjs').Layer, files: string[] }[]} plan
 * @param {readonly string[]} changed absolute paths
 * @returns {{ plan: { layer: import('./layers.mjs').Layer, files: string[] }[], unknown: string[] }} unknown: changes that select all tests
 */
export function planFor(plan, changed) {
  const reached = reachedBy(plan, changed);
  const unknown = reached.unknown.filter((path) => extname(path) !== '.md');
  if (unknown.length > 0) return { plan: [...plan], unknown };
  return { plan: reached.plan.map((each, index) => (each.layer.name === 'house' ? (plan[index] ?? each) : each)), unknown };
}
