// Stream as viewers load it, part by part: valid HLS at each step, without missing or foreign files.
import assert from 'node:assert/strict';
import { appendFile, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Stream, type StreamOptions } from '../../../../node/components/hls/stream.ts';
import type { ContentResponse, PlaylistRequest } from '../../../../node/rooms/services/content.ts';
import { fieldsOf } from '../../../kit/fields.ts';
import { type CheckedPlaylist, checkPlaylist, checkUpdate } from '../../../kit/media/hls-conformance.ts';
import { makeResources } from '../../../kit/processes/resources-folder.ts';
import { silentLog } from '../../../kit/silent-log.ts';
import { turns } from '../../../kit/turns.ts';

const codecs = 'avc1.4d401f,mp4a.40.2';
const first = 1000;
/** Capture time of the first frame. */
const begun = 1_700_000_000_000;

class Studio {
  readonly stream: Stream;
  readonly folder: string;
  playable = 0;
  clock = 0;
  #segment = first;
  #part = 0;
  #offset = 0;
  #time = begun;

  constructor(folder: string, options: Partial<StreamOptions> = {}) {
    this.folder = folder;
    this.stream = new Stream({
      log: silentLog(),
      folder,
      times: { target: 2000, partTarget: 500, partsPerSegment: 4 },
      window: null,
      video: { width: 640, height: 360, framerate: 24 },
      bitrate: 1_000_000,
      firstSegment: first,
      captions: false,
      archive: undefined,
      onPlayable: () => {
        this.playable += 1;
      },
      now: () => this.clock,
      ...options,
    });
  }

  async begin(): Promise<void> {
    const { firstSegment, init } = this.stream.next();
    await writeFile(join(this.folder, init), `init of ${firstSegment}`);
    this.#segment = firstSegment;
    this.#part = 0;
    this.#offset = 0;
    this.stream.begin(init, codecs);
  }

  /** Adds parts of half a second, four per segment. */
  async parts(count: number, duration = 500): Promise<void> {
    for (let made = 0; made < count; made += 1) {
      if (this.#part === 4) {
        this.#segment += 1;
        this.#part = 0;
        this.#offset = 0;
      }
      const bytes = `${this.#segment}.${this.#part};`;
      await appendFile(join(this.folder, `segment-${this.#segment}.m4s`), bytes);
      this.stream.add({
        segment: this.#segment,
        offset: this.#offset,
        length: bytes.length,
        duration,
        independent: this.#part === 0,
        time: this.#time,
      });
      this.#offset += bytes.length;
      this.#part += 1;
      this.#time += 500;
      this.clock += 500;
    }
  }

  open(file: string, playlist: Partial<PlaylistRequest> = {}, signal = new AbortController().signal): Promise<ContentResponse> {
    const none = { msn: undefined, part: undefined, skip: false, token: undefined, gzip: false };
    return this.stream.open({
      kind: 'hls',
      folder: 'r',
      file,
      playlist: { ...none, ...playlist },
      method: 'GET',
      range: undefined,
      ifRange: undefined,
      client: '127.0.0.1',
      forwarded: false,
      signal,
    });
  }

  async text(file: string, playlist: Partial<PlaylistRequest> = {}): Promise<string> {
    const { bytes, body } = await this.open(file, playlist);
    if (bytes) return bytes.toString();
    const chunks: Buffer[] = [];
    for await (const chunk of body ?? []) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks).toString();
  }

  async playlist(playlist: Partial<PlaylistRequest> = {}): Promise<CheckedPlaylist> {
    return checkPlaylist(await this.text('stream.m3u8', playlist));
  }
}

async function make(t: TestContext, options: Partial<StreamOptions> = {}): Promise<Studio> {
  return new Studio(await makeResources(t), options);
}

test('a stream is watched until some time after the last request of a viewer', async (t) => {
  const studio = await make(t);
  await studio.begin();
  await studio.parts(5);
  assert.equal(studio.stream.watched, false);
  await studio.playlist();
  assert.equal(studio.stream.watched, true);
  studio.clock += 9_999;
  assert.equal(studio.stream.watched, true);
  studio.clock += 1;
  assert.equal(studio.stream.watched, false);
});

