// Serializer: runs work with the same name in sequence, whatever its results.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runSerially } from '../../../packages/console/src/hooks/serialize.ts';
import { turns } from '../../kit/turns.ts';

test('work waits for earlier work of the same name, also if that fails, but not for other names', async () => {
  const said: string[] = [];
  const first = Promise.withResolvers<void>();
  const failed = runSerially('a', () => {
    said.push('first');
    return first.promise;
  });
  const second = runSerially('a', async () => said.push('second'));
  const other = runSerially('b', async () => said.push('other'));
  await other;
  await turns();
  assert.deepEqual(said, ['first', 'other']);
  first.reject(new Error('refused'));
  await assert.rejects(failed, /refused/);
  await second;
  assert.deepEqual(said, ['first', 'other', 'second']);
  assert.equal(await runSerially('a', async () => 'third'), 'third');
});
