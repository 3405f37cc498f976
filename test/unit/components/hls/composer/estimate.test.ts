// CPU estimate of streams.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateCores } from '../../../../../node/components/hls/composer/estimate.ts';

test('the estimate of a stream follows its pixels per second', () => {
  const hd = estimateCores({ width: 1280, height: 720, framerate: 24 });
  assert.ok(hd > 0.5 && hd < 1.2);
  assert.ok(estimateCores({ width: 1920, height: 1080, framerate: 24 }) > 2 * hd * 0.95);
  assert.ok(estimateCores({ width: 320, height: 180, framerate: 24 }) < 0.2);
});
