// Dependency graph of tests: finds the files that a test file imports, starts or reads, directly and transitively.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';

import { root } from '../paths.mjs';

/** Sources of the console and the packages. */
const browserFolders = [join(root, 'packages')];
/** Files that can reference other files. */
const sources = new Set(['.ts', '.tsx', '.mjs']);
const named = /(?:join|resolve)\(([^()]*)\)|'([^'\n]+)'|"([^"\n]+)"|`([^`$\n]+)`/g;
const quoted = /'([^'\n]*)'|"([^"\n]*)"/g;

/**
 * Imports reference files, as do started programs and files that are read: `join(root, 'node', 'main.ts')`, `new URL('./child.ts', ...)`.
 * Therefore every quoted text counts that is the path of a file or folder, relative to the file or to the root.
 * @param {string} file absolute path
 * @param {string} [text] of it
 * @returns {string[]} absolute paths that exist
 */
export function namesOf(file, text = readFileSync(file, 'utf8')) {
  const found = new Set();
  for (const [, parts, ...single] of text.matchAll(named)) {
    const path = parts === undefined ? single.find((each) => each !== undefined) : literals(parts).join('/');
    for (const each of [path, ...(parts === undefined ? [] : literals(parts))]) {
      if (!each || !isPath(each)) continue;
      for (const target of [resolve(dirname(file), each), resolve(root, each)]) if (isOurs(target)) found.add(target);
    }
  }
  return [...found];
}

/**
 * @param {string} text
 * @returns {boolean} true if the text can be a path; a single word is ambiguous
 */
function isPath(text) {
  return /^[\w./@-]+$/.test(text) && /[^./]/.test(text) && /[./]/.test(text);
}

/** @param {string} path */
function isSource(path) {
  return sources.has(extname(path)) && statSync(path).isFile();
}

/** @param {string} path */
function isOurs(path) {
  return path.startsWith(`${root}/`) && !path.includes('/node_modules') && existsSync(path);
}

/**
 * @param {string} text
 * @returns {string[]} its quoted texts
 */
function literals(text) {
  return [...text.matchAll(quoted)].map(([, one, other]) => one ?? other ?? '');
}

export class Reach {
  /** @type {Map<string, string[]>} */
  #names = new Map();

  /**
   * @param {string} file absolute path
   * @returns {Set<string>} absolute paths of files and folders, including itself
   */
  of(file) {
    const reached = new Set([file]);
    for (const each of reached) for (const next of this.#namesIn(each)) reached.add(next);
    return reached;
  }

  /**
   * @param {string} file absolute path
   * @param {string} folder absolute path
   * @param {RegExp} words
   * @returns {boolean} true if the file, or a source file of the folder that it reaches, matches
   */
  mentions(file, folder, words) {
    return [...this.of(file)].some((path) => path.startsWith(`${folder}/`) && isSource(path) && words.test(readFileSync(path, 'utf8')));
  }

  /** @param {string} path */
  #namesIn(path) {
    let names = this.#names.get(path);
    if (names === undefined) {
      names = isSource(path) ? namesOf(path) : [];
      this.#names.set(path, names);
    }
    return names;
  }
}

/**
 * @param {readonly { layer: import('./layers.mjs').Layer, files: string[] }[]} plan absolute paths
 * @param {readonly string[]} changed absolute paths
 * @returns {{ plan: { layer: import('./layers.mjs').Layer, files: string[] }[], unknown: string[] }} the plan with only the test files
 *   that reach a change, and the changes that no test file reaches
 */
export function reachedBy(plan, changed) {
  const reach = new Reach();
  const unknown = new Set(changed);
  const chosen = plan.map(({ layer, files }) => ({
    layer,
    files: files.filter((file) => {
      // Tests of browser bundles do not import the sources.
      const reached = [...reach.of(file), ...(layer.builds ? browserFolders : [])];
      const met = changed.filter((change) => reached.some((path) => change === path || change.startsWith(`${path}/`)));
      for (const change of met) unknown.delete(change);
      return met.length > 0;
    }),
  }));
  return { plan: chosen, unknown: [...unknown].map((change) => relative(root, change)) };
}
