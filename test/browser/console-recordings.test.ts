// Recordings pages with real recordings: list, report, playback, download, deletion, and failures.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { follow } from '../kit/media/hls-viewer.ts';
import { addComponent, withSources } from '../kit/media/sources.ts';
import { stablePort, startNodeProcess } from '../kit/processes/node-process.ts';
import { addFiles, makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, launch, seeText, tabTo } from './console-kit.ts';
import { fileOf, hears, idOf, madeTrack, reportOf, seesGreen, startRecording, waitForTracks } from './console-recording-kit.ts';
import { addressesOf, checkPage, holdRequests, openPart, waitUntilStopped } from './console-views.ts';

const list = '#/recordings';

test('a recording is found, opened, played, downloaded and deleted with the keyboard alone', async (t) => {
  const { node, api, resources, id, stop } = await startRecording(t);
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: '#/' });
  const addresses = addressesOf(page);
  await tabTo(page, 'nav-recordings');
  await page.keyboard.press('Enter');
  await seeText(page, 'recording-row', 'recording');
  await seeText(page, 'facts', '1 recording, 1 in progress');
  await waitForTracks(api, id, 2_000);
  await stop();
  await seeText(page, 'recording-row', 'finished');
  await checkPage(page, 'recordings');

  await tabTo(page, 'recording-link');
  await page.keyboard.press('Enter');
  await page.waitForSelector(`${byId('track-row')}[data-kind="video"]`);
  await seeText(page, 'track-row', 'H264');
  await seeText(page, 'track-row', '640×360');
  await seeText(page, 'track-row', 'OPUS');
  await seeText(page, 'report-facts', id);
  await checkPage(page, 'recording');

  await page.focus(`[data-kind="video"] ${byId('play')}`);
  await page.keyboard.press('Enter');
  await seesGreen(page);
  await checkPage(page, 'recording-video');
  await page.focus(`[data-kind="audio"] ${byId('play')}`);
  await page.keyboard.press('Enter');
  await page.waitForSelector(`audio${byId('media')}`);
  await hears(page, 660);
  await checkPage(page, 'recording-audio');
  await page.focus(`[data-kind="audio"] ${byId('play')}`);
  const { tracks } = (await api.get(`/recording/${id}`)).body as { tracks: { type: string; file: string }[] };
  const file = tracks.find(({ type }) => type === 'audio')?.file ?? '';
  const downloaded = page.waitForEvent('download');
  await tabTo(page, 'download');
  await page.keyboard.press('Enter');
  const download = await downloaded;
  assert.equal(download.suggestedFilename(), `${id}-${file}`);
  assert.deepEqual(await readFile(await download.path()), await readFile(join(resources, 'recordings', id, file)));
  assert.ok(!addresses.some((address) => address.includes(apiToken)), 'no URL contains the API token');
  const links = await page.evaluate<string[]>('[...document.links].map((link) => link.href)');
  assert.ok(!links.some((link) => link.includes('token=')), 'no link of the page contains a token');

  await page.focus(byId('delete-recording'));
  await page.keyboard.press('Enter');
  await seeText(page, 'what-goes', `This deletes 2 tracks (1 audio, 1 video) and the report of ${id}`);
  await checkPage(page, 'recording-delete');
  await tabTo(page, 'confirm');
  await page.keyboard.press('Enter');
  await page.waitForSelector(byId('no-recordings'));
  assert.equal((await api.get(`/recording/${id}`)).status, 404);
  assert.deepEqual(complaints, []);
});

