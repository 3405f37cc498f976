// Lists and reports of recordings in the console, whatever their content.
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { matching, rowsOf } from '../../../packages/console/src/recordings/recording-list.ts';
import { lengthOf, markInterrupted, readReport } from '../../../packages/console/src/recordings/report.ts';
import { fieldsOf } from '../../kit/fields.ts';

const summary = (roomId: string, startTime: string) => ({
  id: `${roomId}-${startTime.replaceAll(/[-:.]/g, '')}`,
  type: 'recording' as const,
  roomId,
  node: 'svc@one',
  state: 'finished' as const,
  startTime,
  endTime: null,
});
const early = summary('early', '2026-01-01T10:00:00.000Z');
const late = summary('late', '2026-01-01T12:00:00.005Z');

describe('the list of recordings', () => {
  it('has every id once, the newest first, including ids without a summary and summaries without an id', () => {
    const undescribed = 'between-20260101T110000000Z';
    const rows = rowsOf({ ids: [early.id, undescribed, 'of-others'], described: [early, late], incomplete: [] }, []);
    assert.deepEqual(fieldsOf(rows, 'id', 'roomId', 'start'), [
      [late.id, 'late', Date.parse(late.startTime)],
      [undescribed, 'between', Date.parse('2026-01-01T11:00:00.000Z')],
      [early.id, 'early', Date.parse(early.startTime)],
      ['of-others', 'of-others', undefined],
    ]);
  });

  it('matches all search words in id, node, state and upload', () => {
    const rows = rowsOf({ ids: [], described: [{ ...early, upload: { state: 'failed' } }, late], incomplete: [] }, []);
    const found = (search: string) => matching(rows, search).map(({ roomId }) => roomId);
    assert.deepEqual(found(''), ['late', 'early']);
    assert.deepEqual(found('LATE'), ['late']);
    assert.deepEqual(found('svc@one failed'), ['early']);
    assert.deepEqual(found('late failed'), []);
  });

  it('marks a running recording as interrupted if its node is not in the cluster', () => {
    const described = [
      { ...early, state: 'running' as const, node: 'svc@gone' },
      { ...late, state: 'running' as const },
    ];
    const rows = rowsOf({ ids: [], described, incomplete: [] }, ['svc@one']);
    assert.deepEqual(
      rows.map(({ roomId, summary: reported }) => [roomId, reported?.state]),
      [
        ['late', 'running'],
        ['early', 'interrupted'],
      ],
    );
    assert.deepEqual(fieldsOf(matching(rows, 'interrupted'), 'roomId'), ['early']);
  });
});

describe('a report', () => {
  it('has origin, codec and time span of each track', () => {
    const track = { trackId: 't', file: 'a.webm', type: 'video', encoding: 'vp8', width: 640, height: 360, offset: 250, duration: 4_000 };
    const { tracks, ...report } = readReport({
      ...early,
      endTime: '2026-01-01T10:00:02.000Z',
      upload: { state: 'pending', problem: 'Access denied' },
      rendered: { file: 'rendered.mp4', width: 1280, height: 720, duration: 4_250, bytes: 12, problems: ['a.webm is left out'] },
      tracks: [
        { ...track, origin: { peerId: 'p' }, metadata: { name: 'Ada', source: 'camera' }, lostPackets: 3 },
        { ...track, origin: { componentId: 'c' }, metadata: null, file: null, problem: 'AV1 is not recorded' },
      ],
    });
    const [ada, file] = tracks;
    assert.deepEqual([ada?.originName, ada?.origin, ada?.about, ada?.size, ada?.lostPackets], ['Ada', 'peer p', 'camera', '640×360', 3]);
    assert.deepEqual([file?.originName, file?.origin, file?.file, file?.problem], ['c', 'component', undefined, 'AV1 is not recorded']);
    assert.deepEqual(report.upload, { state: 'pending', time: undefined, problem: 'Access denied' });
    assert.deepEqual(report.rendered, { size: '1280×720', duration: 4_250, bytes: 12, problems: ['a.webm is left out'] });
    assert.equal(lengthOf({ ...report, tracks }), 4_250, 'a track may end after the recording');
  });

  it('is parsed whatever its content', () => {
    for (const value of [
      null,
      7,
      'text',
      [],
      {},
      { tracks: {} },
      { tracks: [null, 7, []] },
      { upload: 'yes', rendered: 7, startTime: 'soon' },
    ]) {
      const report = readReport(value);
      assert.equal(report.state, 'finished');
      assert.deepEqual([report.upload, report.rendered], [undefined, undefined]);
      assert.equal(lengthOf(report), 0);
      for (const track of report.tracks) assert.deepEqual([track.originName, track.file, track.offset], ['unknown', undefined, undefined]);
    }
    const [track] = readReport({
      tracks: [{ origin: { peerId: '😀'.repeat(5_000) }, offset: -1, duration: Number.NaN, metadata: 'x'.repeat(16_000) }],
    }).tracks;
    assert.ok(
      track && track.originName.length < 200 && !/[\uD800-\uDBFF]…$/.test(track.originName),
      'a long name is cut between characters',
    );
    assert.equal(readReport({ tracks: [{ metadata: { name: '\u202Eeman\u2066 A' } }] }).tracks[0]?.originName, 'eman A');
    assert.ok((track.about ?? '').length < 200);
    assert.deepEqual([track.offset, track.duration], [undefined, undefined]);
  });

  it('in the state running is interrupted if its node is not in the cluster', () => {
    const running = readReport({ state: 'running', node: 'a@here' });
    assert.equal(markInterrupted(running, ['b@here', 'a@here']).state, 'running');
    assert.equal(markInterrupted(running, ['b@here']).state, 'interrupted');
    assert.equal(markInterrupted(readReport({ state: 'recovered', node: 'a@here' }), ['b@here']).state, 'recovered');
  });
});
