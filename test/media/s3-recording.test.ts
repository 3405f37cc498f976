// Recordings in S3 over REST: upload events, reads after the loss of the node, and no deletion before the upload.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { reportSchema } from '../../api/recording-report.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor, colors, probe, recordedBytes } from '../kit/media/recorded-file.ts';
import { addComponent, green, withSources } from '../kit/media/sources.ts';
import { watchEvents } from '../kit/network/room-sockets.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { type S3Server, startS3Server } from '../kit/processes/s3-server.ts';
import { startNode } from '../kit/processes/start-node.ts';

const sleep = (time: number) => new Promise((resolve) => setTimeout(resolve, time));

const report = async (api: ApiClient, id: string) => reportSchema.parse((await api.get(`/recording/${id}`)).body);
const used = { SVC_COMPONENTS_USED: 'file recording' };

test('a recording with its own keys is uploaded after its room; webhook and sockets are notified, and keys are never shown', async (t) => {
  const s3 = await startS3Server(t);
  const resources = await withSources(t, 5);
  const receiver = await startReceiver(t);
  const env = { ...used, SVC_RESOURCES_BASE_PATH: resources, SVC_RAW_RECORDING_TTL: '2' };
  const node = await startNode(t, env);
  const { api } = node;
  const socket = await watchEvents(t, node);
  await api.post('/room', { roomId: 'r', webhookUrl: receiver.url });
  for (const [options, message] of [
    [{ credentials: { bucket: 'bkt' } }, 'Required field credentials.accessKeyId is missing'],
    [{ pathPrefix: 'x' }, 'pathPrefix requires credentials'],
    [{ credentials: { ...s3.place, pathPrefix: 'x' }, pathPrefix: 'y' }, 'pathPrefix is set twice'],
    [
      { credentials: { ...s3.place, endpoint: 'ftp://x' } },
      'Expected credentials.endpoint to be an http or https URL, got: a value that is not shown here',
    ],
  ] as const) {
    const { status, body } = await api.post('/room/r/component', { type: 'recording', options });
    assert.deepEqual([status, body.errors], [400, message]);
  }
  const recorder = await addComponent(api, 'recording', { credentials: s3.place, pathPrefix: 'tenant//a' });
  const { bucket, endpoint } = s3.place;
  const credentials = { bucket, endpoint, region: null, pathPrefix: null };
  const properties = { subscribeMode: 'auto', pathPrefix: 'tenant//a', credentials };
  assert.deepEqual((await api.get(`/room/r/component/${recorder}`)).body.data.properties, properties);
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await eventually('video on the disk', async () => (await recordedBytes(resources, '.mkv')) > 18_000);
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  assert.deepEqual((await report(api, id)).upload, { state: 'pending' });
  await s3.stop();
  assert.equal((await api.delete('/room/r')).status, 204);
  const listed = async () => (await api.get('/recording?details=true')).body.recordings[0];
  await eventually('why the upload waits', async () => (await listed()).upload.problem === 'S3 cannot be reached (ECONNREFUSED)');
  // Longer than its TTL.
  await sleep(3500);
  const { upload, state, type, roomId } = await listed();
  assert.deepEqual([upload.state, state, type, roomId], ['pending', 'finished', 'recording', 'r']);
  await s3.start();
  await receiver.untilTrue((received) => received.some(({ event }) => event.type === 'RecordingUploaded'));
  const types = receiver.received.map(({ event }) => event.type);
  assert.deepEqual(types.slice(types.indexOf('RoomDeleted')), ['RoomDeleted', 'RecordingUploaded']);
  const reported = receiver.received.at(-1)?.event;
  assert.deepEqual([reported?.recordingId, reported?.componentId, reported?.seq, reported?.roomId], [id, recorder, undefined, 'r']);
  const heard = await socket.waitFor('roomEvent', (event) => event.type === 'RecordingUploaded');
  assert.equal(heard.id, `${id}-uploaded`);
  const names = await s3.names();
  assert.equal(names.length, 2, names.join());
  const copy = join(resources, 'copy.mkv');
  await writeFile(copy, (await s3.read(names.find((name) => name.endsWith('.mkv')) ?? '')) ?? '');
  for (const frame of await colors(copy)) assertColor(frame, green);
  // Its files are deleted one after the other.
  await eventually('its expiry', async () => (await api.get('/recording')).body.data.length === 0);
  assert.deepEqual([(await api.get(`/recording/${id}`)).status, (await s3.names()).length], [404, 2]);
});

