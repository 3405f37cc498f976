// Uploads of folders to S3: large files, slow and broken connections, rejected keys, restarts, and deletion.
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, stat, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { CreateMultipartUploadCommand, S3Client, UploadPartCommand } from '@aws-sdk/client-s3';
import type { S3Target } from '../../api/component/s3-target.ts';
import type { RoomEvent } from '../../api/events.ts';
import { readReportFile, writeReportFile } from '../../node/storage/report-file.ts';
import { S3Store } from '../../node/storage/s3/s3-store.ts';
import type { UploadPlan } from '../../node/storage/upload.ts';
import { S3Uploads, type S3UploadsOptions } from '../../node/storage/uploads/s3-uploads.ts';
import { eventually } from '../kit/eventually.ts';
import { startTcpProxy } from '../kit/network/tcp-proxy.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { recordedLog } from '../kit/recorded-log.ts';
import { silentLog } from '../kit/silent-log.ts';

const id = 'r-20261121T120000005Z';
const quick = { growth: 30, again: 20, firstDelay: 20, maxDelay: 100, scan: 100 };

/** `failures`: counted when the event came. */
type Heard = { event: RoomEvent; webhookUrl: string | null; failures: number }[];

function planOf(place: S3Target | undefined, onProblem: UploadPlan['onProblem'] = () => {}): UploadPlan {
  const room = { roomId: 'r', incarnation: 'i', webhookUrl: () => 'http://w/' };
  return { id, kind: 'recording', room, componentId: 'c', place, onProblem };
}

async function arrange(t: TestContext) {
  const resources = await makeResources(t);
  const folder = join(resources, 'recordings', id);
  await mkdir(folder, { recursive: true });
  await writeReportFile(folder, { id, roomId: 'r' });
  const open = async (options: Partial<S3UploadsOptions> = {}) => {
    const heard: Heard = [];
    const uploads = new S3Uploads({
      log: silentLog(),
      resources,
      node: 'svc@test',
      place: () => null,
      allowPrivate: () => true,
      onEvent: (event, webhookUrl) => heard.push({ event, webhookUrl, failures: uploads.counters().failures }),
      ...options,
      settings: { ...quick, ...options.settings },
    });
    t.after(() => uploads.close(0));
    await uploads.start();
    return { uploads, heard };
  };
  return {
    resources,
    folder,
    open,
    state: async () => (await readReportFile(folder))?.upload as { state: string; problem?: string } | undefined,
  };
}

const jobs = async (resources: string) =>
  (await readdir(join(resources, 'uploads')).catch(() => [])).filter((name) => name.endsWith('.json'));

