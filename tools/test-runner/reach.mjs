// What a test file reaches: the files that it imports, starts or reads, and those that these do.

import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, extname, join, relative, resolve } from 'node:path';

import { root } from '../paths.mjs';

/** What the console and the packages are built from. */
const browserFolders = [join(root, 'packages')];
/** Files that name others. */
const sources = new Set(['.ts', '.tsx', '.mjs']);
const named = /(?:join|resolve)\(([^()]*)\)|'([^'\n]+)'|"([^"\n]+)"|`([^`$\n]+)`/g;
const quoted = /'([^'\n]*)'|"([^"\n]*)"/g;

/**
 * Imports name files, and so do programs that are started and files that are read: `join(root, 'node', 'main.ts')`, `new URL('./child.ts', ...)`.
 * So each text in quotes counts that is the path of a file or of a folder, from the file itself or from the root.
 * @param {string} file absolute path
 * @param {string} [text] of it
 * @returns {string[]} absolute paths that are there
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
 * @returns {boolean} whether it may be the path of a file: a word alone may be anything
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
 * @returns {string[]} its texts in quotes
 */
function literals(text) {
  return [...text.matchAll(quoted)].map(([, one, other]) => one ?? other ?? '');
}

export class Reach {
  /** @type {Map<string, string[]>} */
  #names = new Map();

  /**
   * @param {string} file absolute path
   * @returns {Set<string>} absolute paths of files and folders, its own included
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
   * @returns {boolean} whether it or a source file of the folder that it reaches has them
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
 * @returns {{ plan: { layer: import('./layers.mjs').Layer, files: string[] }[], unknown: string[] }} the plan with those test files alone that
 *   reach a change, and the changes that none reaches
 */
export function reachedBy(plan, changed) {
  const reach = new Reach();
  const unknown = new Set(changed);
  const chosen = plan.map(({ layer, files }) => ({
    layer,
    files: files.filter((file) => {
      // What is built for browsers is not imported by the tests that look at it.
      const reached = [...reach.of(file), ...(layer.builds ? browserFolders : [])];
      const met = changed.filter((change) => reached.some((path) => change === path || change.startsWith(`${path}/`)));
      for (const change of met) unknown.delete(change);
      return met.length > 0;
    }),
  }));
  return { plan: chosen, unknown: [...unknown].map((change) => relative(root, change)) };
}
