// Layout: cells of participants, and the dominant speaker.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DominantSpeakerSelector } from '../../../../node/components/compose/dominant-speaker.ts';
import { centred, grid, layoutCells, letterbox } from '../../../../node/components/compose/layout.ts';
import type { Rectangle } from '../../../../node/components/ffmpeg/video-frame.ts';
import { fieldsOf } from '../../../kit/fields.ts';

const size = { width: 1280, height: 720 };
const area = { x: 0, y: 0, ...size };

function assertApart(cells: readonly Rectangle[], { width, height }: { width: number; height: number }): void {
  for (const [index, cell] of cells.entries()) {
    for (const value of [cell.x, cell.y, cell.width, cell.height]) assert.equal(value % 2, 0, JSON.stringify(cell));
    assert.ok(cell.x >= 0 && cell.y >= 0 && cell.x + cell.width <= width && cell.y + cell.height <= height, JSON.stringify(cell));
    for (const other of cells.slice(index + 1)) {
      const apart =
        cell.x + cell.width <= other.x ||
        other.x + other.width <= cell.x ||
        cell.y + cell.height <= other.y ||
        other.y + other.height <= cell.y;
      assert.ok(apart, `${JSON.stringify(cell)} and ${JSON.stringify(other)}`);
    }
  }
}

test('a grid fills the frame with centered rows', () => {
  assert.deepEqual(grid(1, area), [area]);
  assert.deepEqual(grid(2, area), [
    { x: 0, y: 180, width: 640, height: 360 },
    { x: 640, y: 180, width: 640, height: 360 },
  ]);
  assert.deepEqual(fieldsOf(grid(3, area), 'x', 'y'), [
    [0, 0],
    [640, 0],
    [320, 360],
  ]);
  assert.equal(grid(4, area)[3]?.x, 640);
  assert.equal(new Set(grid(9, area).map(({ y }) => y)).size, 3);
  assert.deepEqual(grid(0, area), []);
});

test('cells of any number and size do not overlap, stay inside and have even coordinates', () => {
  for (const [width, height] of [
    [1280, 720],
    [640, 360],
    [360, 640],
    [100, 1000],
    [1920, 800],
  ] as const) {
    const sources = Array.from({ length: 40 }, (_, index) => `s${index}`);
    for (let count = 0; count <= sources.length; count += 1) {
      assertApart(grid(count, { x: 0, y: 0, width, height }), { width, height });
      for (const layout of ['grid', 'speaker', 'single'] as const) {
        const cells = layoutCells(layout, sources.slice(0, count), 's2', { width, height });
        assert.equal(cells.size, layout === 'single' ? Math.min(1, count) : count);
        assertApart([...cells.values()], { width, height });
      }
    }
  }
});

test('a frame keeps its aspect ratio in a cell', () => {
  const cell = { x: 640, y: 0, width: 640, height: 360 };
  assert.deepEqual(letterbox({ width: 320, height: 180 }, cell), cell);
  assert.deepEqual(letterbox({ width: 640, height: 480 }, cell), { x: 720, y: 0, width: 480, height: 360 });
  assert.deepEqual(letterbox({ width: 180, height: 320 }, cell), { x: 858, y: 0, width: 202, height: 360 });
  assert.deepEqual(letterbox({ width: 4000, height: 2 }, cell), { x: 640, y: 178, width: 640, height: 2 });
  assert.deepEqual(centred({ width: 100, height: 20 }, cell), { x: 910, y: 170, width: 100, height: 20 });
});

test('the speaker has the large cell and the others a strip; a single source fills the frame', () => {
  const cells = layoutCells('speaker', ['a', 'b', 'c'], 'b', size);
  assert.deepEqual(cells.get('b'), { x: 0, y: 0, width: 1280, height: 540 });
  assert.deepEqual(cells.get('a'), { x: 320, y: 540, width: 320, height: 180 });
  assert.deepEqual(cells.get('c'), { x: 640, y: 540, width: 320, height: 180 });
  assert.deepEqual(layoutCells('speaker', ['a', 'b'], undefined, size).get('a')?.height, 540);
  assert.deepEqual([...layoutCells('single', ['a', 'b'], 'b', size)], [['b', area]]);
  assert.deepEqual([...layoutCells('single', ['a', 'b'], undefined, size)], [['a', area]]);
  assert.equal(layoutCells('single', [], 'a', size).size, 0);
});

/** Feeds loudness values for a while, 50 times a second. @returns the selected source at the end, and the time */
function speak(
  choice: DominantSpeakerSelector,
  from: number,
  duration: number,
  loudness: Record<string, number>,
): [string | undefined, number] {
  let chosen: string | undefined;
  let now = from;
  for (; now < from + duration; now += 20) {
    for (const [source, level] of Object.entries(loudness)) choice.hear(source, level, now);
    chosen = choice.choose(Object.keys(loudness), now);
  }
  return [chosen, now];
}

test('the speaker changes with continuous speech, not with a single word', () => {
  const choice = new DominantSpeakerSelector();
  let [chosen, now] = speak(choice, 0, 1000, { a: 0, b: 0 });
  assert.equal(chosen, undefined);
  [chosen, now] = speak(choice, now, 100, { a: 0.2, b: 0 });
  assert.equal(chosen, 'a');
  [chosen, now] = speak(choice, now, 3000, { a: 0.2, b: 0 });
  [chosen, now] = speak(choice, now, 400, { a: 0, b: 0.2 });
  assert.equal(chosen, 'a');
  [chosen, now] = speak(choice, now, 3000, { a: 0.2, b: 0.25 });
  assert.equal(chosen, 'a');
  [chosen, now] = speak(choice, now, 3000, { a: 0, b: 0.2 });
  assert.equal(chosen, 'b');
  [chosen, now] = speak(choice, now, 5000, { a: 0, b: 0 });
  assert.equal(chosen, 'b');
  choice.forget('b');
  assert.equal(choice.choose(['a'], now), undefined);
});