test('a saved stream is played', async (t) => {
  // A busy machine may accept no stream for a minute, while the sources are already playing.
  const resources = await withSources(t, 150);
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file hls', SVC_RESOURCES_BASE_PATH: resources });
  const { api } = node;
  await api.post('/room', { roomId: 'r' });
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const stream = await addComponent(api, 'hls', { persistent: true, width: 640, height: 360, framerate: 24 });
  const { url } = (await api.post('/hls/r/token', {})).body.data;
  await follow(`http://${url.replace('index.m3u8', 'stream.m3u8')}`, ({ segments }) => segments.length >= 5);
  assert.equal((await api.delete(`/room/r/component/${stream}`)).status, 204);
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: `#/recordings/${id}` });
  const addresses = addressesOf(page);
  await page.click(byId('play-stream'));
  await seesGreen(page);
  await hears(page, 660);
  await checkPage(page, 'recording-stream');
  assert.ok(addresses.some((address) => address.includes('.m4s')));
  assert.ok(!addresses.some((address) => address.includes(apiToken)), 'no URL contains the API token');
  await page.click(byId('player-close'));
  await page.waitForSelector(byId('media'), { state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('a read-only token can play and download recordings but not delete them', async (t) => {
  const readToken = 'read-token-of-the-console-in-a-test';
  const { node, api, id, stop } = await startRecording(t, { SVC_SERVER_API_READ_TOKEN: readToken });
  await waitForTracks(api, id, 2_000);
  await stop();
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: readToken, hash: `#/recordings/${id}` });
  const addresses = addressesOf(page);
  await page.click(`[data-kind="video"] ${byId('play')}`);
  await seesGreen(page);
  const downloaded = page.waitForEvent('download');
  await page.click(byId('download-report'));
  assert.equal(JSON.parse(await readFile(await (await downloaded).path(), 'utf8')).id, id);
  assert.equal(await page.getAttribute(byId('delete-recording'), 'aria-disabled'), 'true');
  await page.click(byId('delete-recording'), { force: true });
  assert.equal(await page.locator('dialog').count(), 0);
  assert.ok(!addresses.some((address) => address.includes(readToken) || address.includes('token=')));
  assert.equal((await api.get(`/recording/${id}`)).status, 200);
  assert.deepEqual(complaints, []);
});

test('a report with hostile content is shown as text, and an invalid report is not shown', async (t) => {
  const name = `<img src=x onerror="document.title='taken'">\u202Eesrever\u2066 \u{1F468}\u200D\u{1F680}`;
  const track = { ...madeTrack, metadata: { name, about: 'x'.repeat(15_000) } };
  const failed = { upload: { state: 'failed', problem: '<b>The bucket does not exist</b>' } };
  const hostile = reportOf('hostile', 1, {
    tracks: [track, { ...track, trackId: 'u', file: null, problem: 'AV1 is not recorded' }],
    ...failed,
  });
  const broken = { ...reportOf('broken', 2), tracks: [7, null, { type: {}, origin: 'x', offset: 'soon' }], upload: 'yes', startTime: 8 };
  const resources = await makeResources(t, { ...fileOf(hostile), ...fileOf(broken), [`recordings/${hostile.id}/a.webm`]: 'no film' });
  const node = await startNode(t, { SVC_RESOURCES_BASE_PATH: resources });
  const { page, complaints } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: list });
  await seeText(page, 'recording-row', 'upload failed');
  await seeText(page, 'recording-row', 'broken');
  await checkPage(page, 'recordings-hostile');
  await page.locator(byId('recording-link')).filter({ hasText: 'hostile' }).click();
  await seeText(page, 'upload-problem', '<b>The bucket does not exist</b>');
  await page
    .locator(byId('track-row'))
    .filter({ hasText: name.replaceAll(/[\u202E\u2066]/g, '') })
    .first()
    .waitFor();
  await seeText(page, 'track-row', 'AV1 is not recorded');
  await page.click(byId('play'));
  await seeText(page, 'player-problem', 'This browser cannot play this file (VP8 in WebM)');
  await checkPage(page, 'recording-hostile');
  assert.equal(await page.locator('.shell-main img').count(), 0);
  assert.equal(await page.title(), `${hostile.id} · Mediarooms`);
  for (const id of [broken.id, idOf('never', 3)]) {
    await page.goto(`${node.url}/#/recordings/${id}`);
    await page.waitForSelector(byId('recording-deleted'));
  }
  assert.deepEqual(complaints, []);
});

