// Rendering of recordings that exist only in S3: done by the requested node, visible on all nodes, uploaded to S3, and deleted from the
// disk.
import assert from 'node:assert/strict';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ReportTrack } from '../../api/recording-report.ts';
import { S3Store } from '../../node/storage/s3/s3-store.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor } from '../kit/media/recorded-file.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { type S3Server, startS3Server } from '../kit/processes/s3-server.ts';
import { smallDisk } from '../kit/processes/small-disk.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { colours, encode, makeRecording, plainVideo, renderOver, renderState, watch } from './render-kit.ts';

const id = 'x-20260101T000000000Z';
const size = { width: 640, height: 360 };
/** Hours of black between two frames, so that rendering takes longer than any test. */
const hours = 6 * 3_600_000;

const work = (resources: string) => readdir(join(resources, 'renders')).catch(() => []);
/** Milliseconds that rendering may take on a busy machine, because it has the lowest priority (nice 19). */
const timeoutMs = 240_000;
const slow = { timeout: 2 * timeoutMs };
const runs = (api: ApiClient) => eventually('it renders', async () => (await renderState(api, id)).progress > 0, { within: timeoutMs });

/** A recording of two frames that exists only in S3, `blue.webm` in pieces. @returns a local folder with its files */
async function archive(t: TestContext, s3: S3Server, tracks: readonly Partial<ReportTrack>[], change: object = {}): Promise<string> {
  const { folder } = await makeRecording(t, tracks, { type: 'recording', upload: { state: 'done' }, ...change });
  await encode(join(folder, 'red.webm'), 'vp8', plainVideo('red', '320x180', 3));
  await encode(join(folder, 'blue.webm'), 'vp8', plainVideo('blue', '320x180', 2));
  const store = new S3Store(s3.place);
  await store.putText(`.mediarooms/${id}`, '', t.signal);
  for (const file of ['red.webm', 'report.json']) await store.putFile(`${id}/${file}`, join(folder, file), t.signal);
  const blue = join(folder, 'blue.webm');
  const half = Math.floor((await stat(blue)).size / 2);
  const piece = (start: number) => `${id}/.chunks/blue.webm/${String(start).padStart(15, '0')}`;
  await store.putPart(piece(0), blue, { start: 0, length: half }, t.signal);
  await store.putPart(piece(half), blue, { start: half, length: (await stat(blue)).size - half }, t.signal);
  store.close();
  return folder;
}

const both = [{ file: 'red.webm' }, { file: 'blue.webm', offset: 1000 }, { file: 'missing.webm', offset: 1000 }];
const long = [
  { file: 'red.webm', duration: 1000 },
  { file: 'red.webm', duration: 1000, offset: hours },
];

test(
  'a recording of a lost node in S3, with files in pieces, is rendered by the requested node and available on any node',
  slow,
  async (t) => {
    const s3 = await startS3Server(t);
    await archive(t, s3, both, { state: 'running' });
    const resources = await makeResources(t);
    const names = { one: `one-archived-${process.pid}@localhost`, other: `other-archived-${process.pid}@localhost` };
    const dist = { ...s3.env, SVC_DIST_ENABLED: 'true', SVC_DIST_NODES: Object.values(names).join(' ') };
    const one = await startNode(t, { ...dist, SVC_DIST_NODE_NAME: names.one, SVC_RESOURCES_BASE_PATH: resources });
    const second = await startNode(t, { ...dist, SVC_DIST_NODE_NAME: names.other });
    const [api, other] = [one.api, second.api];
    await eventually('the cluster', async () => (await other.get('/health')).body.data.distribution.nodesInCluster === 2);
    assert.deepEqual(await renderState(other, id), { state: 'none', progress: 0 });
    assert.equal((await api.post(`/recording/${id}/render`, size)).status, 202);
    assert.notEqual((await renderState(other, id)).state, 'none', 'the other node has the state of the rendering');
    const problems = ['missing.webm was omitted: The file does not exist'];
    assert.deepEqual(await renderOver(other, id), { state: 'done', progress: 1, problems });
    assert.deepEqual(await work(resources), []);
    const { rendered } = (await other.get(`/recording/${id}`)).body;
    assert.deepEqual([rendered.file, rendered.width, rendered.problems], ['rendered.mp4', size.width, problems]);
    const answer = await fetch(`${second.url}/recording/${id}/rendered.mp4`, { headers: { authorization: `Bearer ${second.token}` } });
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.deepEqual([answer.status, bytes.length], [200, rendered.bytes]);
    const path = join(await makeResources(t), 'rendered.mp4');
    await writeFile(path, bytes);
    const { at } = await watch(path, rendered.duration);
    assertColor(at(500)?.at(0.5, 0.5), colours.red);
    assertColor(at(2000)?.at(0.25, 0.5), colours.red);
    assertColor(at(2000)?.at(0.75, 0.5), colours.blue);
    assert.equal((await other.delete(`/recording/${id}`)).status, 204);
    assert.deepEqual(await s3.names(), []);
    assert.equal((await other.get(`/recording/${id}/render`)).body.code, 'not_found');
  },
);

