// Watchdog that detects a stream without new frames.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FrameWatchdog } from '../../../../../node/components/hls/composer/frame-schedule.ts';

const roundsIn = (milliseconds: number) => Math.floor((milliseconds * 48) / 1024);
const silent = (watch: FrameWatchdog, rounds: number) => Array.from({ length: rounds }, () => watch.audioMade()).includes(true);

test('slow frames are waited for without a limit', () => {
  const watch = new FrameWatchdog();
  for (let frames = 0; frames < 100; frames += 1) {
    assert.equal(silent(watch, roundsIn(9500)), false);
    watch.frameMade();
  }
});

test('ten seconds of audio without a frame mean a stalled composer', () => {
  const watch = new FrameWatchdog();
  silent(watch, roundsIn(9000));
  watch.frameMade();
  assert.equal(silent(watch, roundsIn(9900)), false);
  assert.equal(silent(watch, roundsIn(200)), true);
});
