// Attack table: each row has a test, and docs/reference/attacks.md is generated from the rows.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { areas, rowsOf } from '../hostile/attack.ts';
import { attacksPage, attacksPath } from '../hostile/table.ts';
import { root } from './source-files.ts';

test('every row of the attack table has a test', async () => {
  for (const area of areas()) {
    const tests = readFileSync(join(root, 'test/hostile', `${area}.test.ts`), 'utf8');
    for (const name of Object.keys(await rowsOf(area))) {
      assert.ok(tests.includes(`attack(attacks.${name}, `), `${area}.test.ts has no test for ${name}`);
    }
  }
});

test('docs/reference/attacks.md is what npm run attacks writes', async () => {
  assert.equal(readFileSync(join(root, attacksPath), 'utf8'), await attacksPage());
});
