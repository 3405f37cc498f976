// Stream names: a restored track has another stream than before.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nameStream } from '../../../node/media/receivers/stream-name.ts';

const parameters = { codecs: [], rtcp: { cname: 'someone', reducedSize: true } };

test('a track that was never interrupted keeps the names of its publisher', () => {
  assert.equal(nameStream(parameters, 0), parameters);
});

test('the streams of a restored track are named by its generation, those of audio and video alike', () => {
  assert.deepEqual(nameStream({ ...parameters, msid: 'main camera' }, 2), {
    ...{ codecs: [], msid: 'main-2 camera' },
    rtcp: { cname: 'someone-2', reducedSize: true },
  });
  assert.deepEqual(nameStream(parameters, 1).rtcp?.cname, 'someone-1');
});