test('a missing bucket is reported to the webhook while the recording runs; once it exists, the recording is uploaded', async (t) => {
  const s3 = await startS3Server(t);
  const resources = await withSources(t, 5);
  const receiver = await startReceiver(t);
  const { api } = await startNode(t, { ...used, SVC_RESOURCES_BASE_PATH: resources });
  await api.post('/room', { roomId: 'r', webhookUrl: receiver.url });
  const recorder = await addComponent(api, 'recording', { credentials: { ...s3.place, bucket: 'later' } });
  await addComponent(api, 'file', { filePath: 'green.h264' });
  const isReported = (type: string) => receiver.untilTrue((received) => received.some(({ event }) => event.type === type));
  await isReported('RecordingUploadCrashed');
  await eventually('video on the disk', async () => (await recordedBytes(resources, '.mkv')) > 18_000);
  const reported = receiver.received.find(({ event }) => event.type === 'RecordingUploadCrashed')?.event;
  const reason = 'S3 has no bucket later';
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  assert.deepEqual([reported?.recordingId, reported?.componentId, reported?.reason, reported?.seq], [id, recorder, reason, undefined]);
  assert.equal((await api.get(`/room/r/component/${recorder}`)).body.data.properties.uploadProblem, reason);
  assert.equal((await api.delete('/room/r')).status, 204);
  await eventually('why it waits', async () => (await report(api, id)).upload?.problem === reason);
  assert.ok((await recordedBytes(resources, '.mkv')) > 0, 'its files remain');
  await s3.makeBucket('later');
  await isReported('RecordingUploaded');
  assert.deepEqual(
    receiver.received.map(({ event }) => event.type).filter((type) => type.startsWith('RecordingUpload')),
    ['RecordingUploadCrashed', 'RecordingUploaded'],
  );
});