test('growing files are uploaded in pieces, large ones in parts; all content is identical, pieces are deleted, and an event reports it', async (t) => {
  const { place, names, read } = await startS3Server(t);
  const { folder, open, state, resources } = await arrange(t);
  const { uploads, heard } = await open();
  const upload = await uploads.begin(planOf({ ...place, pathPrefix: 'a/b' }), folder);
  assert.equal((await stat(join(resources, 'uploads', `${id}.json`))).mode & 0o777, 0o600);
  upload?.fileGrew('grown.webm');
  const grown = randomBytes(300_000);
  const path = join(folder, 'grown.webm');
  // Written atomically, because pieces of a partial write would differ.
  const grow = async (bytes: Buffer) => {
    await writeFile(join(resources, 'grown'), bytes);
    await rename(join(resources, 'grown'), path);
  };
  await grow(grown.subarray(0, 100_000));
  const chunk = (offset: number) => `a/b/${id}/.chunks/grown.webm/${String(offset).padStart(15, '0')}`;
  const there = async (name: string) => (await names()).includes(name);
  await eventually('the piece is up', () => there(chunk(0)), { every: 10 });
  await grow(grown);
  await eventually('the piece is up', () => there(chunk(100_000)), { every: 10 });
  assert.deepEqual(Buffer.concat([(await read(chunk(0))) ?? '', (await read(chunk(100_000))) ?? ''] as Buffer[]), grown);
  upload?.add('grown.webm');
  await eventually('the pieces are deleted', async () => !(await there(chunk(0))), { every: 10 });
  assert.deepEqual(await read(`a/b/${id}/grown.webm`), grown);
  const large = randomBytes(20 * 1024 * 1024 + 17);
  await writeFile(join(folder, 'large.mkv'), large);
  await writeFile(join(folder, 'empty.webm'), '');
  await writeFile(join(folder, '.hidden'), 'x');
  upload?.finish();
  await eventually('the end of the upload', () => heard.length > 0);
  assert.deepEqual(
    await names(),
    ['empty.webm', 'grown.webm', 'large.mkv', 'report.json'].map((name) => `a/b/${id}/${name}`),
  );
  assert.ok(large.equals((await read(`a/b/${id}/large.mkv`)) ?? Buffer.alloc(0)));
  const kept = JSON.parse(String(await read(`a/b/${id}/report.json`)));
  assert.deepEqual([kept.roomId, kept.upload.state, (await state())?.state], ['r', 'done', 'done']);
  const [{ event, webhookUrl } = {}] = heard;
  const { time: _, ...said } = event as RoomEvent;
  const expected = {
    id: `${id}-uploaded`,
    type: 'RecordingUploaded',
    node: 'svc@test',
    incarnation: 'i',
    roomId: 'r',
    componentId: 'c',
    recordingId: id,
  };
  assert.deepEqual([said, webhookUrl], [expected, 'http://w/']);
  await eventually('the job is deleted', () => uploads.counters().pending === 0);
  await eventually('no job is left', async () => (await jobs(resources)).length === 0, { every: 5 });
  assert.ok(uploads.counters().bytes > large.length);
});

test('an unavailable server is retried until it is back; the report has the reason, and a second process does not interfere', async (t) => {
  const server = await startS3Server(t);
  const { folder, open, state } = await arrange(t);
  const { uploads, heard } = await open({ settings: { problemAfter: 50 } });
  const problems: (string | null)[] = [];
  const upload = await uploads.begin(
    planOf(server.place, (problem) => problems.push(problem)),
    folder,
  );
  await writeFile(join(folder, 'a.webm'), 'a');
  await server.stop();
  upload?.add('a.webm');
  upload?.finish();
  await eventually('three failures', () => uploads.counters().failures >= 3);
  await eventually('the event', () => problems.length > 0);
  const other = await open();
  assert.equal(other.uploads.counters().pending, 0);
  assert.deepEqual(await state(), { state: 'pending', problem: 'S3 cannot be reached (ECONNREFUSED)' });
  await server.start();
  await eventually('the end of the upload', () => heard.length > 0);
  assert.deepEqual([heard[0]?.event.type, (await state())?.state, other.heard], ['RecordingUploaded', 'done', []]);
  assert.deepEqual(await server.names(), [`${id}/a.webm`, `${id}/report.json`]);
  assert.deepEqual(problems, ['S3 cannot be reached (ECONNREFUSED)', null]);
});

test('a permanent rejection is an event at the second failure, is still retried, and no file contains the keys', async (t) => {
  const { place, names } = await startS3Server(t);
  const { folder, open, state, resources } = await arrange(t);
  const { log, lines } = recordedLog();
  const first = await open({ log });
  const wrong = { ...place, secretAccessKey: 'this-is-not-the-secret-key' };
  const problems: (string | null)[] = [];
  const plan = planOf(wrong, (problem) => problems.push(problem));
  const upload = await first.uploads.begin({ ...plan, kind: 'hls' }, folder);
  await writeFile(join(folder, 'a.webm'), 'a');
  // Its component still runs.
  upload?.add('a.webm');
  await eventually('the event', () => first.heard.length > 0);
  const reason = 'S3 rejected the access key (SignatureDoesNotMatch)';
  const [{ event, webhookUrl, failures = 0 } = {}] = first.heard;
  assert.deepEqual(
    [event?.id, event?.type, event?.reason, webhookUrl, failures, problems],
    [`${id}-upload-crashed`, 'HlsUploadCrashed', reason, 'http://w/', 2, [reason]],
  );
  upload?.finish();
  await eventually('two more refusals', () => first.uploads.counters().failures >= failures + 2);
  assert.deepEqual([await state(), await names()], [{ state: 'pending', problem: reason }, []]);
  await first.uploads.close(0);
  const next = await open({ log, settings: { maxAge: 300 } });
  await eventually('it fails permanently', () => next.uploads.counters().givenUp === 1);
  const left = [(await state())?.state, await readFile(join(folder, 'a.webm'), 'utf8')];
  assert.deepEqual([left, await names(), first.heard.length, next.heard], [['failed', 'a'], [], 1, []]);
  await eventually('no job is left', async () => (await jobs(resources)).length === 0, { every: 5 });
  assert.doesNotMatch(JSON.stringify([lines, first.heard, await readReportFile(folder)]), /this-is-not|key-id/);
});