test('each playlist of a stream is valid HLS, with a moving window, a crashed process, and an end', async (t) => {
  const studio = await make(t, { window: 10_000 });
  await studio.begin();
  await studio.parts(5);
  assert.equal(studio.playable, 1);
  let before = await studio.playlist();
  const step = async (count = 1) => {
    for (let made = 0; made < count; made += 1) {
      await studio.parts(1);
      const after = await studio.playlist();
      checkUpdate(before, after);
      checkUpdate(before, await studio.playlist({ skip: true }));
      before = after;
    }
  };
  await step(6);
  await studio.stream.interrupted();
  const interrupted = await studio.playlist();
  checkUpdate(before, interrupted);
  assert.deepEqual([interrupted.hint, interrupted.segments.at(-1)?.duration], [undefined, 1.5]);
  before = interrupted;
  await studio.begin();
  await step(6);
  assert.deepEqual(fieldsOf(before.segments, 'init', 'discontinuity'), [
    ['init-0-1000.mp4', 0],
    ['init-0-1000.mp4', 0],
    ['init-0-1000.mp4', 0],
    ['init-1-1000.mp4', 1],
  ]);
  await step(60);
  assert.deepEqual([before.discontinuitySequence, new Set(before.segments.map(({ discontinuity }) => discontinuity))], [1, new Set([1])]);
  const length = before.segments.reduce((sum, { duration }) => sum + duration, 0);
  assert.ok(length >= 8 && length <= 12, `${length} s`);
  // A process that ends leaves a short part, which is published with the end.
  await studio.parts(1, 100);
  assert.deepEqual(await studio.playlist(), before);
  await studio.stream.end();
  const last = await studio.playlist();
  checkUpdate(before, last);
  assert.deepEqual([last.ended, last.hint, last.parts.size], [true, undefined, 0]);
  assert.equal(last.segments.at(-1)?.duration, 1.1);
});

test('segments that left the playlist stay loadable for a while, then are deleted unless persistent', async (t) => {
  const studio = await make(t, { window: 6000 });
  await studio.begin();
  await studio.parts(60);
  const { mediaSequence } = await studio.playlist();
  assert.equal(await studio.text(`segment-${mediaSequence - 1}.m4s`), [0, 1, 2, 3].map((part) => `${mediaSequence - 1}.${part};`).join(''));
  await assert.rejects(studio.open(`segment-${first}.m4s`), { code: 'not_found' });
  assert.ok(!(await readdir(studio.folder)).includes(`segment-${first}.m4s`));
});

test('only complete files of the stream are served', async (t) => {
  const studio = await make(t);
  await studio.begin();
  await studio.parts(6);
  await writeFile(join(studio.folder, 'report.json'), 'secret');
  for (const file of [
    'report.json',
    'segment-1001.m4s',
    'segment-01000.m4s',
    'segment-999.m4s',
    'part-1001.3.m4s',
    'part-1001.1',
    '../x',
    '',
    'init-9.mp4',
  ]) {
    await assert.rejects(studio.open(file), { code: 'not_found' }, file);
  }
  assert.equal(await studio.text('part-1001.1.m4s'), '1001.1;');
  assert.equal(await studio.text('segment-1000.m4s'), '1000.0;1000.1;1000.2;1000.3;');
  const segment = await studio.open('segment-1000.m4s');
  segment.body?.destroy();
  assert.match(segment.headers['cache-control'] ?? '', /immutable/);
});

test('requests for a playlist and a part are woken together, rejected if too far ahead, and time out', async (t) => {
  const studio = await make(t);
  await studio.begin();
  const early = studio.text('index.m3u8');
  await studio.parts(6);
  assert.match(await early, /CODECS="avc1.4d401f,mp4a.40.2",RESOLUTION=640x360,FRAME-RATE=24.000\nstream.m3u8/);
  const waiting = Array.from({ length: 1000 }, () => studio.open('stream.m3u8', { msn: 1001, part: 2 }));
  const hinted = studio.text('part-1001.2.m4s');
  await turns();
  assert.equal(studio.stream.waiting, 1001);
  await studio.parts(1);
  const answers = await Promise.all(waiting);
  assert.equal(new Set(answers.map(({ bytes }) => bytes)).size, 1);
  assert.equal(answers[0]?.headers['cache-control'], 'max-age=12');
  assert.equal((await studio.open('stream.m3u8')).headers['cache-control'], 'max-age=1');
  assert.ok(checkPlaylist(answers[0]?.bytes?.toString() ?? '').parts.get(1001)?.length === 3);
  assert.equal(await hinted, '1001.2;');
  for (const request of [{ msn: 1004 }, { msn: 1001, part: 12 }, { part: 1 }]) {
    await assert.rejects(studio.open('stream.m3u8', request), { code: 'bad_request' }, JSON.stringify(request));
  }
  // The part number after the last part of a segment is the first part of the next one.
  const next = studio.playlist({ msn: 1001, part: 4 });
  await studio.parts(2);
  assert.equal((await next).parts.get(1002)?.length, 1);
  // Disconnected clients do not count.
  const disconnected = new AbortController();
  const left = studio.open('stream.m3u8', { msn: 1003 }, disconnected.signal);
  disconnected.abort();
  await left;
  assert.equal(studio.stream.waiting, 0);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const late = assert.rejects(studio.open('stream.m3u8', { msn: 1003, part: 0 }), { code: 'unavailable' });
  await turns();
  t.mock.timers.tick(6000);
  await late;
});