test('a node with a storage rejects others, and serves and deletes recordings in S3 that it no longer has', async (t) => {
  const s3 = await startS3Server(t);
  const resources = await withSources(t, 3);
  const env = { ...used, ...s3.env, SVC_S3_PATH_PREFIX: 'kept', SVC_RESOURCES_BASE_PATH: resources, SVC_RAW_RECORDING_TTL: '1' };
  const { api, token, url } = await startNode(t, env);
  await api.post('/room', { roomId: 'r' });
  for (const [options, what] of [
    [{ credentials: s3.place }, 'credentials'],
    [{ pathPrefix: 'x' }, 'path prefix'],
  ] as const) {
    const { status, body } = await api.post('/room/r/component', { type: 'recording', options });
    const message = `Conflicting S3 ${what} supplied via environment variables and the REST API. Overrides on existing values are disallowed`;
    assert.deepEqual([status, body.errors], [400, message]);
  }
  const recorder = await addComponent(api, 'recording');
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  await eventually('audio on the disk', async () => (await recordedBytes(resources, '.webm')) > 12_000);
  await api.delete(`/room/r/component/${recorder}`);
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const { tracks } = await report(api, id);
  const path = `/recording/${id}/${tracks[0]?.file}`;
  const get = (headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}`, ...headers } });
  const local = Buffer.from(await (await get()).arrayBuffer());
  await eventually('its expiry', async () => !existsSync(join(resources, 'recordings', id)));
  assert.equal((await report(api, id)).upload?.state, 'done');
  const whole = await get();
  assert.deepEqual([whole.status, whole.headers.get('content-type'), whole.headers.get('accept-ranges')], [200, 'video/webm', 'bytes']);
  assert.deepEqual(Buffer.from(await whole.arrayBuffer()), local);
  const part = await get({ range: 'bytes=100-199' });
  assert.deepEqual([part.status, part.headers.get('content-range')], [206, `bytes 100-199/${local.length}`]);
  assert.deepEqual(Buffer.from(await part.arrayBuffer()), local.subarray(100, 200));
  const head = await get({}, 'HEAD');
  assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(local.length)]);
  assert.equal((await get({ range: `bytes=${local.length}-` })).status, 416);
  const changed = await get({ range: 'bytes=0-1', 'if-range': '"other"' });
  assert.deepEqual([changed.status, (await changed.arrayBuffer()).byteLength], [200, local.length]);
  const listed = (await api.get('/recording?details=true')).body;
  assert.deepEqual([listed.data, listed.recordings[0].id, listed.recordings[0].upload.state], [[id], id, 'done']);
  assert.equal((await fetch(`${url}${path}`)).status, 401);
  for (const bad of [`/recording/${id}/..%2f..%2freport.json`, `/recording/${id}/.chunks`, `/recording/..%2f${id}/report.json`]) {
    assert.ok([400, 404].includes((await api.get(bad)).status), bad);
  }
  assert.equal((await api.get(`/recording/${id}/none.webm`)).status, 404);
  await s3.stop();
  assert.equal((await api.get(`/recording/${id}`)).status, 503);
  assert.deepEqual((await api.get('/recording')).body, { data: [], incomplete: ['s3'] });
  await s3.start();
  assert.equal((await api.delete(`/recording/${id}`)).status, 204);
  assert.deepEqual([await s3.names(), (await api.delete(`/recording/${id}`)).status], [[], 404]);
});

/** A node that records for a room, and another that gets all requests. `what`: makes the node names unique. */
async function recordAtAnother(t: TestContext, s3: S3Server, what: string) {
  const resources = await withSources(t, 40);
  const receiver = await startReceiver(t);
  const names = { owner: `owner-${what}-${process.pid}@localhost`, other: `other-${what}-${process.pid}@localhost` };
  const dist = (name: string) => ({
    ...used,
    ...s3.env,
    SVC_DIST_ENABLED: 'true',
    SVC_DIST_NODE_NAME: name,
    SVC_DIST_NODES: Object.values(names).join(' '),
  });
  const other = await startNode(t, { ...dist(names.other), SVC_MAX_ROOMS: '0' });
  const { api } = other;
  const start = () => startNodeProcess(t, { ...dist(names.owner), SVC_RESOURCES_BASE_PATH: resources, SVC_DRAIN_TIMEOUT: '60' });
  const owner = await start();
  const together = async () => (await api.get('/health')).body.data.distribution.nodesInCluster === 2;
  await eventually('the cluster', together);
  // Creating a room needs the load of a node: a node that does not report it within a second, for example at its start, gets no room for
  // five.
  await eventually('the room', async () => (await api.post('/room', { roomId: 'r', webhookUrl: receiver.url })).status === 201);
  await addComponent(api, 'recording');
  return { receiver, other, api, start, owner, together };
}

test('a node that shuts down reports its uploads on its sockets and on those of other nodes', async (t) => {
  const s3 = await startS3Server(t);
  const { receiver, other, api, owner } = await recordAtAnother(t, s3, 'ends');
  const sockets = await Promise.all([owner, other].map((each) => watchEvents(t, each)));
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await eventually('a piece in S3', async () => (await s3.names()).some((name) => name.includes('/.chunks/')));
  owner.kill('SIGTERM');
  const isIt = ({ type }: { type?: unknown }) => type === 'RecordingUploaded';
  const heard = await Promise.all(sockets.map((socket) => socket.waitFor('roomEvent', isIt)));
  await receiver.untilTrue((received) => received.some(({ event }) => isIt(event)));
  assert.equal(new Set(heard.map(({ id }) => id)).size, 1);
  assert.deepEqual(await owner.ended, { code: 0, signal: null });
});

test('a killed node loses seconds: another node serves the uploaded pieces, and the next start uploads the rest', async (t) => {
  const s3 = await startS3Server(t);
  const { receiver, other, api, start, owner, together } = await recordAtAnother(t, s3, 'killed');
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await eventually('a piece in S3', async () => (await s3.names()).some((name) => name.includes('/.chunks/')));
  await sleep(500);
  owner.kill('SIGKILL');
  await owner.ended;
  await eventually('the loss', async () => !(await together()));

  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const { state, tracks, upload } = await report(api, id);
  assert.deepEqual([state, tracks.length, upload?.state], ['running', 1, 'pending']);
  const path = `/recording/${id}/${tracks[0]?.file}`;
  const get = (headers: Record<string, string> = {}) =>
    fetch(`${other.url}${path}`, { headers: { authorization: `Bearer ${other.token}`, ...headers } });
  const bytes = Buffer.from(await (await get()).arrayBuffer());
  assert.deepEqual(Buffer.from(await (await get({ range: 'bytes=50-1049' })).arrayBuffer()), bytes.subarray(50, 1050));
  const copy = join(await makeResources(t), 'copy.mkv');
  await writeFile(copy, bytes);
  const frames = await colors(copy);
  assert.ok(frames.length > 7 * 30, `${frames.length} frames`);
  for (const frame of frames) assertColor(frame, green);

  await start();
  await receiver.untilTrue((received) => received.some(({ event }) => event.type === 'RecordingUploaded'));
  const after = await report(api, id);
  assert.deepEqual([after.state, after.upload?.state], ['recovered', 'done']);
  assert.deepEqual(await s3.names(), [`.mediarooms/${id}`, `${id}/report.json`, `${id}/${tracks[0]?.file}`].sort());
  await writeFile(copy, (await s3.read(`${id}/${tracks[0]?.file}`)) ?? '');
  assert.ok(((await probe(copy)).duration ?? 0) * 1000 > (frames.length / 30) * 1000 - 100);
  assert.equal((await api.delete(`/recording/${id}`)).status, 204);
  assert.deepEqual([await s3.names(), (await api.get('/recording')).body.data], [[], []]);
});
