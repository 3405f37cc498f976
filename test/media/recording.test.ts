// Recordings of real rooms over REST: through another node, after a crash of the node, on a full disk, and their expiry.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { reportSchema } from '../../api/recording-report.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor, assertNear, audioSamples, colors, probe, promisedLoss, recordedBytes } from '../kit/media/recorded-file.ts';
import { addComponent, addSources, green, withSources } from '../kit/media/sources.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { startNodePair } from '../kit/processes/node-pair.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { fillDisk, smallDisk } from '../kit/processes/small-disk.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { recordedLog } from '../kit/recorded-log.ts';

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

const report = async (api: ApiClient, id: string) => reportSchema.parse((await api.get(`/recording/${id}`)).body);

test('a recording is created, listed, shown, read in ranges and deleted through any node; manual mode records named peers only', async (t) => {
  // Longer than the whole test.
  const resources = await withSources(t, 60);
  const { owner, nonOwner, api } = await startNodePair(t, {
    both: { SVC_COMPONENTS_USED: 'file recording' },
    owner: { SVC_RESOURCES_BASE_PATH: resources },
  });
  await owner.node.parts.rooms.createRoom({ roomId: 'r' });
  const recorder = await addComponent(api, 'recording', { subscribeMode: 'manual' });
  assert.deepEqual((await api.get(`/room/r/component/${recorder}`)).body.data.properties, { subscribeMode: 'manual' });
  const second = await api.post('/room/r/component', { type: 'recording' });
  assert.deepEqual([second.status, second.body.errors], [400, 'Room r already has a component of type recording']);
  const video = await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  assert.equal((await api.post(`/room/r/component/${recorder}/subscribe`, { origins: [video] })).status, 201);
  for (const [path, body, status] of [
    [`${recorder}/subscribe`, {}, 400],
    [`${recorder}/subscribe`, { origins: ['../x'] }, 400],
    [`${video}/subscribe`, { origins: [] }, 400],
    ['none/subscribe', { origins: [] }, 404],
  ] as const) {
    assert.equal((await api.post(`/room/r/component/${path}`, body)).status, status, path);
  }
  await eventually('more than a second of video is on the disk', async () => (await recordedBytes(resources, '.mkv')) > 27_000);
  const { busy } = (await owner.api.get('/health')).body.data;
  assert.deepEqual(busy, { rooms: 1, peers: 0, calls: 0, streams: 0, recordings: 1, files: 2 });
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  assert.match(id, /^r-\d{8}T\d{9}Z$/);
  assert.equal((await report(api, id)).state, 'running');
  assert.equal((await api.delete(`/recording/${id}`)).status, 409);
  assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);

  const { state, tracks } = await report(api, id);
  assert.deepEqual([state, tracks.length], ['finished', 1]);
  const [track] = tracks;
  assert.deepEqual(
    [track?.origin, track?.metadata, track?.encoding, track?.lostPackets],
    [{ componentId: video }, { source: 'file' }, 'h264', 0],
  );
  const path = `/recording/${id}/${track?.file}`;
  const get = (headers: Record<string, string>, at = nonOwner.url) =>
    fetch(`${at}${path}`, { headers: { authorization: `Bearer ${nonOwner.token}`, ...headers } });
  const whole = await get({});
  assert.deepEqual([whole.status, whole.headers.get('content-type')], [200, 'video/matroska']);
  const bytes = Buffer.from(await whole.arrayBuffer());
  const part = await get({ range: 'bytes=100-199' });
  assert.equal(part.status, 206);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), bytes.subarray(100, 200));
  assert.equal((await fetch(`${nonOwner.url}${path}`)).status, 401);
  const copy = join(await makeResources(t), 'copy.mkv');
  await writeFile(copy, bytes);
  assertNear(((await probe(copy)).duration ?? 0) * 1000, track?.duration ?? 0, 1, 'the length');
  for (const frame of await colors(copy)) assertColor(frame, green);
  assert.equal((await api.delete(`/recording/${id}`)).status, 204);
  assert.deepEqual([(await api.get(`/recording/${id}`)).status, (await api.get('/recording')).body.data], [404, []]);
});

