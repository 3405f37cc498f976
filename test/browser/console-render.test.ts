// The console renders a recording to one MP4: asks for it, plays and downloads it, and says why where it cannot be.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { addFiles } from '../kit/resources-folder.ts';
import { apiToken } from '../kit/start-node.ts';
import { byId, launch, seeText } from './console-kit.ts';
import { fileOf, madeTrack, reportOf, seesGreen, startRecording, waitForTracks } from './console-recording-kit.ts';
import { lookAt, openPart } from './console-views.ts';

test('a recording is rendered to one MP4, which is played and goes with it; one that cannot be rendered says why', async (t) => {
  const { node, api, resources, id, stop } = await startRecording(t);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: `#/recordings/${id}` });
  await seeText(page, 'render', 'Can be rendered once the recording has ended.');
  await waitForTracks(api, id, 3_000);
  await stop();
  await page.click(byId('render-open'));
  await page.selectOption(byId('render-size'), '640');
  await page.selectOption(byId('render-layout'), 'single');
  await lookAt(page, 'recording-render');
  await page.click(byId('render-start'));
  await page.waitForSelector(`${byId('render')}[data-state="done"]`, { timeout: 60_000 });
  await seeText(page, 'render', '640×360');
  await page.click(byId('play-rendered'));
  await seesGreen(page);
  await lookAt(page, 'recording-rendered');
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
  await page.waitForSelector(byId('render-failed'), { timeout: 60_000 });
  await lookAt(page, 'recording-render-failed');
});
