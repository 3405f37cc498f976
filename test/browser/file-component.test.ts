// File component: video and tone of known files arrive in Chromium, and the component is removed at the end.
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventually } from '../kit/eventually.ts';
import { makeTone, makeVideo } from '../kit/media/media-files.ts';
import { oggFile, opusPacket } from '../kit/media/ogg-file.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { startNode } from '../kit/processes/start-node.ts';
import { assertPrompt } from '../kit/promised-time.ts';
import { enter, startClientFixture } from './client-kit.ts';
import { byId, launch, logIn, openConsole, seeText } from './console-kit.ts';

/** A busy machine needs some of them until the first frame, and a file is played once. */
const seconds = 12;

test('a page sees the video and hears the tone of two files, whose components are removed at the end', async (t) => {
  const resources = await makeResources(t);
  const sources = join(resources, 'file_component_sources');
  await Promise.all([makeVideo(join(sources, 'green.h264'), '0x1EC81E', seconds), makeTone(join(sources, 'tones/tone.ogg'), 660, seconds)]);
  const fixture = await startClientFixture(t, { SVC_COMPONENTS_USED: 'file', SVC_RESOURCES_BASE_PATH: resources });
  const { node, roomId } = fixture;
  const { api } = node;
  const viewer = await enter(fixture, 'viewer');

  const add = async (filePath: string) => {
    const at = performance.now();
    const answer = await api.post(`/room/${roomId}/component`, { type: 'file', options: { filePath } });
    assert.equal(answer.status, 201, JSON.stringify(answer.body));
    return { at, component: answer.body.data };
  };
  const untilDeleted = async (id: string) => {
    await eventually(`${id} is removed`, async () => (await api.get(`/room/${roomId}/component/${id}`)).status !== 200, { every: 20 });
    return performance.now();
  };

  const [video, tone] = await Promise.all([add('green.h264'), add('tones/tone.ogg')]);
  assert.deepEqual(video.component.properties, { filePath: 'green.h264', framerate: 30 });
  assert.deepEqual(tone.component.properties, { filePath: 'tones/tone.ogg', framerate: null });
  assert.deepEqual(
    [...video.component.tracks, ...tone.component.tracks].map(({ type, encoding }) => [type, encoding]),
    [
      ['video', 'h264'],
      ['audio', 'opus'],
    ],
  );
  const [endOfVideo, endOfTone] = await Promise.all([
    untilDeleted(video.component.id),
    untilDeleted(tone.component.id),
    viewer.sees(video.component, [30, 200, 30]),
    viewer.hears(tone.component, 660),
  ]);
  for (const length of [endOfVideo - video.at, endOfTone - tone.at]) {
    assert.ok(length > seconds * 1000 - 100, `it lasted ${length} ms`);
    assertPrompt('the end of a file', length, { promised: seconds * 1000 });
  }
  await viewer.waitForNote('trackUnsubscribed');
  assert.deepEqual((await api.get(`/room/${roomId}`)).body.data.components, []);
});

test('the list of rooms counts components as they are added and removed', async (t) => {
  const packets = Array.from({ length: 3000 }, (_, index) => opusPacket(50, index));
  const resources = await makeResources(t, { 'file_component_sources/a.ogg': oggFile(packets) });
  const { api, token, url } = await startNode(t, { SVC_COMPONENTS_USED: 'file', SVC_RESOURCES_BASE_PATH: resources });
  const add = async (): Promise<string> =>
    (await api.post('/room/r/component', { type: 'file', options: { filePath: 'a.ogg' } })).body.data.id;
  await api.post('/room', { roomId: 'r' });
  const first = await add();
  const { page, complaints } = await openConsole(await launch(t), url);
  await logIn(page, token);
  await seeText(page, 'component-count', '1 component');
  const second = await add();
  await seeText(page, 'component-count', '2 components');
  for (const id of [first, second]) await api.delete(`/room/r/component/${id}`);
  await page.waitForSelector(byId('component-count'), { state: 'detached' });
  assert.deepEqual(complaints, []);
});
