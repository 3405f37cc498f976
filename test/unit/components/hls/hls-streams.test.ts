// Streams of a node on disk: saved or deleted at their end, and recovered after a crash.
import assert from 'node:assert/strict';
import { readdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { HlsStreams, type HlsStreamsOptions } from '../../../../node/components/hls/hls-streams.ts';
import { parseOptions } from '../../../../node/components/hls/options.ts';
import { Admission } from '../../../../node/components/process/admission.ts';
import { LocalContent } from '../../../../node/storage/local-content.ts';
import type { Upload, Uploads } from '../../../../node/storage/upload.ts';
import { eventually } from '../../../kit/eventually.ts';
import { hostFacts } from '../../../kit/fakes/fake-components.ts';
import { checkPlaylist } from '../../../kit/media/hls-conformance.ts';
import { addFiles, makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';

const host = { ...hostFacts, log: silentLog() };
const small = { width: 320, height: 180 };

/** Records upload operations. */
class WrittenUploads implements Uploads {
  readonly said: string[] = [];
  leftIds: string[] = [];

  hasPlace = () => false;
  begin: Uploads['begin'] = async ({ kind }) => this.#upload(`begin ${kind}`);
  orphaned: Uploads['orphaned'] = async () => this.leftIds;
  resume: Uploads['resume'] = async (id) => this.#upload(`resume ${id}`);
  reopen = async () => assert.fail();

  #upload(first: string): Upload {
    this.said.push(first);
    return {
      fileGrew: (file) => this.said.push(`grows ${file}`),
      add: (file) => this.said.push(`add ${file}`),
      relocated: () => this.said.push('moved'),
      finish: () => this.said.push('finish'),
      discard: () => this.said.push('discard'),
    };
  }
}

async function make(t: TestContext, options: Partial<HlsStreamsOptions> = {}) {
  const resources = await makeResources(t);
  const uploads = new WrittenUploads();
  const admission = new Admission(() => ({ budget: 1.5, cores: 2, busy: 0 }));
  const streams = new HlsStreams({ log: silentLog(), resources, node: 'svc@test', uploads, admission, grace: 20, ...options });
  t.after(() => streams.close());
  const list = async (folder: string) => (await readdir(join(resources, folder)).catch(() => [])).sort();
  return { resources, uploads, streams, list };
}

/** Fills a stream with complete segments of one part. */
async function fill({ stream }: Awaited<ReturnType<HlsStreams['begin']>>, segments: number): Promise<void> {
  const { init, firstSegment } = stream.next();
  await addFiles(stream.folder, { [init]: 'init' });
  stream.begin(init, 'avc1.4d401f,mp4a.40.2');
  for (let number = firstSegment; number <= firstSegment + segments; number += 1) {
    await addFiles(stream.folder, { [`segment-${number}.m4s`]: 'segment' });
    stream.add({ segment: number, offset: 0, length: 7, duration: 2000, independent: true, time: number * 1000 });
  }
}

const request = (folder: string, file: string) => ({
  ...{ kind: 'hls' as const, folder, file, method: 'GET' as const, range: undefined, ifRange: undefined },
  ...{ client: '::1', forwarded: false, signal: new AbortController().signal },
});

test('a stream that is not persistent is served for the grace period, then deleted', async (t) => {
  const { streams, list } = await make(t);
  const running = await streams.begin({ host, options: parseOptions({}, false) });
  await fill(running, 2);
  await running.finish();
  assert.match((await streams.open(request('r', 'stream.m3u8'))).bytes?.toString() ?? '', /#EXT-X-ENDLIST\n$/);
  await eventually('it is deleted', async () => (await list('hls')).length === 0);
  assert.equal(streams.has('r'), false);
  await assert.rejects(streams.open(request('r', 'stream.m3u8')), { code: 'not_found' });
  assert.deepEqual(await list('recordings'), []);
});

test('a persistent stream becomes a recording with all segments, and is uploaded while it grows', async (t) => {
  const { streams, list, uploads, resources } = await make(t, { grace: 60_000 });
  const options = parseOptions({ persistent: true, targetWindowDuration: 6 }, false);
  const running = await streams.begin({ host, options });
  await fill(running, 9);
  await running.finish();
  const [id = ''] = await list('recordings');
  assert.equal(id, running.id);
  const files = await list(`recordings/${id}`);
  assert.deepEqual([files.filter((name) => name.startsWith('segment-')).length, files.includes('report.json')], [10, true]);
  const playlist = await readFile(join(resources, 'recordings', id, 'stream.m3u8'), 'utf8');
  assert.equal(playlist.match(/#EXTINF/g)?.length, 10);
  const report = JSON.parse(await readFile(join(resources, 'recordings', id, 'report.json'), 'utf8'));
  assert.deepEqual([report.type, report.state, report.roomId], ['hls', 'finished', 'r']);
  const { said } = uploads;
  assert.deepEqual([said[0], said.filter((line) => line.startsWith('add segment-')).length], ['begin hls', 10]);
  assert.deepEqual(said.slice(-3), ['moved', 'add report.json', 'finish']);
  // Still served to current viewers, from its new folder.
  const last = files.findLast((name) => name.startsWith('segment-')) ?? '';
  (await streams.open(request('r', last))).body?.destroy();
  assert.equal(await new LocalContent(resources).has('recording', id), true);
});

test('captions of a persistent stream are saved and uploaded with its segments', async (t) => {
  const { streams, list, uploads, resources } = await make(t);
  const running = await streams.begin({ host, options: parseOptions({ persistent: true, captions: true }, false) });
  const { firstSegment } = running.stream.next();
  running.stream.addCaption({ text: 'Hello', speaker: 'Ada' }, firstSegment * 1000 - 10_000);
  await fill(running, 2);
  await running.finish();
  const files = await list(`recordings/${running.id}`);
  const segments = files.filter((name) => /^captions-\d+\.vtt$/.test(name));
  assert.deepEqual([segments.length, files.includes('captions.m3u8')], [3, true]);
  const read = (file: string) => readFile(join(resources, 'recordings', running.id, file), 'utf8');
  checkPlaylist(await read('captions.m3u8'), { captions: true });
  assert.match(await read(segments[0] ?? ''), /00:00:00.000 --> 00:00:01.500\n<v Ada>Ada: Hello\n$/);
  assert.match(await read('index.m3u8'), /URI="captions.m3u8"/);
  assert.deepEqual(
    uploads.said.filter((line) => /captions-/.test(line)),
    segments.map((file) => `add ${file}`),
  );
  assert.ok(uploads.said.includes('add captions.m3u8'));
});

test('a stream whose end cannot be written becomes a recording of the segments in its stored playlist', async (t) => {
  const { resources, streams, uploads, list } = await make(t);
  const running = await streams.begin({ host, options: parseOptions({ persistent: true }, false) });
  // Only one segment: with another, the playlist could be written while the test reads it.
  await fill(running, 1);
  await eventually('the playlist is on the disk', async () => (await list(`hls/${running.id}`)).includes('index.m3u8'));
  const listed = await readFile(join(running.stream.folder, 'stream.m3u8'), 'utf8');
  // The playlist cannot be written any more.
  await addFiles(join(running.stream.folder, '.stream.m3u8'), { taken: '' });
  await running.finish();
  assert.deepEqual([await list('hls'), await list('recordings')], [[], [running.id]]);
  const kept = join(resources, 'recordings', running.id);
  assert.equal(await readFile(join(kept, 'stream.m3u8'), 'utf8'), listed);
  const segments = (await list(`recordings/${running.id}`)).filter((name) => name.startsWith('segment-'));
  assert.deepEqual(segments, listed.match(/^segment-.*$/gm));
  const { state, endTime } = JSON.parse(await readFile(join(kept, 'report.json'), 'utf8'));
  assert.equal(state, 'recovered');
  assert.ok(Date.parse(endTime) > 0);
  assert.deepEqual(uploads.said.slice(-3), ['moved', 'add report.json', 'finish']);
});

test('a stream without segments is discarded; a second stream of the room replaces the first', async (t) => {
  const { streams, list, uploads } = await make(t, { grace: 60_000 });
  const first = await streams.begin({ host, options: parseOptions({ persistent: true }, false) });
  await first.finish();
  assert.deepEqual(uploads.said, ['begin hls', 'discard']);
  const second = await streams.begin({ host, options: parseOptions({}, false) });
  assert.deepEqual(await list('hls'), [second.id]);
  await second.finish();
  await streams.close();
  assert.deepEqual([await list('hls'), await list('recordings')], [[], []]);
});

for (const [what, meet] of [
  ['shutdown', (hlsStreams: HlsStreams) => hlsStreams.close()],
  ['the next stream of the room', (hlsStreams: HlsStreams) => hlsStreams.begin({ host, options: parseOptions(small, false) })],
] as const) {
  test(`${what} waits for the runner of a stream, whose process still writes to it`, async (t) => {
    const { streams, list, resources } = await make(t, { grace: 60_000 });
    const running = await streams.begin({ host, options: parseOptions({ ...small, persistent: true }, false) });
    await fill(running, 2);
    const met = meet(streams);
    // A plausible time for a disk operation.
    await new Promise((resolve) => setTimeout(resolve, 200));
    const { stream, id } = running;
    const { firstSegment: number } = stream.next();
    await addFiles(stream.folder, { [`segment-${number}.m4s`]: 'the last' });
    stream.add({ segment: number, offset: 0, length: 8, duration: 1000, independent: true, time: number * 1000 });
    await running.finish();
    const next = await met;
    const kept = await readFile(join(resources, 'recordings', id, 'stream.m3u8'), 'utf8');
    assert.deepEqual([kept.match(/#EXTINF/g)?.length, kept.includes(`segment-${number}.m4s`)], [4, true]);
    assert.deepEqual(await list('hls'), next ? [next.id] : []);
    await next?.finish();
  });
}

test('a stream is rejected with a reason if the node has no CPU capacity', async (t) => {
  const { streams } = await make(t);
  const options = parseOptions({}, false);
  const first = await streams.begin({ host, options });
  await assert.rejects(streams.begin({ host, options }), { code: 'unavailable', message: /no capacity for one more/ });
  await first.finish();
});

test('orphaned streams are saved as their playlist lists, or deleted; streams with a fresh heartbeat stay', async (t) => {
  const { streams, list, uploads, resources } = await make(t);
  const id = (name: string) => `${name}-20260101T000000000Z`;
  const report = (name: string) =>
    JSON.stringify({
      id: id(name),
      type: 'hls',
      roomId: name,
      node: 'x',
      state: 'running',
      startTime: '2026-01-01T00:00:00.000Z',
      endTime: null,
      tracks: [],
    });
  const playlist = '#EXTM3U\n#EXT-X-MAP:URI="init-0.mp4"\n#EXTINF:2.0,\nsegment-1.m4s\n#EXT-X-ENDLIST\n';
  const captions = playlist.replace(/#EXT-X-MAP.*\n/, '').replace('segment-1.m4s', 'captions-1.vtt');
  const media = {
    ...{ 'index.m3u8': '#EXTM3U\n', 'stream.m3u8': playlist, 'init-0.mp4': 'i', 'segment-1.m4s': 's', 'segment-2.m4s': 'half' },
    ...{ 'captions.m3u8': captions, 'captions-1.vtt': 'WEBVTT\n', 'captions-2.vtt': 'WEBVTT\n' },
  };
  for (const name of ['kept', 'fresh']) await addFiles(join(resources, 'hls', id(name)), { ...media, 'report.json': report(name) });
  await addFiles(join(resources, 'hls', id('gone')), { 'report.json': report('gone'), 'segment-1.m4s': 's' });
  const old = new Date(Date.now() - 60_000);
  for (const name of ['kept', 'gone']) await utimes(join(resources, 'hls', id(name), 'report.json'), old, old);
  uploads.leftIds = [id('kept'), id('gone')];
  await streams.start();
  assert.deepEqual([await list('hls'), await list('recordings')], [[id('fresh')], [id('kept')]]);
  const files = ['captions-1.vtt', 'captions.m3u8', 'index.m3u8', 'init-0.mp4', 'report.json', 'segment-1.m4s', 'stream.m3u8'];
  assert.deepEqual(await list(`recordings/${id('kept')}`), files);
  assert.equal(JSON.parse(await readFile(join(resources, 'recordings', id('kept'), 'report.json'), 'utf8')).state, 'recovered');
  const [resumed, moved, ...rest] = uploads.said;
  assert.deepEqual([resumed, moved, rest.slice(0, 7).sort()], [`resume ${id('kept')}`, 'moved', files.map((file) => `add ${file}`)]);
  assert.deepEqual(rest.slice(7), ['finish', `resume ${id('gone')}`, 'discard']);
  await writeFile(join(resources, 'hls', 'a-file'), '');
  await streams.start();
});

test('a stream whose upload cannot start leaves no files and no heartbeat', async (t) => {
  const uploads = new WrittenUploads();
  uploads.begin = async () => {
    throw new Error('the disk is full');
  };
  const { streams, list } = await make(t, { uploads });
  const begun = streams.begin({ host, options: parseOptions({ persistent: true }, false) });
  await assert.rejects(begun, { code: 'unavailable', message: 'Could not write the stream to disk' });
  assert.deepEqual(await list('hls'), []);
  assert.equal(streams.has('r'), false);
});
