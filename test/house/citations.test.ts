// Citations: no file refers to a document outside of the repository.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { root } from './source-files.ts';

/** Folders next to the repository, and paths in them. */
const outside = new RegExp(
  ['\\.\\./sha', 'red/|/work/', '(^|[\\s`(])(spec|design|reference/prototypes)/[\\w./-]+\\.(md|mjs)\\b'].join(''),
  'm',
);

test('no file cites a document outside the repository', () => {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' });
  const files = listed.split('\0').filter((path) => /\.(ts|tsx|mjs|md|yaml|json|go|txt)$/.test(path) && existsSync(join(root, path)));
  assert.ok(files.length > 500, String(files.length));
  assert.deepEqual(
    files.filter((path) => outside.test(readFileSync(join(root, path), 'utf8'))),
    [],
  );
});
