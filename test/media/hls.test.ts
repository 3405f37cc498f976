// HLS streams of real rooms over REST: valid during a crash of the composer, authorized, stored, finished after shutdown or crash of the
// node, and on a full disk.
import assert from 'node:assert/strict';
import { rmSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { framesAt } from '../kit/media/composed-stream.ts';
import { checkPlaylist } from '../kit/media/hls-conformance.ts';
import { download, follow, playlistAt, streamsOf } from '../kit/media/hls-viewer.ts';
import { assertColor, assertNear, audioSamples, colors } from '../kit/media/recorded-file.ts';
import { addComponent, addSources, green, postWhenIdle, withSources } from '../kit/media/sources.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { isAlive } from '../kit/processes/alive.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { fillDisk, smallDisk } from '../kit/processes/small-disk.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { recordedLog } from '../kit/recorded-log.ts';

const small = { width: 320, height: 180, segmentDuration: 1 };

async function tokenOf(api: ApiClient, options: object = {}): Promise<string> {
  const { status, body } = await api.post('/hls/r/token', options);
  assert.equal(status, 201);
  assert.match(body.data.url, /^[\w.:]+\/hls\/r\/index\.m3u8\?token=/);
  return body.data.token;
}

const composers = (output: string) => [...output.matchAll(/"pid":(\d+),[^\n]*"msg":"composer started"/g)].map(([, pid]) => Number(pid));

test('a stream stays valid while its composer is killed, requires a token, and is stored completely', async (t) => {
  const resources = await withSources(t, 80);
  const node = await startNodeProcess(t, { SVC_COMPONENTS_USED: 'file hls', SVC_RESOURCES_BASE_PATH: resources });
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const id = await addComponent(api, 'hls', { ...small, persistent: true });
  const token = await tokenOf(api);
  const index = await playlistAt(`${node.url}/hls/r/index.m3u8?token=${token}`);
  assert.match(index, /CODECS="avc1\.[0-9a-f]{6},mp4a\.40\.2",RESOLUTION=320x180,FRAME-RATE=24\.000\nstream\.m3u8\?token=/);
  const { properties } = (await api.get(`/room/r/component/${id}`)).body.data;
  assert.deepEqual(properties, {
    ...{ lowLatency: true, persistent: true, targetWindowDuration: null, subscribeMode: 'auto', ...small },
    ...{ framerate: 24, layout: 'grid', names: false, captions: false, playable: true, playlist: '/hls/r/index.m3u8' },
  });
  const media = `${node.url}/hls/r/stream.m3u8?token=${token}`;
  const firstSegments = await follow(media, ({ segments }) => segments.length >= 4);
  const [composer = 0] = composers(node.output());
  process.kill(composer, 'SIGKILL');
  const over = await follow(media, ({ segments }) => segments.filter(({ discontinuity }) => discontinuity === 1).length >= 3);
  const before = over.playlists
    .at(-1)
    ?.segments.filter(({ discontinuity }) => discontinuity === 0)
    .at(-1);
  const after = over.playlists.at(-1)?.segments.find(({ discontinuity }) => discontinuity === 1);
  const gap = (after?.time ?? Number.NaN) - (before?.time ?? Number.NaN) - (before?.duration ?? 0) * 1000;
  t.diagnostic(`${Math.round(gap)} ms without a frame; ${Math.round(firstSegments.maxWait)} ms between two playlists at most`);
  // Two seconds on an idle machine.
  assert.ok(gap > -100 && gap < 8000, `${gap} ms`);

  assert.equal((await api.delete(`/room/r/component/${id}`)).status, 204);
  const last = await follow(media, ({ ended }) => ended);
  assert.equal(last.playlists.length, 1);
  const [recording = ''] = (await api.get('/recording')).body.data as string[];
  const report = (await api.get(`/recording/${recording}`)).body;
  assert.deepEqual([report.type, report.state, report.tracks], ['hls', 'finished', []]);
  const path = await download(t, `${node.url}/recording/${recording}/index.m3u8?token=${token}`);
  assert.deepEqual(await streamsOf(path), [{ codec: 'h264', width: 320, rate: '24/1', height: 180 }, { codec: 'aac' }]);
  const shown = await colors(path);
  // Of 24 a second; a busy machine drops some.
  assert.ok(shown.length > 7 * 12, `${shown.length} frames`);
  assert.ok(shown.filter(([, value = 0]) => value > 150).length > shown.length * 0.75, 'most frames are green');
  assertColor(shown.at(shown.length >> 1), green);
  assertNear((await audioSamples(path)).frequency, 660, 130, 'the tone');
  assert.deepEqual(await readdir(join(resources, 'hls')), []);
  assert.ok(!node.output().includes(token), 'a token is in the log');
});

test('a stream of a killed node is recovered by the next process, and its composer ends', async (t) => {
  const resources = await withSources(t, 20);
  const env = { SVC_COMPONENTS_USED: 'file hls', SVC_RESOURCES_BASE_PATH: resources };
  const first = await startNodeProcess(t, env);
  const { api } = first;
  await api.post('/room', { roomId: 'r' });
  await addComponent(api, 'hls', { ...small, persistent: true });
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await follow(`${first.url}/hls/r/stream.m3u8?token=${await tokenOf(api)}`, ({ segments }) => segments.length >= 5);
  const [composer = 0] = composers(first.output());
  assert.ok(isAlive(composer));
  first.kill('SIGKILL');
  await first.ended;
  await eventually('the composer ends with its node', () => !isAlive(composer));
  const next = await startNodeProcess(t, env);
  const nextApi = next.api;
  await eventually('it is finished', async () => (await nextApi.get('/recording')).body.data.length > 0);
  const [recording = ''] = (await nextApi.get('/recording')).body.data as string[];
  assert.equal((await nextApi.get(`/recording/${recording}`)).body.state, 'recovered');
  const path = await download(t, `${next.url}/recording/${recording}/index.m3u8`, { authorization: `Bearer ${apiToken}` });
  // Of 24 a second; a busy machine drops some.
  assert.ok((await colors(path)).length >= 4 * 12);
});

test('shutdown waits for composers, which write the end of persistent streams', async (t) => {
  const { log, of } = recordedLog();
  const resources = await makeResources(t);
  const { api, close, url } = await startNode(t, { SVC_COMPONENTS_USED: 'hls', SVC_RESOURCES_BASE_PATH: resources }, log);
  await api.post('/room', { roomId: 'r' });
  await addComponent(api, 'hls', { ...small, persistent: true });
  await follow(`${url}/hls/r/stream.m3u8?token=${await tokenOf(api)}`, ({ segments }) => segments.length >= 2);
  const pid = Number(of('info').find(({ msg }) => msg === 'composer started')?.pid);
  // Stopped for longer than everything else takes.
  process.kill(pid, 'SIGSTOP');
  setTimeout(() => process.kill(pid, 'SIGCONT'), 2000);
  const closed = Date.now();
  await close();
  assert.equal(isAlive(pid), false);
  assert.deepEqual(await readdir(join(resources, 'hls')), []);
  const [id = '', ...more] = await readdir(join(resources, 'recordings'));
  assert.deepEqual(more, []);
  const { segments } = checkPlaylist(await readFile(join(resources, 'recordings', id, 'stream.m3u8'), 'utf8'));
  const { time = Number.NaN, duration = 0 } = segments.at(-1) ?? {};
  const missing = closed - (time + duration * 1000);
  t.diagnostic(`${Math.round(missing)} ms of the end are missing`);
  // An unfinished part, on an idle machine.
  assert.ok(missing < 8000, `${missing} ms of the end are missing`);
  assert.deepEqual(
    of('error').filter(({ msg }) => msg !== 'request completed'),
    [],
    'except requests that a busy machine rejects',
  );
});

test('a full disk is reported as event and log line; the room continues, and the written part becomes a recording', async (t) => {
  const resources = smallDisk(t, '4m');
  if (resources === undefined) return;
  await addSources(resources, 30);
  const { log, of } = recordedLog();
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file hls', SVC_RESOURCES_BASE_PATH: resources, SVC_AV_MAX_CPU: '2' }, log);
  const { api } = node;
  const socket = await watchEvents(t, node);
  await api.post('/room', { roomId: 'r' });
  const file = await addComponent(api, 'file', { filePath: 'green.h264' });
  const hls = await addComponent(api, 'hls', { ...small, persistent: true });
  const media = async () => `${node.url}/hls/r/stream.m3u8?token=${await tokenOf(api)}`;
  await follow(await media(), ({ segments }) => segments.length >= 3);
  fillDisk(resources, 'filler');
  const crashed = await socket.waitFor('roomEvent', ({ type }) => type === 'ComponentCrashed');
  assert.deepEqual([crashed.componentId, crashed.reason], [hls, 'Could not create the stream: The disk is full']);
  assert.ok(of('error').some(({ msg, reason }) => msg === 'could not create HLS stream' && reason === 'The disk is full'));
  // Viewers get the existing part.
  assert.ok((await follow(await media(), ({ ended }) => ended)).playlists.at(-1)?.ended);
  const { components } = (await api.get('/room/r')).body.data;
  assert.deepEqual(
    components.map(({ id }: { id: string }) => id),
    [file],
  );
  await eventually('it is a recording', async () => (await api.get('/recording')).body.data.length === 1);
  // Ending it freed incomplete files.
  fillDisk(resources, 'filler-again');
  const again = await postWhenIdle(api, '/room/r/component', { type: 'hls', options: small });
  assert.deepEqual([again.status, again.body.errors], [503, 'Could not write the stream to disk']);
  assert.deepEqual(await readdir(join(resources, 'hls')), []);
  const [kept] = (await api.get('/recording')).body.data;
  const path = await download(t, `${node.url}/recording/${kept}/index.m3u8`, { authorization: `Bearer ${node.token}` });
  // Of 24 a second; a busy machine drops some.
  assert.ok((await framesAt(path)).length >= 3 * 12, 'three seconds of it are playable');
  for (const name of ['filler', 'filler-again']) rmSync(join(resources, name));
  await addComponent(api, 'hls', small);
  await follow(await media(), ({ segments }) => segments.length >= 2);
});
