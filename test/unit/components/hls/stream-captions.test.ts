// Captions of a stream: each cue is in the segments and parts of its time, also around the crash of a composer.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Span, StreamCaptions } from '../../../../node/components/hls/playlist/stream-captions.ts';

const origin = 1_700_000_000_000;
const span = (from: number, duration = 500): Span => ({ time: origin + from, duration, origin });
const said = (text: string, speaker: string | null = null) => ({ text, speaker });
const cuesIn = (text: string) => [...text.matchAll(/^\d+\n([\d:.]+) --> ([\d:.]+)\n(.*)$/gm)].map(([, ...cue]) => cue);

test('a cue is in each segment of its time, with its whole time relative to the media', () => {
  const captions = new StreamCaptions();
  for (const from of [0, 500]) captions.published(span(from));
  captions.add(said('Hello', 'Ada'), origin + 1700);
  const cue = [['00:00:01.700', '00:00:03.200', '<v Ada>Ada: Hello']];
  assert.equal(captions.text(span(0, 1000)), 'WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:90,LOCAL:00:00:00.001\n');
  assert.deepEqual(
    [span(1000), span(1500), span(2000), span(3000, 2000), span(3200)].map((each) => cuesIn(captions.text(each))),
    [[], cue, cue, cue, []],
  );
});

test('published parts never change, and a clock that is far ahead does not delay cues without bound', () => {
  const captions = new StreamCaptions();
  captions.published(span(0, 10_000));
  captions.add(said('late'), origin + 3000);
  captions.add(said('early'), origin + 3_600_000);
  assert.deepEqual(cuesIn(captions.text(span(0, 10_000))), []);
  assert.deepEqual(cuesIn(captions.text(span(10_000, 90_000))), [
    ['00:00:10.000', '00:00:11.500', 'late'],
    ['00:01:10.000', '00:01:11.500', 'early'],
  ]);
});

test('cues of a time without media begin with the media of the next process', () => {
  const captions = new StreamCaptions();
  captions.add(said('before the stream'), origin - 4000);
  captions.published(span(0, 2000));
  captions.add(said('in the gap'), origin + 2500);
  const next = { time: origin + 6000, duration: 2000, origin: origin + 6000 };
  captions.published(next);
  assert.deepEqual(cuesIn(captions.text(span(0, 2000))), [['00:00:00.000', '00:00:01.500', 'before the stream']]);
  assert.deepEqual(cuesIn(captions.text(next)), [['00:00:00.000', '00:00:01.500', 'in the gap']]);
});

test('the number of cues is bounded, and old ones are forgotten with their segments', () => {
  const captions = new StreamCaptions();
  captions.published(span(0));
  const accepted = Array.from({ length: 100 }, () => captions.add(said('flood'), origin + 1000));
  assert.equal(accepted.filter(Boolean).length, 64);
  assert.equal(cuesIn(captions.text(span(1000))).length, 64);
  assert.equal(captions.add(said('word '.repeat(3000)), origin + 60_000), false);
  captions.published(span(500, 120_000));
  assert.equal(captions.add(said('later'), origin + 600_000), true);
  captions.forget(origin + 200_000);
  assert.deepEqual([cuesIn(captions.text(span(1000))), cuesIn(captions.text(span(0, 700_000))).length > 0], [[], true]);
});
