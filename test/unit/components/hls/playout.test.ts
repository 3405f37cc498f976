// Playout of tracks, and the frames that are composed if time is short.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gopTiming, isKeyFrame, nextFrame } from '../../../../node/components/hls/composer/frame-schedule.ts';
import { PlayoutDelay, playoutDelay, TrackTiming } from '../../../../node/components/hls/playout.ts';

test('a late source is delayed more, once per burst, and less again after being early for long', () => {
  const delay = new PlayoutDelay();
  assert.equal(delay.value, playoutDelay);
  for (let now = 0; now < 60_000; now += 20) delay.came(200, now);
  assert.equal(delay.value, playoutDelay);
  for (let now = 60_000; now < 60_100; now += 20) delay.came(-100, now);
  assert.equal(delay.value, playoutDelay + 130);
  for (let now = 61_000; now < 79_000; now += 20) delay.came(300, now);
  assert.equal(delay.value, playoutDelay + 130);
  for (let now = 79_000; now < 90_000; now += 20) delay.came(300, now);
  assert.equal(delay.value, playoutDelay);
  for (let now = 100_000; now < 200_000; now += 1000) delay.came(-5000, now);
  assert.ok(delay.value <= playoutDelay + 1500);
});

test('late video gets at most 150 ms more, and does not affect the delay for audio', () => {
  const delay = new PlayoutDelay();
  delay.frameCame(-40, 1000);
  assert.equal(delay.value, playoutDelay + 70);
  delay.frameCame(-4000, 2000);
  assert.equal(delay.value, playoutDelay + 150);
  delay.came(-300, 3000);
  assert.equal(delay.value, playoutDelay + 480);
  for (let now = 4000; now < 22_000; now += 33) delay.frameCame(-500, now);
  assert.equal(delay.value, playoutDelay + 480);
  for (let now = 22_000; now < 120_000; now += 33) delay.frameCame(250, now);
  assert.equal(delay.value, playoutDelay);
});

test('a timestamp is due a fixed delay after capture, also after its source restarts timestamps', () => {
  const timing = new TrackTiming(90_000, new PlayoutDelay());
  timing.arrived(90_000, 10_000);
  assert.equal(timing.dueAt(90_000), 10_000 + playoutDelay);
  timing.reported(90_000, 9900);
  assert.equal(timing.dueAt(180_000), 10_900 + playoutDelay);
  timing.arrived(900_000_000, 12_000);
  assert.equal(timing.dueAt(900_000_000), 12_000 + playoutDelay);
});

test('parts are whole frames within the target, and segments are whole parts', () => {
  assert.deepEqual(gopTiming(25, 400, 2000), { interval: 40, perPart: 10, perSegment: 50, perKey: 30 });
  const at24 = gopTiming(24, 333, 4000);
  assert.deepEqual([at24.perPart, at24.perSegment], [7, 98]);
  assert.deepEqual([gopTiming(24, 500, 2000).perPart, gopTiming(24, 500, 2000).perSegment], [12, 48]);
  assert.deepEqual([gopTiming(1, 100, 500).perPart, gopTiming(1, 100, 500).perSegment], [1, 1]);
  for (let framerate = 1; framerate <= 60; framerate += 1) {
    for (const [part, segment] of [
      [100, 500],
      [500, 4000],
      [333, 6000],
    ] as const) {
      const { interval, perPart, perSegment } = gopTiming(framerate, part, segment);
      assert.equal(perSegment % perPart, 0);
      assert.ok(perPart === 1 || perPart * interval <= part + 0.001);
    }
  }
});

test('each segment starts with a key frame, and has one about every second at the start of a part', () => {
  const keysOf = (framerate: number, part: number, segment: number) => {
    const rhythm = gopTiming(framerate, part, segment);
    const numbers = Array.from({ length: rhythm.perSegment * 2 }, (_, number) => number).filter((number) => isKeyFrame(number, rhythm));
    assert.ok(numbers.includes(rhythm.perSegment));
    assert.ok(numbers.every((number) => number % rhythm.perPart === 0));
    return numbers;
  };
  assert.deepEqual(keysOf(24, 250, 2000), [0, 24, 48, 72]);
  assert.deepEqual(keysOf(24, 250, 1000), [0, 24]);
  assert.deepEqual(keysOf(30, 267, 2000), [0, 32, 56, 88]);
  assert.deepEqual(keysOf(25, 240, 3000), [0, 24, 48, 78, 102, 126]);
  assert.deepEqual(keysOf(1, 1000, 2000), [0, 1, 2, 3]);
});

test('if time is short frames are dropped, but never the first of a part', () => {
  assert.equal(nextFrame(5, 5, 12), 5);
  assert.equal(nextFrame(5, 7, 12), 5);
  assert.equal(nextFrame(5, 9, 12), 9);
  assert.equal(nextFrame(5, 40, 12), 12);
  assert.equal(nextFrame(12, 40, 12), 12);
  assert.equal(nextFrame(13, 40, 12), 24);
  const made: number[] = [];
  for (let next = 0; next < 1000; next += 1) {
    next = nextFrame(next, next * 3 + 5, 12);
    made.push(next);
  }
  for (let part = 0; part < 80; part += 1) assert.ok(made.includes(part * 12), `part ${part}`);
});
