// Operator page: docs/reference/operator.md lists every variable of the operator, with default and meaning.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { variables } from '../../operator/config.ts';

test("docs/reference/operator.md lists every variable of the operator's configuration", () => {
  const text = readFileSync(join(import.meta.dirname, '../../docs/reference/operator.md'), 'utf8');
  const rows = [...text.matchAll(/^\| ([A-Z_]+) \| (.*?) \| (.*) \|$/gm)].map(([, name, standard = '', meaning]) => [
    name,
    standard.replace(/^`([^`]*)`$/, '$1'),
    meaning,
  ]);
  assert.deepEqual(
    rows,
    Object.entries(variables).map(([name, [standard, meaning]]) => [name, standard, meaning]),
  );
});
