// Options of hls components: validation and public values.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gopTiming } from '../../../../node/components/hls/composer/frame-schedule.ts';
import { bitratesOf, parseOptions, publicOptions, segmentTimings } from '../../../../node/components/hls/options.ts';

const s3 = { bucket: 'bucket', accessKeyId: 'the-key-id', secretAccessKey: 'the-secret' };

test('omitted and null options have defaults, and S3 keys are not shown', () => {
  const { s3: none, ...read } = parseOptions({ width: null }, false);
  assert.equal(none, undefined);
  assert.deepEqual(read, {
    ...{ lowLatency: true, persistent: false, targetWindowDuration: null, subscribeMode: 'auto', origins: [], width: 1280, height: 720 },
    ...{ framerate: 24, segmentDuration: 2, layout: 'grid', names: false, captions: false },
  });
  const shown = publicOptions(parseOptions({ persistent: true, s3: { ...s3, pathPrefix: 'a/b' } }, false));
  assert.deepEqual('s3' in shown && shown.s3, { bucket: 'bucket', region: null, endpoint: null, pathPrefix: 'a/b' });
  assert.doesNotMatch(JSON.stringify(shown), /the-/);
});

for (const [options, message, field] of [
  [{ width: 1281 }, 'Expected width to be even, got: 1281', 'width'],
  [{ width: 4 }, 'Expected width to be an integer from 16 to 3840, got: 4', 'width'],
  [{ framerate: 61 }, 'Expected framerate to be an integer from 1 to 60, got: 61', 'framerate'],
  [{ segmentDuration: 0 }, 'Expected segmentDuration to be an integer from 1 to 30, got: 0', 'segmentDuration'],
  [{ targetWindowDuration: 1.5 }, 'Expected targetWindowDuration to be an integer from 1 to 86400, got: 1.5', 'targetWindowDuration'],
  [{ layout: 'mosaic' }, 'Expected layout to be grid, speaker or single, got: "mosaic"', 'layout'],
  [{ lowLatency: 'yes' }, 'Expected lowLatency to be true or false, got: "yes"', 'lowLatency'],
  [{ subscribeMode: 'all' }, 'Expected subscribeMode to be auto or manual, got: "all"', 'subscribeMode'],
  [{ colour: 1 }, 'Unknown field colour', 'colour'],
  [{ origins: ['p'] }, 'Option origins requires subscribeMode manual: otherwise all tracks are received', 'origins'],
  [{ subscribeMode: 'manual', origins: 'p' }, 'Expected origins to be a list of ids, got: "p"', 'origins'],
  [{ s3 }, 'Option s3 requires persistent: true, because other streams are not stored', 's3'],
] as const) {
  test(`refused: ${message}`, () => {
    assert.throws(() => parseOptions(options, false), { message, field: `options.${field}` });
  });
}

test('an S3 storage is rejected if the node has one, and errors contain no secrets', () => {
  assert.throws(() => parseOptions({ persistent: true, s3 }, true), { code: 'bad_request', message: /^Conflicting S3 credentials/ });
  assert.throws(
    () => parseOptions({ persistent: true, s3: { ...s3, secretAccessKey: 7 } }, false),
    (error: Error) => !error.message.includes('7'),
  );
});

test('parts are whole frames, segments have the requested duration, and the bit rate grows with the frame size', () => {
  for (const [framerate, part] of [
    [24, 250],
    [25, 240],
    [30, 267],
    [60, 250],
    [1, 1000],
  ] as const) {
    const { times, partDuration } = segmentTimings({ lowLatency: true, segmentDuration: 2, framerate });
    assert.deepEqual([times.target, times.partTarget, partDuration], [2000, part, part]);
  }
  for (let framerate = 1; framerate <= 60; framerate += 1) {
    for (let segmentDuration = 1; segmentDuration <= 30; segmentDuration += 1) {
      const { times, partDuration } = segmentTimings({ lowLatency: true, segmentDuration, framerate });
      const { interval, perPart, perSegment } = gopTiming(framerate, partDuration, times.target);
      assert.equal(perSegment, times.partsPerSegment * perPart);
      // RFC 8216bis, section 4.4.3.1.
      assert.ok(Math.round((perSegment * interval) / 1000) <= segmentDuration, `${framerate} frames per second, ${segmentDuration} s`);
    }
  }
  assert.equal(segmentTimings({ lowLatency: false, segmentDuration: 4, framerate: 24 }).times.partTarget, undefined);
  const { video: small } = bitratesOf({ width: 320, height: 180, framerate: 24 });
  const { video: large } = bitratesOf({ width: 1920, height: 1080, framerate: 30 });
  assert.ok(small < 600_000 && large > 4_000_000, `${small} ${large}`);
});