test('an upload that fails for too long fails permanently with an event', async (t) => {
  const server = await startS3Server(t);
  const { folder, open, state } = await arrange(t);
  const { uploads, heard } = await open({ place: () => server.place, settings: { maxAge: 300 } });
  const upload = await uploads.begin(planOf(undefined), folder);
  await server.stop();
  upload?.finish();
  await eventually('the end of the upload', () => heard.length > 0);
  const { state: said, problem } = (await state()) ?? {};
  assert.deepEqual([heard[0]?.event.type, said, problem], ['RecordingUploadCrashed', 'failed', 'S3 cannot be reached (ECONNREFUSED)']);
});

test('a request to a server that accepts connections but never responds times out', async (t) => {
  const silent = createServer().listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.after(() => silent.close());
  const { port } = silent.address() as AddressInfo;
  const store = new S3Store({ bucket: 'bkt', accessKeyId: 'a', secretAccessKey: 's', endpoint: `http://127.0.0.1:${port}` });
  t.after(() => store.close());
  await assert.rejects(store.head('x', new AbortController().signal, 200), { fault: 'failed', message: 'S3 did not respond in time' });
  const aborted = AbortSignal.timeout(100);
  await assert.rejects(store.head('x', aborted, 60_000), { name: 'TimeoutError' });
});

test('a temporary failure is no problem of the component', async (t) => {
  const server = await startS3Server(t);
  const { folder, open } = await arrange(t);
  const { uploads, heard } = await open({ settings: { problemAfter: 600_000 } });
  const problems: (string | null)[] = [];
  const upload = await uploads.begin(
    planOf(server.place, (problem) => problems.push(problem)),
    folder,
  );
  await server.stop();
  upload?.finish();
  await eventually('three failures', () => uploads.counters().failures >= 3);
  await server.start();
  await eventually('the end of the upload', () => heard.length > 0);
  assert.deepEqual(problems, []);
});

test('an upload that the storage of the node rejects succeeds with other keys, once configured', async (t) => {
  const { place, names } = await startS3Server(t);
  const { folder, open, resources } = await arrange(t);
  let own: S3Target | null = { ...place, accessKeyId: 'unknown' };
  const { uploads, heard } = await open({ place: () => own });
  const upload = await uploads.begin(planOf(undefined), folder);
  upload?.finish();
  await eventually('three failures', () => uploads.counters().failures >= 3);
  own = null;
  const failures = uploads.counters().failures;
  await eventually('three more', () => uploads.counters().failures >= failures + 3);
  assert.equal((await jobs(resources)).length, 1);
  own = place;
  await eventually('the end of the upload', () => heard.length > 1);
  const types = heard.map(({ event }) => event.type);
  assert.deepEqual(types, ['RecordingUploadCrashed', 'RecordingUploaded']);
  assert.deepEqual(await names(), [`.mediarooms/${id}`, `${id}/report.json`]);
  own = null;
  assert.equal(await uploads.begin(planOf(undefined), folder), undefined);
});

