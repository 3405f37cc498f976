// Demand for a track: what the publisher is notified of as receivers come, change their minds, and leave.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Demand } from '../../../node/media/receivers/demand.ts';

function start() {
  const reported: (number | undefined)[] = [];
  const demand = new Demand((layer) => reported.push(layer));
  return { demand, reported };
}

test('the largest layer that a receiver needs is reported when it changes, and only then', () => {
  const { demand, reported } = start();
  const first = demand.add();
  const second = demand.add();
  assert.deepEqual(reported, [7], 'all layers, until a receiver prefers fewer');
  first.prefer(0);
  second.prefer(1);
  second.prefer(1);
  first.prefer(1);
  second.prefer(0);
  assert.deepEqual(reported, [7, 1]);
  first.end();
  first.end();
  assert.deepEqual(reported, [7, 1, 0]);
  second.end();
  assert.deepEqual(reported, [7, 1, 0, undefined]);
});

test('a receiver that is paused needs nothing, and again the layer that it preferred last', () => {
  const { demand, reported } = start();
  const receiver = demand.add();
  receiver.prefer(2);
  receiver.pause(true);
  receiver.prefer(1);
  receiver.pause(false);
  assert.deepEqual(reported, [7, 2, undefined, 1]);
  receiver.pause(true);
  receiver.end();
  assert.deepEqual(reported, [7, 2, undefined, 1, undefined]);
});

test('after the end of a track, its receivers report nothing', () => {
  const { demand, reported } = start();
  const receiver = demand.add();
  demand.end();
  receiver.end();
  assert.deepEqual(reported, [7]);
});