test('the end wakes all requests, and a stream without segments cannot be played', async (t) => {
  const studio = await make(t);
  const none = assert.rejects(studio.open('index.m3u8'), { code: 'not_found' });
  await studio.stream.end();
  await none;
  const other = await make(t);
  await other.begin();
  await other.parts(5);
  const waiting = other.playlist({ msn: 1002, part: 0 });
  const part = assert.rejects(other.open('part-1001.1.m4s'), { code: 'not_found' });
  await other.stream.end();
  assert.equal((await waiting).ended, true);
  await part;
});

test('a token is on each address of a playlist, compressed or not; without parts no request waits', async (t) => {
  const studio = await make(t, { times: { target: 2000, partTarget: undefined, partsPerSegment: 4 } });
  await studio.begin();
  await studio.parts(9);
  const text = await studio.text('stream.m3u8', { token: 'a.b-c', msn: 9999 });
  assert.deepEqual(
    text.split('\n').filter((line) => /m4s|mp4/.test(line)),
    ['#EXT-X-MAP:URI="init-0-1000.mp4?token=a.b-c"', 'segment-1000.m4s?token=a.b-c', 'segment-1001.m4s?token=a.b-c'],
  );
  assert.doesNotMatch(text, /PART|PRELOAD|SKIP/);
  checkPlaylist(await studio.text('stream.m3u8'));
  assert.match(await studio.text('index.m3u8', { token: 'x' }), /\nstream.m3u8\?token=x\n/);
  const zipped = await studio.open('stream.m3u8', { gzip: true });
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(zipped.bytes ?? '').toString(), await studio.text('stream.m3u8'));
});

test('a stream with captions has a rendition with the same segments and parts', async (t) => {
  const studio = await make(t, { captions: true, window: 10_000 });
  await studio.begin();
  await studio.parts(5);
  const captions = async (request = {}) => checkPlaylist(await studio.text('captions.m3u8', request), { captions: true });
  let before = await captions();
  for (let made = 0; made < 40; made += 1) {
    await studio.parts(1);
    const after = await captions(made % 2 === 0 ? {} : { skip: true });
    checkUpdate(before, after);
    before = after;
  }
  const [media, text] = [await studio.playlist(), await captions()];
  const named = (uri: string | undefined) => uri?.replace(/^(?:part|segment)-(.*)\.m4s$/, 'captions-$1.vtt');
  assert.deepEqual(
    text.segments.map(({ uri, duration, time, number }) => ({ uri, duration, time, number })),
    media.segments.map(({ uri, duration, time, number }) => ({ uri: named(uri), duration, time, number })),
  );
  assert.deepEqual([text.hint, [...text.parts.keys()]], [named(media.hint), [...media.parts.keys()]]);
  assert.match(
    await studio.text('captions.m3u8', { token: 'x' }),
    /#EXT-X-RENDITION-REPORT:URI="stream.m3u8\?token=x",LAST-MSN=1011,LAST-PART=0\n/,
  );
  const index = await studio.text('index.m3u8', { token: 'x' });
  assert.match(
    index,
    /#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID="captions",.*URI="captions.m3u8\?token=x"\n#EXT-X-STREAM-INF:.*SUBTITLES="captions"\n/,
  );

  // A cue is in the part that follows, and in its segment.
  studio.stream.addCaption({ text: 'Hello', speaker: null }, begun + 22_600);
  const part = studio.text('captions-1011.1.vtt');
  await studio.parts(1);
  assert.match(await part, /^WEBVTT\nX-TIMESTAMP-MAP=.*\n\n1\n00:00:22.600 --> 00:00:24.100\nHello\n$/);
  await studio.parts(3);
  assert.equal(await studio.text('captions-1011.vtt'), await part);
  assert.doesNotMatch(await studio.text('captions-1011.0.vtt'), /Hello/);
  assert.equal((await studio.open('captions-1011.vtt')).headers['content-type'], 'text/vtt');
  for (const file of ['captions-1012.vtt', 'captions-999.vtt', 'captions-01011.vtt', 'captions-1011.9.vtt', 'captions-.vtt', 'x.vtt'])
    await assert.rejects(studio.open(file), { code: 'not_found' }, file);
  const plain = await make(t);
  await plain.begin();
  await plain.parts(5);
  for (const file of ['captions.m3u8', 'captions-1000.vtt']) await assert.rejects(plain.open(file), { code: 'not_found' }, file);
  assert.doesNotMatch(await plain.text('index.m3u8'), /SUBTITLES/);
  assert.doesNotMatch(await plain.text('stream.m3u8'), /RENDITION-REPORT/);
});