test('the list shows the newest of many recordings first, and search finds all, including those without a summary', async (t) => {
  const reports = Array.from({ length: 1_050 }, (_, index) => reportOf(`room-${index}`, index));
  const node = await startNode(t, { SVC_RESOURCES_BASE_PATH: await makeResources(t, Object.assign({}, ...reports.map(fileOf))) });
  const { page } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: list });
  await seeText(page, 'facts', '1,050 recordings');
  const rows = page.locator(byId('recording-row'));
  const counted = (count: number) => `document.querySelector('.data-table').getAttribute('aria-rowcount') === '${count + 1}'`;
  await eventuallyIn(page, counted(200));
  assert.equal(await rows.first().getAttribute('data-recording'), idOf('room-1049', 1_049));
  await page.click(byId('more'));
  await eventuallyIn(page, counted(400));
  await page.fill(byId('recording-search'), 'room-37-');
  await eventuallyIn(page, `document.querySelectorAll('${byId('recording-row')}').length === 1`);
  assert.equal(await rows.first().getAttribute('data-recording'), idOf('room-37', 37));
  await page.fill(byId('recording-search'), 'no such thing');
  await page.waitForSelector(byId('no-match'));
});

test('a recording stays visible while its server is down and plays after a restart', async (t) => {
  const resources = await withSources(t, 30);
  const env = { SVC_COMPONENTS_USED: 'file recording', SVC_RESOURCES_BASE_PATH: resources };
  const first = await startNodeProcess(t, { ...env, ...(await stablePort()) });
  const { api } = first;
  await api.post('/room', { roomId: 'r' });
  const recorder = await addComponent(api, 'recording');
  await addComponent(api, 'file', { filePath: 'green.h264' });
  await addComponent(api, 'file', { filePath: 'tone.ogg' });
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  await waitForTracks(api, id, 2_000);
  assert.equal((await api.delete(`/room/r/component/${recorder}`)).status, 204);
  const { page } = await openPart(await launch(t), { url: first.url, token: apiToken, hash: `#/recordings/${id}` });
  await page.waitForSelector(byId('track-row'));
  first.kill('SIGKILL');
  await first.ended;
  await page.waitForSelector(`${byId('status')}[data-state="lost"]`);
  await page.click(`[data-kind="video"] ${byId('play')}`);
  await page.getByText('Cannot reach the server. Retrying…').waitFor();
  await startNodeProcess(t, { ...env, SVC_PORT: String(first.port) });
  await seesGreen(page);
  await page.waitForSelector(`${byId('status')}[data-state="live"]`, { timeout: 60_000 });
});

test('an unreachable node is reported in the list of recordings until it responds', async (t) => {
  const [held, asked] = ['held', 'asked'].map((name) => `${name}-${process.pid}@localhost`);
  const dist = { SVC_DIST_ENABLED: 'true', SVC_DIST_NODES: held };
  const resources = await makeResources(t);
  await addFiles(resources, fileOf(reportOf('elsewhere', 1)));
  const holder = await startNodeProcess(t, { ...dist, SVC_DIST_NODE_NAME: held, SVC_RESOURCES_BASE_PATH: resources });
  const node = await startNode(t, { ...dist, SVC_DIST_NODE_NAME: asked });
  const { page } = await openPart(await launch(t), { url: node.url, token: apiToken, hash: list });
  await seeText(page, 'recording-row', 'elsewhere');
  // After ten seconds without a response the node is lost and no longer reported, so it is stopped just before the request, and the next
  // request is held until all is checked.
  const requests = await holdRequests(page, /\/recording\?details=/);
  await requests.arrived();
  holder.kill('SIGSTOP');
  t.after(() => holder.kill('SIGCONT'));
  await waitUntilStopped(holder.pid);
  requests.pass();
  await page.locator(byId('incomplete')).filter({ hasText: held }).waitFor();
  await checkPage(page, 'recordings-incomplete');
  holder.kill('SIGCONT');
  await requests.end();
  await page.locator(byId('incomplete')).waitFor({ state: 'detached' });
  await seeText(page, 'recording-row', 'elsewhere');
});
