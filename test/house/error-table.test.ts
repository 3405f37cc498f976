// Error page: the table of docs/reference/errors.md matches node/common/errors.ts.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { errorCatalogue } from '../../api/errors.ts';

test('docs/reference/errors.md lists the error catalog', () => {
  const text = readFileSync(new URL('../../docs/reference/errors.md', import.meta.url), 'utf8');
  const rows = [...text.matchAll(/^\| `(\w+)` \| (\d+) \| (yes|no) \| \S/gm)].map(
    ([, code, status, again]) => `${code} ${status} ${again}`,
  );
  const catalogue = Object.entries(errorCatalogue).map(([code, { status, retryable }]) => `${code} ${status} ${retryable ? 'yes' : 'no'}`);
  assert.deepEqual(rows, catalogue);
});
