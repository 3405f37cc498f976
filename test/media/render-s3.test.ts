// Rendering of recordings in S3: the output is uploaded next to the recording, survives outages, and is deleted with it.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { assertColor, probeAll } from '../kit/media/recorded-file.ts';
import { addComponent, green, withSources } from '../kit/media/sources.ts';
import { startReceiver } from '../kit/network/webhook-receiver.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { type S3Server, startS3Server } from '../kit/processes/s3-server.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { renderOver, watch } from './render-kit.ts';

const small = { width: 320, height: 180 };
const used = { SVC_COMPONENTS_USED: 'file recording' };

/** State of the upload of a recording. */
const uploadOf = async (api: ApiClient, id: string) => (await api.get(`/recording/${id}`)).body.upload;
const isUp = (api: ApiClient, id: string) => eventually('the upload', async () => (await uploadOf(api, id)).state === 'done');

/** A room that is recorded for some seconds. @returns the recording id */
async function record(api: ApiClient, options: object, room: object = {}): Promise<string> {
  await api.post('/room', { roomId: 'r', ...room });
  await addComponent(api, 'recording', options);
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await new Promise((resolve) => setTimeout(resolve, 3000));
  assert.equal((await api.delete('/room/r')).status, 204);
  return (await api.get('/recording')).body.data[0];
}

/** Downloads the rendered file from S3 and checks size, duration and color. */
async function assertRendered(t: TestContext, s3: S3Server, folder: string, { width, height }: typeof small): Promise<void> {
  const report = JSON.parse(String(await s3.read(`${folder}/report.json`)));
  assert.deepEqual([report.rendered.file, report.rendered.width, report.upload.state], ['rendered.mp4', width, 'done']);
  const bytes = await s3.read(`${folder}/rendered.mp4`);
  assert.ok(bytes);
  assert.equal(bytes.length, report.rendered.bytes);
  const path = join(await makeResources(t), 'rendered.mp4');
  await writeFile(path, bytes);
  const { at } = await watch(path, report.rendered.duration);
  assert.ok(report.rendered.duration > 1000, `${report.rendered.duration} ms`);
  const last = at(report.rendered.duration - 500);
  // A white box covers one of these positions at a time.
  const [, colour] = [0.2, 0.5, 0.8].map((x) => last?.at(x, 0.5) ?? []).sort(([one = 0], [other = 0]) => one - other);
  assertColor(colour, green);
  const [video] = (await probeAll(path)).streams;
  assert.deepEqual([video?.width, video?.height], [width, height]);
}

test('a rendered recording with its own keys is uploaded with them, also after an outage, and reported once', async (t) => {
  const s3 = await startS3Server(t);
  const receiver = await startReceiver(t);
  const resources = await withSources(t, 4);
  const { api } = await startNode(t, { ...used, SVC_RESOURCES_BASE_PATH: resources });
  const id = await record(api, { credentials: s3.place, pathPrefix: 'tenant' }, { webhookUrl: receiver.url });
  await isUp(api, id);
  const before = await s3.names();
  await s3.stop();
  assert.equal((await api.post(`/recording/${id}/render`, small)).status, 202);
  assert.deepEqual(await renderOver(api, id), { state: 'done', progress: 1 });
  assert.equal((await uploadOf(api, id)).state, 'pending', 'nothing local is deleted');
  await eventually('why it waits', async () => (await uploadOf(api, id)).problem === 'S3 cannot be reached (ECONNREFUSED)');
  const [listed] = (await api.get('/recording?details=true')).body.recordings;
  assert.deepEqual([listed.upload.state, listed.rendered.width], ['pending', small.width]);
  await s3.start();
  await isUp(api, id);
  assert.deepEqual(await s3.names(), [...before, `tenant/${id}/rendered.mp4`].sort());
  await assertRendered(t, s3, `tenant/${id}`, small);

  const other = { width: 640, height: 360 };
  await api.post(`/recording/${id}/render`, other);
  await renderOver(api, id);
  await isUp(api, id);
  await assertRendered(t, s3, `tenant/${id}`, other);
  await receiver.untilTrue((received) => received.some(({ event }) => event.type === 'RecordingUploaded'));
  assert.equal(receiver.received.filter(({ event }) => event.type === 'RecordingUploaded').length, 1);
  assert.doesNotMatch(JSON.stringify((await api.get(`/recording/${id}`)).body), new RegExp(s3.place.secretAccessKey));

  assert.equal((await api.delete(`/recording/${id}`)).status, 204);
  assert.equal((await s3.names()).length, before.length + 1, 'announced files belong to the owner of the bucket');
});

test('a rendered recording in the server-wide storage is uploaded there and deleted with it', async (t) => {
  const s3 = await startS3Server(t);
  const resources = await withSources(t, 4);
  const { api } = await startNode(t, { ...used, ...s3.env, SVC_RESOURCES_BASE_PATH: resources });
  const id = await record(api, {});
  await isUp(api, id);
  await api.post(`/recording/${id}/render`, small);
  await renderOver(api, id);
  await isUp(api, id);
  await assertRendered(t, s3, id, small);
  assert.ok(existsSync(join(resources, 'recordings', id, 'rendered.mp4')));
  assert.equal((await api.delete(`/recording/${id}`)).status, 204);
  await eventually('all of it is deleted', async () => (await s3.names()).length === 0);
});
