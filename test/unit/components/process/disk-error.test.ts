// Messages of disk errors.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diskErrorMessage } from '../../../../node/components/process/disk-error.ts';

const withCode = (message: string, code: string | number) => Object.assign(new Error(message), { code });

test('a full disk has a message of its own, other errors show their code, and paths never appear', () => {
  assert.equal(diskErrorMessage(withCode('ENOSPC: no space left on device, write', 'ENOSPC')), 'The disk is full');
  assert.equal(diskErrorMessage(withCode('write: No space left on device', -28)), 'The disk is full');
  assert.equal(diskErrorMessage(withCode("EACCES: permission denied, open '/secret'", 'EACCES')), 'Could not write to disk (EACCES)');
  assert.equal(diskErrorMessage(withCode('open encoder: Invalid argument', -22)), 'open encoder: Invalid argument');
  assert.equal(diskErrorMessage('?'), 'Could not write to disk');
});
