// Whether a machine can carry one more stream.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { estimateCores, type Machine, refusal } from '../../../../node/components/hls/admission.ts';

const idle: Machine = { running: [], budget: 1.5, cores: 2, busy: 0 };
const hd = estimateCores({ width: 1280, height: 720, framerate: 24 });

test('a stream is estimated by its pixels per second', () => {
  assert.ok(hd > 0.5 && hd < 1.2);
  assert.ok(estimateCores({ width: 1920, height: 1080, framerate: 24 }) > 2 * hd * 0.95);
  assert.ok(estimateCores({ width: 320, height: 180, framerate: 24 }) < 0.2);
});

test('the first stream always goes, whatever the machine says', () => {
  assert.equal(refusal(100, { ...idle, busy: 1, budget: 0 }), undefined);
});

test('one more goes while the budget and the machine allow it', () => {
  assert.equal(refusal(0.5, { ...idle, running: [0.95] }), undefined);
  assert.match(
    refusal(0.95, { ...idle, running: [0.95] }) ?? '',
    /composes 1 stream .* it may use 1\.5 cores, 0\.9 are in use and 0\.9 would be needed|1\.0/,
  );
  assert.match(refusal(0.5, { ...idle, running: [0.1, 0.1], budget: 8, busy: 0.8 }) ?? '', /too busy .* 0\.2 of 2 cores are free/);
  assert.equal(refusal(0.1, { ...idle, running: [0.1, 0.1], budget: 8, busy: 0.8 }), undefined);
});
