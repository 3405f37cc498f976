// Each row of the table of attacks has a test, and SECURITY.md shows the rows as they are.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { areas, rowsOf } from '../hostile/attack.ts';
import { securityPage } from '../hostile/table.ts';
import { root } from './source-files.ts';

test('every row of the table of attacks has its test', async () => {
  for (const area of areas()) {
    const tests = readFileSync(join(root, 'test/hostile', `${area}.test.ts`), 'utf8');
    for (const name of Object.keys(await rowsOf(area))) {
      assert.ok(tests.includes(`attack(attacks.${name}, `), `${area}.test.ts has no test of ${name}`);
    }
  }
});

test('the table in SECURITY.md is what npm run attacks writes', async () => {
  assert.equal(readFileSync(join(root, 'SECURITY.md'), 'utf8'), await securityPage());
});
