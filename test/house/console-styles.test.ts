// Styles of the console: pages are loaded one after another, so a class that two features style would change with the order of the visits.
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';

const root = join(import.meta.dirname, '../../packages/console/src');
const read = (pattern: string) =>
  globSync(pattern, { cwd: root }).map((path) => ({ path, text: readFileSync(join(root, path), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '') }));
const sheets = read('**/*.css').map(({ path, text }) => ({
  path,
  selectors: [...text.matchAll(/([^{};]+)\{/g)].flatMap(([, list = '']) => list.split(',').map((each) => each.trim())),
}));

describe('The styles of the console', () => {
  it('have no class that no markup uses', () => {
    // Part of a template: narrow-${name}.
    const words = new Set(['narrow-head', 'narrow-hide', 'narrow-actions']);
    for (const { text } of read('**/*.{ts,tsx}'))
      for (const [, , literal = ''] of text.replace(/^\s*\/\/.*$/gm, '').matchAll(/(['"`])((?:(?!\1)[^\\])*)\1/g))
        for (const word of literal.split(/[\s${}?:'"`]+/)) words.add(word);
    const unused = sheets.flatMap(({ path, selectors }) =>
      selectors.flatMap((selector) => [...selector.matchAll(/\.(-?[a-z_][\w-]*)/gi)].map(([, name = '']) => `${path}: ${name}`)),
    );
    assert.deepEqual(
      [...new Set(unused)].filter((each) => !words.has(each.split(': ')[1] ?? '')),
      [],
    );
  });

  it('define a class in one file', () => {
    const owners = new Map<string, Set<string>>();
    for (const { path, selectors } of sheets)
      for (const selector of selectors)
        if (/^\.[\w-]+$/.test(selector)) owners.set(selector, (owners.get(selector) ?? new Set()).add(path));
    assert.deepEqual(
      [...owners].filter(([, paths]) => paths.size > 1).map(([name, paths]) => `${name}: ${[...paths].join(' and ')}`),
      [],
    );
  });
});
