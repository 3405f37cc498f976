// Matroska files of one track: complete, truncated at any byte, finished twice; and the times of their frames.
import assert from 'node:assert/strict';
import { readFile, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cluster, type MatroskaFrame, matroskaHead, opusHead } from '../../node/components/recording/matroska.ts';
import { finishMatroska } from '../../node/components/recording/matroska-finish.ts';
import { Timeline } from '../../node/components/recording/timeline.ts';
import { opusPacket } from '../kit/media/ogg-file.ts';
import { frameTimes, probe } from '../kit/media/recorded-file.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';

const head = matroskaHead(
  { kind: 'audio', docType: 'webm', codecId: 'A_OPUS', codecPrivate: opusHead(2), channels: 2, defaultDuration: 20 },
  Date.UTC(2026, 10, 21),
);
const frames = (from: number, count: number): MatroskaFrame[] =>
  Array.from({ length: count }, (_, index) => ({ time: (from + index) * 20, data: opusPacket(60, index), key: true }));

async function file(t: TestContext, content: Buffer): Promise<string> {
  const path = join(await makeResources(t), 'a.webm');
  await writeFile(path, content);
  return path;
}

test('a file is playable before it is finished, seekable with a duration afterwards, and finishing is idempotent', async (t) => {
  const clusters = Array.from({ length: 8 }, (_, index) => cluster(frames(index * 25, 25)));
  const path = await file(t, Buffer.concat([head, ...clusters]));
  assert.deepEqual([(await probe(path)).codec, (await frameTimes(path)).length], ['opus', 200]);
  assert.deepEqual(await finishMatroska(path), { duration: 4000 });
  assert.deepEqual([(await probe(path)).duration, (await frameTimes(path)).at(-1)], [4, 3980]);
  const finished = await readFile(path);
  assert.deepEqual(await finishMatroska(path), { duration: 4000 });
  assert.deepEqual(await readFile(path), finished);
});

test('a file truncated at any byte of its last clusters keeps every complete frame', async (t) => {
  const whole = Buffer.concat([head, cluster(frames(0, 5)), cluster(frames(5, 3))]);
  const path = await file(t, whole);
  let kept = -1;
  for (let size = 0; size <= whole.length; size += 1) {
    await writeFile(path, whole);
    await truncate(path, size);
    if (size < 20) {
      await finishMatroska(path).catch(() => {});
      continue;
    }
    const { duration = 0 } = await finishMatroska(path).catch(() => ({ duration: undefined }));
    const count = duration / 20;
    assert.ok(Number.isInteger(count) && count >= Math.max(kept, 0) && count <= 8, `${count} frames after ${kept} at ${size}`);
    kept = count;
    if (size % 97 === 0 && count > 0) assert.equal((await frameTimes(path)).length, count);
  }
  assert.equal(kept, 8);
});

test('files that are not Matroska, or have no media, are detected', async (t) => {
  await assert.rejects(finishMatroska(await file(t, Buffer.from('something else, and long enough'))));
  assert.deepEqual(await finishMatroska(await file(t, head)), { duration: undefined });
  assert.deepEqual(await finishMatroska(await file(t, Buffer.alloc(0))), { duration: undefined });
});

test('frames keep the spacing of their timestamps regardless of network jitter', () => {
  const timeline = new Timeline(90_000);
  assert.deepEqual(
    [
      [0, 0],
      [3000, 90],
      [6000, 91],
      [6001, 92],
    ].map(([timestamp = 0, arrival = 0]) => timeline.place(timestamp, arrival)),
    [0, 33, 67, 68],
  );
});

test('a source that restarts its timestamps continues at the current time, never backwards', () => {
  const timeline = new Timeline(1000);
  assert.deepEqual(
    [
      [0, 0],
      [1000, 1000],
      [900_000, 2000],
      [900_020, 2020],
      [5, 3000],
      [25, 3020],
    ].map(([timestamp = 0, arrival = 0]) => timeline.place(timestamp, arrival)),
    [0, 1000, 2000, 2020, 3000, 3020],
  );
});
