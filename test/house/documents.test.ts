// Documents: README is short, every page is in the index and states its purpose, links resolve, and npm scripts exist.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';
import { test } from 'node:test';
import { testFiles } from '../../tools/test-runner/layers.mjs';
import { root } from './source-files.ts';

const maxReadmeLines = 180;
const maxReadmeBytes = 12 * 1024;

const read = (path: string): string => readFileSync(join(root, path), 'utf8');
const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
});
const documents = listed.split('\0').filter((path) => path !== '' && existsSync(join(root, path)));
const pages = documents.filter((path) => path.startsWith('docs/'));
const manifest = JSON.parse(read('package.json')) as { version: string; scripts: Record<string, string> };

/** Text without code, because links in code are examples. */
const prose = (path: string): string =>
  read(path)
    .replaceAll(/^ *```.*?^ *```/gms, '')
    .replaceAll(/`[^`\n]*`/g, '');

/** Anchors of headings as GitHub generates them. */
function anchorsOf(path: string): Set<string> {
  const headings = [
    ...read(path)
      .replaceAll(/^ *```.*?^ *```/gms, '')
      .matchAll(/^#+ (.*)$/gm),
  ].map(([, title = '']) => title);
  return new Set(
    headings.map((title) =>
      title
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .replaceAll(' ', '-'),
    ),
  );
}

function linksOf(path: string): { target: string; anchor: string }[] {
  const links = [...prose(path).matchAll(/\]\(([^)#\s]*)(?:#([^)\s]*))?\)/g)].map(([, target = '', anchor = '']) => ({ target, anchor }));
  return links.filter(({ target }) => !/^[a-z]+:/.test(target));
}

/** The linked file or folder, from the root. */
const resolved = (from: string, target: string): string =>
  target === '' ? from : normalize(join(dirname(from), target)).replace(/\/$/, '');

test(`README has at most ${maxReadmeLines} lines and ${maxReadmeBytes} bytes`, () => {
  const text = read('README.md');
  assert.ok(text.split('\n').length - 1 <= maxReadmeLines);
  assert.ok(Buffer.byteLength(text) <= maxReadmeBytes);
});

test('every link between documents resolves to a file and heading', () => {
  const dead = documents.flatMap((path) =>
    linksOf(path).flatMap(({ target, anchor }) => {
      const to = resolved(path, target);
      const found = existsSync(join(root, to)) && (anchor === '' || statSync(join(root, to)).isDirectory() || anchorsOf(to).has(anchor));
      return found ? [] : [`${path}: ${target}${anchor === '' ? '' : `#${anchor}`}`];
    }),
  );
  assert.deepEqual(dead, []);
});

test('every page is in the index', () => {
  const indexed = new Set(linksOf('docs/README.md').map(({ target }) => resolved('docs/README.md', target)));
  const missing = pages.filter((path) => path !== 'docs/README.md' && !indexed.has(path));
  assert.deepEqual(missing, []);
});

test('every page opens with its purpose', () => {
  const opening: Readonly<Record<string, RegExp>> = {
    guides: /^After this page you /,
    'how-to': /^After this page you /,
    reference: /^This page lists /,
    explanation: /^This page explains /,
  };
  const wrong = pages.filter((path) => {
    const pattern = opening[relative('docs', dirname(path))];
    const first =
      read(path)
        .split('\n')
        .slice(1)
        .find((line) => line !== '') ?? '';
    return pattern !== undefined && !pattern.test(first);
  });
  assert.deepEqual(wrong, []);
});

test('every npm script in documents exists', () => {
  const named = documents.flatMap((path) => [...read(path).matchAll(/npm run ([\w:]+)/g)].map(([, name = '']) => name));
  assert.ok(named.length > 20);
  assert.deepEqual(
    [...new Set(named)].filter((name) => !Object.hasOwn(manifest.scripts, name)),
    [],
  );
});

test('every part of the tests that documents name exists', () => {
  const named = documents.flatMap((path) => [...read(path).matchAll(/npm test -- ([a-z]+) ([\w/-]+)/g)]);
  assert.ok(named.length > 3);
  const missing = named.filter(([, layer = '', part = '']) => testFiles(join(root, 'test', layer), [part]).length === 0);
  assert.deepEqual(missing.map(String), []);
});

test('every file of the source that documents name exists', () => {
  const named = documents.flatMap((path) =>
    [...read(path).matchAll(/`((?:api|crds|docs|examples|helm|monitoring|node|operator|test)\/[^`\s*{<]+)`/g)].map(([, to = '']) => ({
      path,
      to,
    })),
  );
  assert.ok(named.length > 50);
  const missing = named.filter(({ to }) => !existsSync(join(root, to)));
  assert.deepEqual(missing, []);
});

test('README and CHANGELOG have the version of package.json', () => {
  assert.ok(read('README.md').includes(`release ${manifest.version}`));
  assert.match(read('CHANGELOG.md'), new RegExp(`^## \\[?${manifest.version.replaceAll('.', '\\.')}\\b`, 'm'));
});

test('the client example in README calls the same methods as the README of the library', () => {
  const calls = (path: string) =>
    [...(/```ts\n([\s\S]*?)```/.exec(read(path))?.[1] ?? '').matchAll(/\broom\.\w+\(|new RoomClient\(/g)].map(String);
  const shown = calls('packages/client/README.md');
  assert.ok(calls('README.md').length >= 4);
  assert.deepEqual(
    calls('README.md').filter((call) => !shown.includes(call)),
    [],
  );
});
