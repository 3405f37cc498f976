// Rendering a recording to MP4 in the console: start, playback, download, and failures.
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { S3Store } from '../../node/storage/s3/s3-store.ts';
import { addFiles, makeResources } from '../kit/processes/resources-folder.ts';
import { startS3Server } from '../kit/processes/s3-server.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText } from './console-kit.ts';
import { fileOf, idOf, madeTrack, reportOf, seesGreen, startRecording, waitForTracks } from './console-recording-kit.ts';
import { checkPage, openPart } from './console-views.ts';
import { waitUntil } from './guest-kit.ts';

/** Rendering has low priority, so it is slow next to a browser. */
const timeoutOptions = { timeout: 180_000 };
const options = { timeout: 420_000 };

test('a recording is rendered to MP4, played, downloaded and deleted with it; a failed render shows the reason', options, async (t) => {
  const { node, api, resources, id, stop } = await startRecording(t);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: `#/recordings/${id}` });
  await seeText(page, 'render', 'Can be rendered once the recording has ended.');
  await waitForTracks(api, id, 3_000);
  await stop();
  await page.click(byId('render-open'));
  await page.selectOption(byId('render-size'), '640');
  await page.selectOption(byId('render-layout'), 'single');
  await checkPage(page, 'recording-render');
  await page.click(byId('render-start'));
  await page.waitForSelector(`${byId('render')}[data-state="done"]`, timeoutOptions);
  await seeText(page, 'render', '640×360');
  await page.click(byId('play-rendered'));
  await seesGreen(page);
  await checkPage(page, 'recording-rendered');
  const downloaded = page.waitForEvent('download');
  await page.click(byId('download-rendered'));
  assert.deepEqual(await readFile(await (await downloaded).path()), await readFile(join(resources, 'recordings', id, 'rendered.mp4')));
  await page.click(byId('delete-recording'));
  await seeText(page, 'what-goes', '2 tracks (1 audio, 1 video), the rendered MP4 and the report');
  assert.deepEqual(complaints, []);

  const broken = reportOf('unreadable', 1, { tracks: [madeTrack] });
  await addFiles(resources, fileOf(broken));
  await addFiles(resources, { [`recordings/${broken.id}/a.webm`]: 'no film' });
  await page.goto(`${node.url}/#/recordings/${broken.id}`);
  await page.click(byId('render-open'));
  await page.click(byId('render-start'));
  await page.waitForSelector(byId('render-failed'), timeoutOptions);
  await checkPage(page, 'recording-render-failed');
});

test('an interrupted recording is rendered from S3', options, async (t) => {
  const s3 = await startS3Server(t);
  const { api, resources, id, stop } = await startRecording(t);
  await waitForTracks(api, id, 2_000);
  await stop();
  await waitUntil(async () => (await api.get(`/recording/${id}`)).body.state === 'finished', 'the recording is finished');
  const made = join(resources, 'recordings', id);
  const left = { ...JSON.parse(await readFile(join(made, 'report.json'), 'utf8')), id: idOf('left', 1), roomId: 'left' };
  const report = { ...left, node: 'gone@elsewhere', state: 'running', endTime: null };
  const copy = await makeResources(t, { 'report.json': JSON.stringify(report) });
  const store = new S3Store(s3.place);
  for (const file of await readdir(made))
    await store.putFile(`${left.id}/${file}`, join(file === 'report.json' ? copy : made, file), t.signal);
  store.close();

  const node = await startNode(t, { ...s3.env, SVC_RESOURCES_BASE_PATH: await makeResources(t) });
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: `#/recordings/${left.id}` });
  await page.getByText('interrupted').waitFor();
  await seeText(page, 'render', 'Its node is not in the cluster');
  await checkPage(page, 'recording-left');
  await page.getByText('All recordings').click();
  await seeText(page, 'recording-row', 'interrupted');
  await seeText(page, 'facts', '1 recording');
  await checkPage(page, 'recordings-left');
  await page.click(byId('recording-link'));
  await page.click(byId('render-open'));
  await page.click(byId('render-start'));
  await page.waitForSelector(byId('play-rendered'), timeoutOptions);
  await page.click(byId('play-rendered'));
  await seesGreen(page);
  assert.deepEqual(complaints, []);
});
