// DCEP: messages that open a data channel, valid and invalid.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ackMessage, openMessage, readOpen } from '../../../node/media/data/dcep.ts';

test('a message that opens a channel has its label, and no other message has one', () => {
  assert.equal(readOpen(openMessage('_reliable', true)), '_reliable');
  assert.equal(openMessage('_lossy', false)[1], 0x81);
  const cut = openMessage('label', true).subarray(0, 14);
  for (const message of [ackMessage, Buffer.alloc(0), Buffer.from([3, 0]), openMessage('x'.repeat(65), true), cut])
    assert.equal(readOpen(message), undefined);
});
