// Order of the messages of a data track, while one channel follows another.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { MessageOrder } from '../../../packages/client/src/media/message-order.ts';

/** Applies steps: `1:a` is message a of channel 1. @returns the delivered messages after each step */
function delivered(order: MessageOrder<string>, ...steps: (string | (() => string[]))[]): string[] {
  return steps.map((step) => {
    if (typeof step === 'function') return step().join('');
    const [channel, message = ''] = step.split(':');
    return order.receive(Number(channel), message).join('');
  });
}

describe('messages of a data track', () => {
  test('of a later channel wait for those that were sent before', () => {
    const order = new MessageOrder<string>(0);
    const switched = () => order.switched(1, 3);
    assert.deepEqual(delivered(order, '0:a', '1:d', '0:b', switched, '1:e', '0:c', '1:f'), ['a', '', 'b', '', '', 'cde', 'f']);
    assert.deepEqual([order.current, order.behind], [1, false]);
  });

  test('do not wait if everything has arrived, or the number is unknown', () => {
    const order = new MessageOrder<string>(0);
    assert.deepEqual(
      delivered(order, '0:a', '1:b', () => order.switched(1, 1), '1:c'),
      ['a', '', 'b', 'c'],
    );
    assert.deepEqual(
      delivered(order, '2:d', () => order.switched(2, null), '2:e'),
      ['', 'd', 'e'],
    );
    assert.equal(order.current, 2);
  });

  test('change channels several times, also past one that was never used', () => {
    const order = new MessageOrder<string>(0);
    const steps = [() => order.switched(1, 1), () => order.switched(3, 2), '3:d', '1:b', '0:a', '1:c', '3:e'];
    assert.deepEqual(delivered(order, ...steps), ['', '', '', '', 'ab', 'cd', 'e']);
    assert.equal(order.current, 3);
  });

  test('do not wait for a channel that has ended, or is not waited for any more', () => {
    const order = new MessageOrder<string>(0);
    assert.deepEqual(
      delivered(
        order,
        '0:a',
        () => order.switched(1, 5),
        '1:b',
        () => order.ended(0),
      ),
      ['a', '', '', 'b'],
    );
    assert.deepEqual(
      delivered(
        order,
        '2:d',
        () => order.skip(),
        () => order.switched(2, 9),
        () => order.skip(),
      ),
      ['', '', '', 'd'],
    );
    // What arrives late is not lost.
    assert.deepEqual(delivered(order, '1:c', '2:e'), ['c', 'e']);
  });

  test('of a channel that ends before the change is known are delivered with it', () => {
    const order = new MessageOrder<string>(0);
    assert.deepEqual(
      delivered(
        order,
        '0:a',
        '1:b',
        () => order.ended(0),
        () => order.switched(1, 2),
      ),
      ['a', '', '', 'b'],
    );
  });
});
