// checkLast: a failing check at the end of a test or file does not skip other hooks.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';

const kit = join(import.meta.dirname, '../../kit/check-last.ts');

/** Output of a test file whose hooks are added by `scope`. */
function endOf(scope: 'file' | 'test'): { lines: string[]; reported: string } {
  const hooks = (of: string) => `
    checkLast(${of}, () => { console.error('check'); throw new Error('it fails'); });
    ${of}.after(async () => { console.error('one ends'); });
    ${of}.after(async () => { console.error('another ends'); });
  `;
  const code = `
    import { after, test } from 'node:test';
    import { checkLast } from ${JSON.stringify(kit)};
    ${scope === 'file' ? hooks('({ after })') : ''}
    test('a test', (t) => { ${scope === 'test' ? hooks('t') : ''} });
  `;
  const { stderr, stdout } = spawnSync(process.execPath, ['--input-type=module-typescript', '--eval', code], { encoding: 'utf8' });
  return { lines: stderr.trim().split('\n'), reported: stdout };
}

for (const scope of ['file', 'test'] as const) {
  test(`checkLast runs after all other hooks of a ${scope} and fails it`, () => {
    const { lines, reported } = endOf(scope);
    assert.deepEqual(lines, ['one ends', 'another ends', 'check']);
    assert.match(reported, /it fails/);
  });
}
