// Persistent stream in S3: uploaded while its room runs, reported when complete, and played from S3 after its node lost it.
import assert from 'node:assert/strict';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { makeVideo } from '../kit/media/media-files.ts';
import { assertColor, colors } from '../kit/media/recorded-file.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { startNode } from '../kit/processes/start-node.ts';

const small = { width: 320, height: 180, framerate: 24, segmentDuration: 1 };

test('a persistent stream is uploaded while it runs, reported after its room, and played from S3 alone', async (t) => {
  const s3 = await startS3Server(t);
  const resources = await makeResources(t);
  await makeVideo(join(resources, 'file_component_sources', 'green.h264'), '0x1EC81E', 80);
  const receiver = await startReceiver(t);
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file hls', SVC_RESOURCES_BASE_PATH: resources, ...s3.env });
  const { api } = node;
  const socket = await watchEvents(t, node);
  await api.post('/room', { roomId: 'r', webhookUrl: receiver.url });
  for (const [options, message] of [
    [{ s3: s3.place }, 'Option s3 requires persistent: true, because other streams are not stored'],
    [
      { s3: s3.place, persistent: true },
      'Conflicting S3 credentials supplied via environment variables and the REST API. Overrides on existing values are disallowed',
    ],
  ] as const) {
    const { status, body } = await api.post('/room/r/component', { type: 'hls', options });
    assert.deepEqual([status, body.errors], [400, message]);
  }
  await api.post('/room/r/component', { type: 'file', options: { filePath: 'green.h264' } });
  const { body: made } = await postWhenIdle(api, '/room/r/component', { type: 'hls', options: { ...small, persistent: true } });
  const playable = await socket.waitFor('roomEvent', ({ type }) => type === 'HlsPlayable');
  assert.equal(playable.componentId, made.data.id);
  const segmentsUp = async () => (await s3.names()).filter((name) => /\/segment-\d+\.m4s$/.test(name));
  await eventually('segments go up while the room lives', async () => (await segmentsUp()).length >= 3, { every: 100 });
  assert.equal((await api.delete('/room/r')).status, 204);
  await receiver.untilTrue((received) => received.some(({ event }) => event.type === 'HlsUploaded'));
  const types = receiver.received.map(({ event }) => event.type);
  assert.deepEqual(
    [types.filter((type) => type === 'HlsPlayable').length, types.slice(types.indexOf('RoomDeleted'))],
    [1, ['RoomDeleted', 'HlsUploaded']],
  );
  const id = receiver.received.at(-1)?.event.recordingId ?? '';

  // The files of the node are deleted, as after a lost disk.
  await rm(join(resources, 'recordings', id), { recursive: true });
  const { token } = (await api.post('/hls/r/token', {})).body.data;
  const folder = join(resources, 'fetched');
  await mkdir(folder);
  const get = async (file: string) => {
    const response = await fetch(`${node.url}/recording/${id}/${file}?token=${token}`);
    assert.equal(response.status, 200, file);
    return Buffer.from(await response.arrayBuffer());
  };
  const names = (await s3.names()).filter((name) => !name.startsWith('.mediarooms/')).map((name) => name.split('/').at(-1) ?? '');
  const playlist = String(await get('stream.m3u8'));
  assert.match(playlist, /#EXT-X-PLAYLIST-TYPE:VOD\n[\s\S]*#EXT-X-ENDLIST\n$/);
  const [init = ''] = names.filter((name) => name.startsWith('init-'));
  const listed = [...playlist.matchAll(/^(segment-\d+\.m4s)\?token=/gm)].map(([, name = '']) => name);
  assert.deepEqual([...listed, init, 'index.m3u8', 'report.json', 'stream.m3u8'].sort(), names.sort());
  const film = join(folder, 'film.mp4');
  await writeFile(film, Buffer.concat([await get(init), ...(await Promise.all(listed.map(get)))]));
  const frames = await colors(film);
  // Of 24 a second; a busy machine drops some.
  assert.ok(frames.length >= 3 * 12, `${frames.length} frames`);
  assertColor(frames.at(-2), [30, 200, 30]);
});

test('rejected keys of a stream are reported to the webhook before its end, and the stream stays on its node', async (t) => {
  const s3 = await startS3Server(t);
  const resources = await makeResources(t);
  await makeVideo(join(resources, 'file_component_sources', 'green.h264'), '0x1EC81E', 80);
  const receiver = await startReceiver(t);
  const { api } = await startNode(t, { SVC_COMPONENTS_USED: 'file hls', SVC_RESOURCES_BASE_PATH: resources });
  await api.post('/room', { roomId: 'r', webhookUrl: receiver.url });
  await api.post('/room/r/component', { type: 'file', options: { filePath: 'green.h264' } });
  const options = { ...small, persistent: true, s3: { ...s3.place, accessKeyId: 'unknown' } };
  const { body: made } = await postWhenIdle(api, '/room/r/component', { type: 'hls', options });
  await receiver.untilTrue((received) => received.some(({ event }) => event.type === 'HlsUploadCrashed'));
  const reported = receiver.received.find(({ event }) => event.type === 'HlsUploadCrashed')?.event;
  const reason = 'S3 rejected the access key (XAdminUserNotFound)';
  assert.deepEqual([reported?.componentId, reported?.reason], [made.data.id, reason]);
  assert.equal((await api.get(`/room/r/component/${made.data.id}`)).body.data.properties.uploadProblem, reason);
  assert.equal((await api.delete('/room/r')).status, 204);
  const kept = async () => (await api.get('/recording')).body.data.includes(reported?.recordingId);
  await eventually('the stream to be a recording', kept);
  assert.deepEqual([(await api.get(`/recording/${reported?.recordingId}/index.m3u8`)).status, await s3.names()], [200, []]);
});