test('an interrupted upload of a large file over a slow connection is resumed, also by the next process', async (t) => {
  const server = await startS3Server(t);
  const way = await startTcpProxy(t, server.port);
  const place = { ...server.place, endpoint: `http://127.0.0.1:${way.port}` };
  const { folder, open } = await arrange(t);
  const part = 8 * 1024 * 1024;
  const large = randomBytes(4 * part + 1000);
  await writeFile(join(folder, 'large.mkv'), large);
  way.throttle(24 * 1024 * 1024);
  const first = await open();
  const upload = await first.uploads.begin(planOf(place), folder);
  upload?.finish();
  await eventually('the first part', () => first.uploads.counters().bytes >= part);
  way.cut();
  await eventually('a failure', () => first.uploads.counters().failures > 0);
  way.restore();
  await eventually('the second part', () => first.uploads.counters().bytes >= 2 * part);
  await first.uploads.close(0);
  const sent = first.uploads.counters().bytes;
  assert.ok(sent < 4 * part, `${sent} bytes were sent already`);
  const next = await open();
  await eventually('the end of the upload', () => next.heard.length > 0);
  assert.deepEqual([first.heard, next.heard[0]?.event.id], [[], `${id}-uploaded`]);
  const stored = await server.read(`${id}/large.mkv`);
  assert.equal(stored?.length, large.length);
  const parts = Array.from({ length: 5 }, (_, index) => [index * part, (index + 1) * part] as const);
  assert.deepEqual(
    parts.filter((range) => !large.subarray(...range).equals(stored.subarray(...range))),
    [],
    'changed parts',
  );
  const report = next.uploads.counters().bytes + sent - large.length;
  assert.ok(report > 0 && report < 1000, `${report} bytes were sent more than there are`);
});

test('a part with the right size but other content is uploaded again', async (t) => {
  const server = await startS3Server(t);
  const { folder, open } = await arrange(t);
  const part = 8 * 1024 * 1024;
  const large = randomBytes(2 * part + 1000);
  await writeFile(join(folder, 'large.mkv'), large);
  const { bucket, endpoint, accessKeyId, secretAccessKey } = server.place;
  const client = new S3Client({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials: { accessKeyId, secretAccessKey } });
  t.after(() => client.destroy());
  const object = { Bucket: bucket, Key: `${id}/large.mkv` };
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(object));
  const parts = [large.subarray(0, part), randomBytes(part)];
  for (const [index, Body] of parts.entries())
    await client.send(new UploadPartCommand({ ...object, UploadId, PartNumber: index + 1, Body }));
  const { uploads, heard } = await open();
  (await uploads.begin(planOf(server.place), folder))?.finish();
  await eventually('the end of the upload', () => heard.length > 0);
  assert.ok((await server.read(`${id}/large.mkv`))?.equals(large));
  const { bytes } = uploads.counters();
  assert.ok(bytes > part && bytes < 2 * part, `${bytes} bytes were sent`);
});

test('an orphaned upload waits until its files are finished; a deleted recording is deleted from S3 too', async (t) => {
  const server = await startS3Server(t);
  const { folder, open, resources } = await arrange(t);
  const first = await open();
  const upload = await first.uploads.begin(planOf(server.place), folder);
  await writeFile(join(folder, 'a.webm'), 'abc');
  upload?.fileGrew('a.webm');
  await eventually('a piece is up', async () => (await server.names()).some((name) => name.includes('.chunks')), { every: 10 });
  await first.uploads.close(0);
  const next = await open();
  const orphaned = [await next.uploads.orphaned('recording'), await next.uploads.orphaned('hls')];
  assert.deepEqual([...orphaned, next.uploads.counters().pending], [[id], [], 0]);
  const kept = join(resources, 'recordings', `${id}-kept`);
  await rename(folder, kept);
  const resumed = await next.uploads.resume(id);
  assert.deepEqual([await next.uploads.orphaned('recording'), await next.uploads.resume(id)], [[], undefined]);
  resumed?.relocated(kept);
  // Still being recorded while it is not finished.
  next.uploads.discard(id);
  await server.stop();
  resumed?.finish();
  await eventually('a failure', () => next.uploads.counters().failures > 0);
  next.uploads.discard(id);
  await server.start();
  await eventually('the job is deleted', () => next.uploads.counters().pending === 0);
  assert.deepEqual([await server.names(), next.heard], [[], []]);
});