test('a killed node loses at most the last second, its next start finishes the recording, and the recorder ends', async (t) => {
  const resources = await withSources(t, 20);
  const env = { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources };
  const first = await startNodeProcess(t, env);
  const { api } = first;
  await api.post('/room', { roomId: 'r' });
  await addComponent(api, 'recording');
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const recorded = (extension: '.webm' | '.mkv') => recordedBytes(resources, extension);
  await eventually(
    'some seconds of both are on the disk',
    async () => (await recorded('.webm')) > 36_000 && (await recorded('.mkv')) > 54_000,
  );
  const recorder = Number(/"pid":(\d+),[^\n]*"msg":"recorder started"/.exec(first.output())?.[1]);
  assert.ok(isAlive(recorder));
  const killedAt = Date.now();
  first.kill('SIGKILL');
  await first.ended;
  await eventually('the recorder ends with its node', () => !isAlive(recorder));

  const next = await startNodeProcess(t, env);
  const nextApi = next.api;
  const [id = ''] = (await nextApi.get('/recording')).body.data;
  await eventually('it is finished', async () => (await report(nextApi, id)).state !== 'running');
  const { state, tracks } = await report(nextApi, id);
  assert.deepEqual([state, tracks.length], ['recovered', 2]);
  for (const { file, startTime, duration = 0, type } of tracks) {
    const path = join(resources, 'recordings', id, file ?? '');
    const lost = killedAt - (Date.parse(startTime ?? '') + duration);
    t.diagnostic(`${lost} ms of the end are lost`);
    assert.ok(lost < 5 * promisedLoss, `${lost} ms of the end are lost`);
    assertNear(((await probe(path)).duration ?? 0) * 1000, duration, 1, 'the length');
    if (type === 'video') for (const frame of await colors(path)) assertColor(frame, green);
    else assertNear((await audioSamples(path)).frequency, 660, 5, 'the tone');
  }
});

test('shutdown finishes running recordings, and expired ones are deleted', async (t) => {
  const resources = await withSources(t, 20);
  const env = { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources };
  const node = await startNode(t, env);
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  await addComponent(api, 'recording');
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  await eventually('more than a second of audio is on the disk', async () => (await recordedBytes(resources, '.webm')) > 18_000);
  await node.close();
  const next = await startNode(t, env);
  const nextApi = next.api;
  const [id = ''] = (await nextApi.get('/recording')).body.data;
  const { state, tracks } = await report(nextApi, id);
  assert.deepEqual([state, tracks.length, (tracks[0]?.duration ?? 0) > 1000], ['finished', 1, true]);
  await next.close();
  const last = await startNode(t, { ...env, SVC_RAW_RECORDING_TTL: '1' });
  const lastApi = last.api;
  await eventually('it is deleted', async () => (await lastApi.get(`/recording/${id}`)).status === 404);
});

test('a full disk is reported as event and log line; the room continues, and the written part is playable', async (t) => {
  const resources = smallDisk(t, '1200k');
  if (resources === undefined) return;
  await addSources(resources, 20);
  const { log, of } = recordedLog();
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources }, log);
  const { api } = node;
  const socket = await watchEvents(t, node);
  await api.post('/room', { roomId: 'r' });
  const recorder = await addComponent(api, 'recording');
  const file = await addComponent(api, 'file', { filePath: 'tone.ogg' });
  await sleep(1500);
  const [id = ''] = (await api.get('/recording')).body.data;
  fillDisk(resources, 'filler');
  const crashed = await socket.waitFor('roomEvent', ({ type }) => type === 'ComponentCrashed');
  assert.deepEqual([crashed.componentId, crashed.reason], [recorder, 'Could not write the recording: The disk is full']);
  assert.ok(of('error').some(({ msg, reason }) => msg === 'could not write recording' && reason === 'The disk is full'));
  const { components } = (await api.get('/room/r')).body.data;
  assert.deepEqual(
    components.map(({ id }: { id: string }) => id),
    [file],
  );
  // Its end frees incomplete files.
  await eventually('its files are finished', () => !node.node.parts.components.recordings.isRunning(id));
  fillDisk(resources, 'filler-again');
  const again = await api.post('/room/r/component', { type: 'recording' });
  assert.equal(again.status, 503);
  for (const name of ['filler', 'filler-again']) rmSync(join(resources, name));
  await addComponent(api, 'recording');
});
