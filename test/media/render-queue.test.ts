// Rendering over HTTP: output, queue, and cleanup after cancelling, a kill, a full disk, or the loss of the node.
import assert from 'node:assert/strict';
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor, assertNear } from '../kit/media/recorded-file.ts';
import { childrenOf, startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { smallDisk } from '../kit/processes/small-disk.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { colours, encode, makeRecording, plainVideo, renderOver, renderState, watch } from './render-kit.ts';

const id = 'x-20260101T000000000Z';
const size = { width: 640, height: 360 };
/** Hours of black between two frames, so that rendering takes longer than any test. */
const hours = 6 * 3_600_000;

const stateOf = (api: ApiClient, recording = id) => renderState(api, recording);
const overOf = (api: ApiClient, recording = id) => renderOver(api, recording);

async function runs(api: ApiClient, recording = id): Promise<void> {
  await eventually('it renders', async () => {
    const { state, progress } = await stateOf(api, recording);
    return state === 'running' && progress > 0;
  });
}

/** Render processes of a node. */
async function renderers(pid: number): Promise<number[]> {
  const children = await childrenOf(pid);
  const lines = await Promise.all(children.map((child) => readFile(`/proc/${child}/cmdline`, 'utf8').catch(() => '')));
  return children.filter((_, index) => lines[index]?.includes('main.ts\0render'));
}

/** A recording that takes long to render, in a resources folder. */
async function longRecording(t: TestContext): Promise<{ resources: string; folder: string }> {
  const made = await makeRecording(t, [
    { file: 'a.webm', duration: 1000 },
    { file: 'a.webm', duration: 1000, offset: hours },
  ]);
  await encode(join(made.folder, 'a.webm'), 'vp8', plainVideo('red', '320x180', 1));
  return made;
}

test('a recording rendered over HTTP appears in the list, in the report and as file', async (t) => {
  const { resources, folder } = await makeRecording(
    t,
    [{ file: 'red.webm' }, { file: 'blue.webm', offset: 1000 }, { file: 'missing.webm', offset: 1000 }],
    { type: 'recording' },
  );
  await encode(join(folder, 'red.webm'), 'vp8', plainVideo('red', '320x180', 3));
  await encode(join(folder, 'blue.webm'), 'vp8', plainVideo('blue', '320x180', 2));
  const { api, url, token } = await startNode(t, { SVC_RESOURCES_BASE_PATH: resources });
  assert.deepEqual(await stateOf(api), { state: 'none', progress: 0 });
  const asked = await api.post(`/recording/${id}/render`, size);
  assert.equal(asked.status, 202);
  assert.ok(['queued', 'running'].includes(asked.body.data.state), asked.body.data.state);
  const problems = ['missing.webm was omitted: The file does not exist'];
  assert.deepEqual(await overOf(api), { state: 'done', progress: 1, problems });
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${url}/recording/${id}/rendered.mp4`, { headers });
  assert.deepEqual([answer.status, answer.headers.get('content-type')], [200, 'video/mp4']);
  const bytes = Buffer.from(await answer.arrayBuffer());
  const path = join(await makeResources(t), 'downloaded.mp4');
  await writeFile(path, bytes);
  const report = (await api.get(`/recording/${id}`)).body;
  const { rendered } = report;
  const { time, duration, ...facts } = rendered;
  assert.deepEqual(facts, { file: 'rendered.mp4', bytes: bytes.length, ...size, framerate: 24, layout: 'grid', problems });
  assert.equal(new Date(time).toISOString(), time);
  assertNear(duration, 3000, 100, 'the length');
  const { at } = await watch(path, duration);
  assertColor(at(500)?.at(0.5, 0.5), colours.red);
  assertColor(at(2000)?.at(0.25, 0.5), colours.red);
  assertColor(at(2000)?.at(0.75, 0.5), colours.blue);
  const listed = (await api.get('/recording?details=true')).body.recordings;
  assert.deepEqual(listed[0].rendered, rendered);
  assert.equal((await api.delete(`/recording/${id}/render`)).status, 204);
  assert.equal((await stateOf(api)).state, 'done', 'cancelling a finished rendering deletes nothing');
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.endsWith('.part')),
    [],
  );
});

test('recordings are rendered one at a time with the lowest priority, and leave nothing when cancelled, killed or deleted', async (t) => {
  const { resources, folder } = await longRecording(t);
  const second = 'y-20260101T000000000Z';
  const other = join(resources, 'recordings', second);
  await cp(folder, other, { recursive: true });
  const node = await startNodeProcess(t, { SVC_RESOURCES_BASE_PATH: resources });
  const { api } = node;
  await api.post(`/recording/${id}/render`, size);
  assert.equal((await api.post(`/recording/${second}/render`, size)).body.data.state, 'queued');
  await runs(api);
  assert.equal((await stateOf(api, second)).state, 'queued');
  const [renderer, ...more] = await renderers(node.pid);
  assert.ok(renderer !== undefined && more.length === 0);
  for (const thread of await readdir(`/proc/${renderer}/task`)) {
    const text: string = await readFile(`/proc/${renderer}/task/${thread}/stat`, 'utf8').catch(() => '');
    // proc_pid_stat(5): the 17th after the name in brackets.
    if (text !== '') assert.equal(text.slice(text.lastIndexOf(')') + 2).split(' ')[16], '19', `niceness of thread ${thread}`);
  }
  assert.equal((await api.post(`/recording/${id}/render`)).body.data.state, 'running', 'a repeated request returns the same rendering');

  process.kill(renderer, 'SIGKILL');
  const failed = await overOf(api);
  assert.deepEqual(failed, { state: 'failed', progress: 0, reason: 'The render process crashed: The process was ended by SIGKILL' });
  await runs(api, second);
  assert.equal((await api.delete(`/recording/${second}/render`)).status, 204);
  assert.deepEqual(await stateOf(api, second), { state: 'none', progress: 0 });
  assert.deepEqual(await renderers(node.pid), []);
  for (const each of [folder, other])
    assert.deepEqual((await readdir(each)).filter((name) => name !== '.render.json').sort(), ['a.webm', 'report.json']);
  assert.equal((await api.delete(`/recording/${id}/render`)).status, 204);
  assert.deepEqual(await stateOf(api), { state: 'none', progress: 0 });

  await api.post(`/recording/${id}/render`, size);
  await runs(api);
  assert.equal((await api.delete(`/recording/${id}`)).status, 204);
  assert.equal((await api.get(`/recording/${id}/render`)).body.code, 'not_found');
  assert.deepEqual([await readdir(join(resources, 'recordings')), await renderers(node.pid)], [[second], []]);
});

test('requests above the queue limit and for invalid recordings are rejected with a message', async (t) => {
  const { resources, folder } = await longRecording(t);
  const { api } = await startNode(t, { SVC_RESOURCES_BASE_PATH: resources });
  const report = JSON.parse(await readFile(join(folder, 'report.json'), 'utf8'));
  const add = async (name: string, change: object) => {
    await mkdir(join(resources, 'recordings', name));
    await writeFile(join(resources, 'recordings', name, 'report.json'), JSON.stringify({ ...report, ...change }));
  };
  await Promise.all([add('stream', { type: 'hls' }), add('live', { state: 'running' }), mkdir(join(resources, 'recordings', 'empty'))]);
  for (const [path, json, status, code] of [
    ['none', {}, 404, 'not_found'],
    ['..%2f..%2fetc', {}, 400, 'invalid_field'],
    ['stream', {}, 400, 'bad_request'],
    ['empty', {}, 400, 'bad_request'],
    ['live', {}, 409, 'conflict'],
    [id, { width: 1e9 }, 400, 'invalid_field'],
    [id, { output: '/tmp/x.mp4' }, 400, 'invalid_field'],
    [id, 7, 400, 'invalid_field'],
  ] as const) {
    const answer = await api.post(`/recording/${path}/render`, json);
    assert.deepEqual([answer.status, answer.body.code], [status, code], path);
  }
  assert.equal((await stateOf(api)).state, 'none');
  const names = Array.from({ length: 21 }, (_, index) => `queued-${index}`);
  await Promise.all(names.map((name) => add(name, {})));
  assert.equal((await api.post(`/recording/${id}/render`, size)).status, 202);
  for (const name of names.slice(0, 20)) assert.equal((await api.post(`/recording/${name}/render`)).status, 202);
  const full = await api.post(`/recording/${names[20]}/render`);
  assert.deepEqual([full.status, full.body.errors], [503, 'The render queue of this node is full (20 recordings)']);
  assert.ok(Number(full.headers.get('retry-after')) > 0);
  for (const name of names.slice(0, 20)) assert.equal((await api.delete(`/recording/${name}/render`)).status, 204);
  assert.equal((await api.delete(`/recording/${id}/render`)).status, 204);
});

test('the next start of a killed node marks its rendering as failed and deletes partial files', async (t) => {
  const { resources, folder } = await longRecording(t);
  const env = { SVC_RESOURCES_BASE_PATH: resources, SVC_DIST_NODE_NAME: `render${process.pid}@localhost` };
  const first = await startNodeProcess(t, env);
  const before = first.api;
  await before.post(`/recording/${id}/render`, size);
  await runs(before);
  const half = (await readdir(folder)).filter((name) => name.endsWith('.part'));
  assert.equal(half.length, 1);
  first.kill('SIGKILL');
  await first.ended;
  const next = await startNodeProcess(t, env);
  const { api } = next;
  assert.deepEqual(await stateOf(api), { state: 'failed', progress: 0, reason: 'The node shut down before rendering finished' });
  assert.deepEqual((await readdir(folder)).sort(), ['.render.json', 'a.webm', 'report.json']);
  await api.post(`/recording/${id}/render`, size);
  await runs(api);
  next.kill('SIGTERM');
  await next.ended;
  assert.deepEqual((await readdir(folder)).sort(), ['.render.json', 'a.webm', 'report.json']);
  assert.match(await readFile(join(folder, '.render.json'), 'utf8'), /"failed"/);
});

test('on a full disk rendering fails with a message and frees all of its space', async (t) => {
  const disk = smallDisk(t, '1500k');
  if (disk === undefined) return;
  const { folder } = await makeRecording(t, [{ file: 'noise.webm' }]);
  const there = join(disk, 'recordings', id);
  const noise = 'color=c=gray:s=320x180:r=30:d=20,noise=alls=100:allf=t+u';
  await encode(join(folder, 'noise.webm'), 'vp8', noise, ['-b:v', '200k', '-maxrate', '200k', '-bufsize', '200k']);
  await cp(folder, there, { recursive: true });
  await rm(folder, { recursive: true });
  const { api } = await startNode(t, { SVC_RESOURCES_BASE_PATH: disk });
  await api.post(`/recording/${id}/render`, { width: 1280, height: 720, framerate: 60 });
  const { state, reason } = await overOf(api);
  assert.deepEqual([state, reason], ['failed', 'The disk is full']);
  assert.deepEqual((await readdir(there)).filter((name) => name !== '.render.json').sort(), ['noise.webm', 'report.json']);
});
