// Render plan: schedule of the clips in a report.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Report, type ReportTrack, reportSchema } from '../../../../api/recording-report.ts';
import { renderPlan } from '../../../../node/components/render/plan.ts';
import { fieldsOf } from '../../../kit/fields.ts';

const begin = Date.parse('2026-01-01T00:00:00.000Z');
const at = (time: number) => new Date(begin + time).toISOString();

function reportOf(tracks: readonly Partial<ReportTrack>[], change: Partial<Report> = {}): Report {
  const common = { trackId: 't', file: 't.webm', type: 'audio', encoding: 'opus', origin: { peerId: 'p' }, metadata: null, offset: 0 };
  const report = { id: 'r', roomId: 'r', node: 'n', state: 'finished', startTime: at(0), endTime: at(9000) };
  return reportSchema.parse({ ...report, tracks: tracks.map((track) => ({ ...common, ...track })), ...change });
}

test('clips are sorted by start and have a source; a peer and a component with one id are different sources', () => {
  const { clips, skipped, length } = renderPlan(
    reportOf([
      { file: 'b.webm', offset: 3000, duration: 2000 },
      { file: 'a.mkv', type: 'video', encoding: 'h264', offset: -20, duration: 1000, origin: { componentId: 'p' } },
      { file: 'b-2.webm', offset: 6000, duration: 500 },
    ]),
  );
  assert.deepEqual(skipped, []);
  assert.equal(length, 6500);
  assert.deepEqual(fieldsOf(clips, 'file', 'kind', 'source', 'start', 'end'), [
    ['a.mkv', 'video', 'component p', -20, 980],
    ['b.webm', 'audio', 'peer p', 3000, 5000],
    ['b-2.webm', 'audio', 'peer p', 6000, 6500],
  ]);
});

test('the length is the end of the last clip, or that of the report, or unknown', () => {
  assert.equal(renderPlan(reportOf([{ duration: 1000 }, {}])).length, 9000);
  assert.equal(renderPlan(reportOf([{ duration: 1000 }, {}], { state: 'running', endTime: null })).length, undefined);
  assert.equal(renderPlan(reportOf([])).length, 0);
});

test('tracks without file, start or safe name are skipped, with a message free of control characters', () => {
  const { clips, skipped } = renderPlan(
    reportOf([
      { file: null },
      { file: null, problem: 'Why not' },
      { offset: undefined },
      { offset: 8 * 24 * 3_600_000 },
      ...['../x.webm', '/x.webm', 'a/b.webm', '.x', '', 'x\0.webm', 'x y'].map((file) => ({ file })),
      { trackId: '\u001b[31m', file: null },
    ]),
  );
  assert.deepEqual(clips, []);
  assert.deepEqual(skipped.slice(0, 5), [
    'Track "t" was omitted: it has no file',
    'Track "t" was omitted: it has no file ("Why not")',
    'Track "t" was omitted: the report has no start time for it',
    'Track "t" was omitted: its start time is outside of the recording',
    'Track "t" was omitted: its file name is invalid',
  ]);
  assert.equal(skipped.length, 12);
  assert.equal(skipped.at(-1), 'Track "\\u001b[31m" was omitted: it has no file');
});

test('clock drift is corrected, and larger differences are ignored', () => {
  const hour = 3_600_000;
  // The first frame of the last 20 ms starts 360 ms later than its samples imply: a drift of 100 ppm.
  const drifted = { startTime: at(0), endTime: at((hour - 20) * 1.0001), duration: hour, frames: hour / 20 };
  const rateOf = (track: Partial<ReportTrack>) => renderPlan(reportOf([track])).clips[0]?.rate ?? Number.NaN;
  assert.ok(Math.abs(rateOf(drifted) - 1.0001) < 1e-6);
  const { end } = renderPlan(reportOf([drifted])).clips[0] ?? {};
  assert.ok(Math.abs((end ?? 0) - hour * 1.0001) < 5, `it ends at ${end}`);
  const frames = hour / 40;
  const video = { type: 'video', encoding: 'vp8', startTime: at(0), endTime: at((hour - 40) * 0.9999), duration: hour, frames } as const;
  assert.ok(Math.abs(rateOf(video) - 0.9999) < 1e-6);
  assert.equal(rateOf({ ...drifted, endTime: at(hour * 1.01) }), 1);
  assert.equal(rateOf({ ...drifted, endTime: undefined }), 1);
  assert.equal(rateOf({ ...drifted, frames: 1 }), 1);
});