test('while S3 is down, a rendered file waits with a reason; then it is uploaded and deleted locally', slow, async (t) => {
  const s3 = await startS3Server(t);
  // Long enough that S3 is down before rendering ends.
  const minute = 60_000;
  const [first, last] = long;
  await archive(t, s3, [{ ...first }, { ...last, offset: minute }]);
  const resources = await makeResources(t);
  const { api } = await startNode(t, { ...s3.env, SVC_RESOURCES_BASE_PATH: resources });
  await api.post(`/recording/${id}/render`, { width: 160, height: 90, framerate: 24 });
  await runs(api);
  await s3.stop();
  const waits = 'The recordings in S3 cannot be written: S3 cannot be reached (ECONNREFUSED)';
  await eventually('why it waits', async () => (await renderState(api, id)).reason === waits, { within: timeoutMs });
  assert.deepEqual((await readdir(join(resources, 'renders', id))).sort(), ['.render.json', 'rendered.mp4'], 'the tracks are deleted');
  await s3.start();
  assert.deepEqual(await renderOver(api, id), { state: 'done', progress: 1 });
  assert.deepEqual(await work(resources), []);
  assert.ok((await s3.names()).includes(`${id}/rendered.mp4`));
});

test('a cancelled rendering, or one of a killed node, leaves only its failure', slow, async (t) => {
  const s3 = await startS3Server(t);
  await archive(t, s3, long);
  const resources = await makeResources(t);
  const env = { ...s3.env, SVC_RESOURCES_BASE_PATH: resources, SVC_DIST_NODE_NAME: `archived${process.pid}@localhost` };
  const first = await startNodeProcess(t, env);
  const before = first.api;
  const there = await s3.names();
  await before.post(`/recording/${id}/render`, size);
  await runs(before);
  assert.equal((await before.delete(`/recording/${id}/render`)).status, 204);
  assert.deepEqual([await work(resources), await renderState(before, id)], [[], { state: 'none', progress: 0 }]);
  await before.post(`/recording/${id}/render`, size);
  await runs(before);
  first.kill('SIGKILL');
  await first.ended;
  const next = await startNodeProcess(t, env);
  const { api } = next;
  assert.deepEqual(await renderState(api, id), { state: 'failed', progress: 0, reason: 'The node shut down before rendering finished' });
  // The state is written before the rest is deleted.
  await eventually('nothing else remains', async () => (await readdir(join(resources, 'renders', id))).join() === '.render.json');
  assert.equal((await api.delete(`/recording/${id}/render`)).status, 204);
  assert.deepEqual([await work(resources), await s3.names()], [[], there]);
});

test('missing storage, a missing recording and a too small disk are reported with one clear message each', async (t) => {
  const bare = await startNode(t);
  const refused = await bare.api.post(`/recording/${id}/render`);
  const message = `Recording ${id} exists on no node, and server-wide S3 storage is not configured`;
  assert.deepEqual([refused.status, refused.body.code, refused.body.errors], [404, 'not_found', message]);
  const disk = smallDisk(t, '2m');
  if (disk === undefined) return;
  const s3 = await startS3Server(t);
  const folder = await archive(t, s3, both);
  const { api } = await startNode(t, { ...s3.env, SVC_RESOURCES_BASE_PATH: disk });
  const missing = await api.post('/recording/other-20260101T000000000Z/render');
  assert.deepEqual([missing.status, missing.body.code], [404, 'not_found']);
  const store = new S3Store(s3.place);
  t.after(() => store.close());
  await store.putText(`${id}/red.webm`, 'x'.repeat(1_500_000), t.signal);
  await api.post(`/recording/${id}/render`, size);
  const { state, reason } = await renderOver(api, id);
  assert.equal(state, 'failed');
  assert.match(reason ?? '', /^The recording needs 2 MB, but only half of the \d MB of free disk space may be used$/);
  assert.deepEqual(await readdir(join(disk, 'renders', id)), ['.render.json']);
  const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8'));
  await store.putText(`${id}/report.json`, JSON.stringify({ ...report, type: 'hls' }), t.signal);
  assert.equal((await api.post(`/recording/${id}/render`)).body.code, 'bad_request');
});