test('more objects than one S3 response contains are listed and deleted', async (t) => {
  const { place, names } = await startS3Server(t);
  const store = new S3Store({ ...place, pathPrefix: 'deep' });
  t.after(() => store.close());
  const { signal } = new AbortController();
  const count = 2300;
  for (let at = 0; at < count; at += 50) {
    await Promise.all(Array.from({ length: 50 }, (_, index) => store.putText(`${id}/${at + index}`, 'x', signal)));
  }
  const listed = await store.list(`${id}/`, signal);
  assert.deepEqual([listed.length, new Set(listed.map(({ name }) => name)).size, listed[0]?.size], [count, count, 1]);
  assert.deepEqual(await store.folders(signal, 60_000), [id]);
  await store.remove(
    listed.map(({ name }) => name),
    signal,
  );
  assert.deepEqual([await names(), await store.head(`${id}/1`, signal)], [[], undefined]);
});

test('a file rendered later is uploaded next to its folder with the same keys, also by the next process; the keys are deleted with the folder', async (t) => {
  const { place, names, read } = await startS3Server(t);
  const { folder, open, state, resources } = await arrange(t);
  const first = await open();
  await writeFile(join(folder, 'a.webm'), 'a');
  const upload = await first.uploads.begin(planOf({ ...place, pathPrefix: 'p' }), folder);
  upload?.finish();
  await eventually('the end of the upload', () => first.heard.length === 1);
  await first.uploads.close(0);
  assert.deepEqual(await jobs(resources), [], 'the next process would upload and report it again');
  const kept = join(resources, 'uploads', 'kept', `${id}.json`);
  assert.equal((await stat(kept)).mode & 0o777, 0o600);
  const { uploads, heard } = await open();
  for (const text of ['one video', 'two video']) {
    await writeFile(join(folder, 'rendered.mp4'), text);
    await uploads.reopen(id);
    await eventually('the rendering', async () => (await state())?.state === 'done');
    assert.equal(String(await read(`p/${id}/rendered.mp4`)), text, 'a file of the same size with other content');
  }
  assert.deepEqual(
    await names(),
    ['a.webm', 'rendered.mp4', 'report.json'].map((name) => `p/${id}/${name}`),
  );
  assert.deepEqual(heard, []);
  await rename(folder, join(resources, 'gone'));
  await eventually('the keys are deleted', async () => (await readdir(join(resources, 'uploads', 'kept'))).length === 0);
});

test('a file rendered during an upload is uploaded before the report in S3 and on disk mentions it', async (t) => {
  const { place, names, port } = await startS3Server(t);
  const proxy = await startTcpProxy(t, port);
  const { folder, open, state } = await arrange(t);
  const { uploads, heard } = await open();
  await writeFile(join(folder, 'a.webm'), 'a');
  const upload = await uploads.begin(planOf({ ...place, endpoint: `http://127.0.0.1:${proxy.port}` }), folder);
  // Requests take long enough to act between two of them.
  proxy.throttle(1_500);
  upload?.finish();
  const isThere = async (name: string) => (await names()).includes(`${id}/${name}`);
  await eventually('the first file', () => isThere('a.webm'));
  assert.equal(await isThere('report.json'), false);
  await writeFile(join(folder, 'rendered.mp4'), 'video');
  await uploads.reopen(id);
  await eventually('the report', () => isThere('report.json'));
  assert.ok(await isThere('rendered.mp4'), 'it is missing while the report in S3 lists it');
  proxy.throttle(undefined);
  await eventually('the end of the upload', () => heard.length === 1);
  assert.equal((await state())?.state, 'done');
});

test('if the keys are no longer stored, the report states that the rendered file is not uploaded', async (t) => {
  const { folder, open, state } = await arrange(t);
  await writeReportFile(folder, { id, roomId: 'r', upload: { state: 'done' } });
  const { uploads } = await open();
  await uploads.reopen(id);
  const { state: said, problem } = (await state()) ?? {};
  assert.deepEqual([said, problem], ['failed', 'The rendered file cannot be uploaded: the keys of its storage are not stored any more']);
});
