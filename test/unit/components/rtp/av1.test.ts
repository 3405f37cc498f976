// AV1 depacketizer: adds OBU sizes, assembles fragments, and drops frames with invalid packets.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Av1Depacketizer } from '../../../../node/components/rtp/av1.ts';
import { type EncodedFrame, FrameAssembler } from '../../../../node/components/rtp/frame-assembler.ts';
import { ByteFuzzer } from '../../../kit/fuzzer.ts';

/** OBUs without size: a sequence header, a frame, a temporal delimiter, and one with an extension. */
const sequence = Buffer.from('080a0b0c', 'hex');
const frame = Buffer.from('30aabbccdd', 'hex');
const delimiter = Buffer.from('10', 'hex');
const layered = Buffer.from('3428eeff', 'hex');

/** Adds sizes to all but the last of `count` elements; to all if the count is 0. */
function payload(head: number, elements: readonly Buffer[], counted = true): Buffer {
  const count = counted ? elements.length : 0;
  const parts = elements.flatMap((element, index) =>
    counted && index === elements.length - 1 ? [element] : [Buffer.from([element.length]), element],
  );
  return Buffer.concat([Buffer.from([head | (count << 4)]), ...parts]);
}

const open = 0x40;
const continues = 0x80;
const begins = 0x08;

function assemble(packets: readonly { payload: Buffer; marker: boolean; timestamp: number; lost?: number }[]) {
  const frames: EncodedFrame[] = [];
  let asked = 0;
  const assembler = new FrameAssembler({
    format: new Av1Depacketizer(),
    onFrame: ({ data, key }) => frames.push({ data, key }),
    onKeyNeeded: () => {
      asked += 1;
    },
  });
  for (const packet of packets) assembler.push({ lost: 0, arrival: 0, ...packet });
  return { frames: frames.map(({ data, key }) => [data.toString('hex'), key]), asked };
}

const head = '1200';
const withSizes = { sequence: '0a030a0b0c', frame: '3204aabbccdd', layered: '362802eeff' };

test('elements become OBUs with sizes, counted or not, and delimiters of the sender are dropped', () => {
  for (const counted of [true, false]) {
    const { frames } = assemble([
      { payload: payload(begins, [delimiter, sequence, frame].slice(counted ? 0 : 1), counted), marker: true, timestamp: 0 },
      { payload: payload(0, [layered], counted), marker: true, timestamp: 3000 },
    ]);
    assert.deepEqual(frames, [
      [head + withSizes.sequence + withSizes.frame, true],
      [head + withSizes.layered, false],
    ]);
  }
});

test('an OBU in three packets is assembled', () => {
  const { frames } = assemble([
    { payload: payload(begins | open, [sequence, frame.subarray(0, 2)]), marker: false, timestamp: 0 },
    { payload: payload(continues | open, [frame.subarray(2, 4)]), marker: false, timestamp: 0 },
    { payload: payload(continues, [frame.subarray(4), layered]), marker: true, timestamp: 0 },
  ]);
  assert.deepEqual(frames, [[head + withSizes.sequence + withSizes.frame + withSizes.layered, true]]);
});

test('a fragment without start or end drops the frame and requests a key frame', () => {
  const whole = { payload: payload(begins, [sequence, frame]), marker: true };
  for (const broken of [
    payload(continues, [frame]),
    payload(open, [frame]),
    Buffer.from([0x10]),
    Buffer.from([0x20, 0x7f, 0x30]),
    Buffer.from([0x00, 0xff, 0xff, 0xff, 0xff, 0x01, 0x30]),
    payload(0, [Buffer.from('b0aa', 'hex')]),
  ]) {
    const { frames, asked } = assemble([
      { ...whole, timestamp: 0 },
      { payload: broken, marker: true, timestamp: 3000 },
      { payload: payload(0, [frame]), marker: true, timestamp: 6000 },
      { ...whole, timestamp: 9000 },
    ]);
    assert.deepEqual([frames.length, frames.map(([, key]) => key), asked > 0], [2, [true, true], true], broken.toString('hex'));
  }
});

test('arbitrary bytes never throw', () => {
  const byteFuzzer = new ByteFuzzer(3);
  const samples = [payload(begins, [sequence, frame]), payload(continues | open, [frame]), payload(0, [layered, frame], false)];
  const packets = Array.from({ length: 20_000 }, (_, index) => ({
    payload: byteFuzzer.mutate(samples),
    marker: index % 3 === 2,
    timestamp: Math.floor(index / 3) * 3000,
  }));
  assert.ok(assemble(packets).asked > 0);
});

test('an invalid sequence header yields no description', () => {
  const format = new Av1Depacketizer();
  const byteFuzzer = new ByteFuzzer(7);
  for (let round = 0; round < 2000; round += 1) {
    const header = Buffer.concat([Buffer.from([0x08]), Buffer.from(Array.from({ length: round % 24 }, () => byteFuzzer.below(256)))]);
    format.reset();
    if (!format.add(payload(begins, [header]))) continue;
    format.take();
    const description = format.describe();
    if (description)
      assert.ok(description.width >= 1 && description.width <= 65_536 && description.height >= 1 && description.height <= 65_536);
  }
});

test('a frame with too many OBUs or with two sizes is dropped, and the next one is output', () => {
  const tiny = Array.from({ length: 500 }, () => Buffer.from('20', 'hex'));
  const many = Array.from({ length: 10 }, (_, index) => ({ payload: payload(0, tiny, false), marker: index === 9, timestamp: 0 }));
  const other = Buffer.from('080a0b0d', 'hex');
  const whole = payload(begins, [sequence, frame]);
  const { frames } = assemble([
    { payload: whole, marker: false, timestamp: 0 },
    ...many,
    { payload: payload(begins, [sequence, other, frame]), marker: true, timestamp: 1 },
    { payload: whole, marker: true, timestamp: 2 },
  ]);
  assert.deepEqual(frames, [[head + withSizes.sequence + withSizes.frame, true]]);
});
