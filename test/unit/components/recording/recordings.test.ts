// Recordings of a node on disk: names, reports, recovery after a crash, and expiry.
import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cluster, matroskaHead, opusHead } from '../../../../node/components/recording/matroska.ts';
import { Recordings, type RecordingTarget } from '../../../../node/components/recording/recordings.ts';
import { LocalContent } from '../../../../node/storage/local-content.ts';
import { eventually } from '../../../kit/eventually.ts';
import { noUploads } from '../../../kit/fakes/component-registry.ts';
import { opusPacket } from '../../../kit/media/ogg-file.ts';
import { makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';

const start = Date.UTC(2026, 10, 21, 12, 0, 0, 5);
const track = {
  trackId: 'a',
  type: 'audio',
  encoding: 'opus',
  clockRate: 48_000,
  origin: { peerId: 'p' },
  metadata: { name: 'x' },
} as const;

function planOf(roomId: string): RecordingTarget {
  const room = { roomId, incarnation: 'i', webhookUrl: () => null };
  return { room, componentId: 'c', place: undefined, onUploadProblem: () => {}, log: silentLog() };
}

async function setup(t: TestContext, timeToLive: number | null = null) {
  const resources = await makeResources(t);
  let now = start;
  const open = () => {
    const recordings = new Recordings({
      log: silentLog(),
      resources,
      node: 'svc@test',
      uploads: noUploads,
      timeToLive: () => timeToLive,
      now: () => now,
    });
    t.after(() => recordings.close());
    return recordings;
  };
  const recordings = open();
  const folder = (id: string) => join(resources, 'recordings', id);
  return {
    recordings,
    resources,
    open,
    folder,
    report: async (id: string) => JSON.parse(await readFile(join(folder(id), 'report.json'), 'utf8')),
    pass: (time: number) => (now += time),
    age: (id: string, time: number) => utimes(join(folder(id), 'report.json'), new Date(now - time), new Date(now - time)),
    ids: async () => (await readdir(join(resources, 'recordings'))).sort(),
  };
}

test('a recording is named by room and start time, and its report has the start of each file', async (t) => {
  const { recordings, report, folder } = await setup(t);
  const recording = await recordings.create(planOf('r'));
  assert.equal(recording.id, 'r-20261121T120000005Z');
  const next = await recordings.create(planOf('r'));
  assert.equal(next.id, 'r-20261121T120000006Z');
  await next.finish();
  assert.ok(recordings.isRunning(recording.id));
  const { entry, path } = recording.add(track, '.webm');
  assert.equal(path, join(folder(recording.id), 'a.webm'));
  assert.equal(recording.add(track, '.webm').path, join(folder(recording.id), 'a-2.webm'));
  recording.addProblem({ ...track, encoding: 'av1', problem: 'no' });
  recording.update(entry, { startTime: start + 250.4 });
  recording.update(entry, { endTime: start + 1230, duration: 1000, frames: 50, lostPackets: 2 });
  await recording.finish();
  assert.ok(!recordings.isRunning(recording.id));
  const { endTime, ...rest } = await report(recording.id);
  assert.ok(Date.parse(endTime) > start);
  assert.deepEqual(rest, {
    id: recording.id,
    type: 'recording',
    roomId: 'r',
    node: 'svc@test',
    state: 'finished',
    startTime: '2026-11-21T12:00:00.005Z',
    tracks: [
      {
        ...track,
        file: 'a.webm',
        duration: 1000,
        frames: 50,
        lostPackets: 2,
        startTime: '2026-11-21T12:00:00.255Z',
        offset: 250,
        endTime: '2026-11-21T12:00:01.235Z',
      },
      { ...track, encoding: 'av1', problem: 'no', file: null },
    ],
  });
});

test('transcripts are captions of a recording, in the order and with the time that WebVTT requires', async (t) => {
  const { recordings, resources, report, folder } = await setup(t);
  const grown: string[] = [];
  const unused = { add: () => {}, relocated: () => {}, finish: () => {}, discard: () => {} };
  const uploads = { ...noUploads, begin: async () => ({ ...unused, fileGrew: (file: string) => grown.push(file) }) };
  const written = new Recordings({ log: silentLog(), resources, node: 'n', uploads, timeToLive: () => null, now: () => start });
  t.after(() => written.close());
  const recording = await written.create(planOf('r'));
  const captions = () => readFile(join(folder(recording.id), 'captions.vtt'), 'utf8');
  // A long text has several cues, of which the last ones begin after the next text.
  recording.addCaption({ text: 'word '.repeat(40), speaker: 'A < B' }, start + 61_000);
  await eventually('the first cue is written', async () => (await captions().catch(() => '')).includes('-->'));
  recording.addCaption({ text: '--> \n\nHello', speaker: null }, start + 62_500);
  await recording.finish();
  recording.addCaption({ text: 'too late', speaker: null }, start + 63_000);
  const text = await captions();
  assert.match(
    text,
    /^WEBVTT\n\n1\n00:01:01.000 --> 00:01:\d\d.\d{3}\n<v A &lt; B>A &lt; B: word( word)*\n\n2\n00:01:02.500 --> 00:01:04.000\n--&gt; Hello\n\n3\n/,
  );
  const starts = [...text.matchAll(/^([\d:.]+) -->/gm)].map(([, time]) => time ?? '');
  assert.deepEqual([starts.length, starts.toSorted()], [4, starts]);
  assert.deepEqual([(await report(recording.id)).captions, new Set(grown)], ['captions.vtt', new Set(['captions.vtt'])]);
  const silent = await recordings.create(planOf('silent'));
  await silent.finish();
  assert.equal((await report(silent.id)).captions, undefined);
});

test('an interrupted recording is finished by the next process once its heartbeat is stale', async (t) => {
  // The recording process updates the heartbeat every two seconds.
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { recordings, open, report, age } = await setup(t);
  const recording = await recordings.create(planOf('r'));
  const { entry, path } = recording.add(track, '.webm');
  const head = matroskaHead(
    { kind: 'audio', docType: 'webm', codecId: 'A_OPUS', codecPrivate: opusHead(2), channels: 2, defaultDuration: 20 },
    start,
  );
  const frames = Array.from({ length: 10 }, (_, index) => ({ time: index * 20, data: opusPacket(60, index), key: true }));
  await writeFile(path, Buffer.concat([head, cluster(frames).subarray(0, -10)]));
  recording.update(entry, { startTime: start + 100 });
  await eventually('the report names the track', async () => (await report(recording.id)).tracks.length > 0);
  assert.equal(await recordings.recover(), 0);
  const next = open();
  await age(recording.id, 9000);
  assert.equal(await next.recover(), 1);
  assert.equal((await report(recording.id)).state, 'running');
  await age(recording.id, 11_000);
  assert.equal(await next.recover(), 0);
  const { state, endTime, tracks } = await report(recording.id);
  assert.deepEqual([state, endTime, tracks[0].duration], ['recovered', '2026-11-21T12:00:00.285Z', 180]);
  await recording.finish();
});

test('expired recordings are deleted, running ones are not', async (t) => {
  const { recordings, ids, age } = await setup(t, 60_000);
  const [old, fresh, running] = [
    await recordings.create(planOf('old')),
    await recordings.create(planOf('new')),
    await recordings.create(planOf('run')),
  ];
  await old.finish();
  await fresh.finish();
  await age(old.id, 61_000);
  await age(fresh.id, 59_000);
  await age(running.id, 61_000);
  await recordings.sweep();
  assert.deepEqual(await ids(), [fresh.id, running.id].sort());
  await running.finish();
});

test('pending uploads are kept, and uploaded recordings are deleted after a day by default', async (t) => {
  const day = 24 * 3600_000;
  for (const [timeToLive, age, left] of [
    [1000, 2000, ['failed', 'pending']],
    [null, day + 1000, ['failed', 'local', 'pending']],
    [null, day - 1000, ['done', 'failed', 'local', 'pending']],
  ] as const) {
    const { recordings, resources, ids, age: grow } = await setup(t, timeToLive);
    for (const state of ['done', 'failed', 'local', 'pending'] as const) {
      const folder = join(resources, 'recordings', state);
      await mkdir(folder, { recursive: true });
      const report = {
        id: state,
        roomId: 'r',
        node: 'n',
        state: 'finished',
        startTime: new Date(start).toISOString(),
        endTime: null,
        tracks: [],
      };
      await writeFile(join(folder, 'report.json'), JSON.stringify({ ...report, ...(state !== 'local' && { upload: { state } }) }));
      await grow(state, age);
    }
    await recordings.sweep();
    assert.deepEqual(await ids(), left);
  }
});

test('without a TTL nothing is deleted', async (t) => {
  const { recordings, ids, age } = await setup(t);
  const recording = await recordings.create(planOf('r'));
  await recording.finish();
  await age(recording.id, 1e10);
  await recordings.sweep();
  assert.deepEqual(await ids(), [recording.id]);
});

test('a running recording cannot be deleted', async (t) => {
  const { recordings, resources, ids } = await setup(t);
  const recording = await recordings.create(planOf('r'));
  const content = new LocalContent(resources, (id) => recordings.isRunning(id));
  await assert.rejects(content.deleteRecording(recording.id), {
    code: 'conflict',
    message: `Recording ${recording.id} is in progress: it can be deleted once it has ended`,
  });
  await recording.finish();
  await content.deleteRecording(recording.id);
  assert.deepEqual(await ids(), []);
});
