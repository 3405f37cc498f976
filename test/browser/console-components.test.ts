// Components in the console: they are seen and heard in the room, and listed, added and removed in the panel.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';
import { makeTone, makeVideo } from '../kit/media/media-files.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { byId, deadline, enter, heardFrequency, hearsNothing, launch, openConsole, overflow, seeText, tileOf } from './console-kit.ts';
import { holdRequests } from './console-views.ts';

/** Longer than all checks on a busy machine, because a file is played once and then removed. */
const seconds = 240;
const tone = 660;
/** Folder for screenshots; none are taken without it. */
const screenshots = process.env.MEDIAROOMS_TEST_SCREENSHOTS;

async function startWithFiles(t: TestContext) {
  const resources = await makeResources(t);
  const sources = join(resources, 'file_component_sources');
  await Promise.all([makeVideo(join(sources, 'green.h264'), '0x1EC81E', seconds), makeTone(join(sources, 'tone.ogg'), tone, seconds)]);
  const node = await startNode(t, { SVC_COMPONENTS_USED: 'file', SVC_RESOURCES_BASE_PATH: resources });
  const { api } = node;
  await api.post('/room', { roomId: 'fixture' });
  return { node, api };
}

async function add(page: Page, filePath: string, framerate = ''): Promise<void> {
  await page.fill(byId('option-filePath'), filePath);
  await page.fill(byId('option-framerate'), framerate);
  await page.click(byId('add-component'));
}

const row = (page: Page, name: string) => page.locator(byId('component-row')).filter({ hasText: name });

/** Resolves when the video in the tile is mostly the green of the file. */
async function seesGreen(page: Page, name: string): Promise<void> {
  await eventuallyIn(
    page,
    `(() => {
      const video = document.querySelector(${JSON.stringify(`${tileOf(name)} video`)});
      if (!video || video.videoWidth !== 640) return false;
      const canvas = document.createElement('canvas');
      canvas.width = 64;
      canvas.height = 36;
      const context = canvas.getContext('2d');
      context.drawImage(video, 0, 0, 64, 36);
      const { data } = context.getImageData(0, 0, 64, 36);
      let green = 0;
      for (let i = 0; i < data.length; i += 4)
        if (Math.abs(data[i] - 30) < 40 && Math.abs(data[i + 1] - 200) < 40 && Math.abs(data[i + 2] - 30) < 40) green += 1;
      return green / (data.length / 4) > 0.7;
    })()`,
  );
}

async function takeScreenshot(page: Page, name: string, widths: readonly (readonly [number, number])[]): Promise<void> {
  for (const [width, height] of widths) {
    await page.setViewportSize({ width, height });
    assert.ok((await overflow(page)) <= 0, `${name} is wider than ${width} px`);
    if (!screenshots) continue;
    mkdirSync(screenshots, { recursive: true });
    await page.waitForTimeout(400);
    await page.screenshot({ path: join(screenshots, `${name}-${width}.png`) });
  }
}

const sizes = [
  [360, 740],
  [1440, 900],
] as const;

test('files are added, seen, heard and removed in a call', async (t) => {
  const { node, api } = await startWithFiles(t);
  const { page, complaints } = await openConsole(await launch(t), `${node.url}/#/room/fixture`);
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
  await enter(page, 'Ada');

  await page.click(byId('components'));
  await page.waitForSelector(byId('no-components'));
  await add(page, '../green.h264');
  await seeText(page, 'component-problem', 'Invalid file path: it has to stay inside file_component_sources.');
  await add(page, 'green.h264', 'fast');
  await seeText(page, 'component-problem', 'framerate');
  await add(page, 'green.h264', '30');
  await row(page, 'File: green.h264').waitFor();
  await page.waitForSelector(byId('component-problem'), { state: 'detached' });
  await add(page, 'tone.ogg');
  await row(page, 'File: tone.ogg').waitFor();
  // A component is listed before it sends.
  const facts = JSON.stringify(['Sends video (h264) · framerate: 30', 'Sends audio (opus)']);
  const shown = `JSON.stringify([...document.querySelectorAll('${byId('component-facts')}')].map((each) => each.textContent))`;
  await eventuallyIn(page, `${shown} === ${JSON.stringify(facts)}`);
  const { body } = await api.get('/room/fixture');
  assert.deepEqual(
    body.data.components.map(({ type, properties }: { type: string; properties: { filePath: string } }) => [type, properties.filePath]),
    [
      ['file', 'green.h264'],
      ['file', 'tone.ogg'],
    ],
  );
  await takeScreenshot(page, 'dialog', sizes);

  await page.setViewportSize({ width: 1280, height: 800 });
  await page.click(byId('panel-close'));
  await seesGreen(page, 'File');
  await page.waitForSelector(`${tileOf('File')}[data-component="true"]`);
  let heard = 0;
  const isTone = async () => {
    heard = await heardFrequency(page, 2_000);
    return Math.abs(heard - tone) < 15;
  };
  await eventually(() => `the loudest frequency is ${heard} Hz instead of ${tone} Hz`, isTone, { within: deadline });
  await takeScreenshot(page, 'call', sizes);

  await page.setViewportSize({ width: 1280, height: 800 });
  await page.click(byId('panel-toggle'));
  await page.click(byId('components'));
  for (const name of ['File: green.h264', 'File: tone.ogg']) {
    await row(page, name).locator('summary').click();
    await row(page, name).locator(byId('remove-component')).click();
    await page.click(byId('confirm'));
    await row(page, name).waitFor({ state: 'detached' });
    await page.waitForSelector(tileOf(name), { state: 'detached' });
  }
  await page.waitForSelector(byId('no-components'));
  assert.deepEqual((await api.get('/room/fixture')).body.data.components, []);
  await hearsNothing(page);
  assert.deepEqual(complaints, []);
});

test('fields that are changed while a component is being added are kept for the next one', async (t) => {
  const { node } = await startWithFiles(t);
  const { page, complaints } = await openConsole(await launch(t), `${node.url}/#/room/fixture`);
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
  await page.click(byId('components'));
  const requests = await holdRequests(page, /\/room\/fixture\/component$/);
  await add(page, 'green.h264', '30');
  await requests.arrived();
  await page.fill(byId('option-filePath'), 'tone.ogg');
  await requests.end();
  await row(page, 'File: green.h264').waitFor();
  await page.waitForSelector(`${byId('add-component')}:enabled`);
  assert.equal(await page.inputValue(byId('option-filePath')), 'tone.ogg');
  assert.equal(await page.inputValue(byId('option-framerate')), '', 'submitted fields are cleared');
  await page.click(byId('add-component'));
  await row(page, 'File: tone.ogg').filter({ hasNotText: 'framerate' }).waitFor();
  await eventuallyIn(page, `document.querySelector('${byId('option-filePath')}').value === ''`);
  assert.deepEqual(complaints, []);
});

test('components are listed without joining, including those that are added and removed through the API', async (t) => {
  const { node, api } = await startWithFiles(t);
  const create = (filePath: string) => api.post('/room/fixture/component', { type: 'file', options: { filePath } });
  const first = await create('tone.ogg');
  const { page, complaints } = await openConsole(await launch(t), `${node.url}/#/room/fixture`);
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
  await page.click(byId('components'));
  await row(page, 'File: tone.ogg').waitFor();
  await create('green.h264');
  await row(page, 'File: green.h264').waitFor();
  await api.delete(`/room/fixture/component/${first.body.data.id}`);
  await row(page, 'File: tone.ogg').waitFor({ state: 'detached' });
  assert.deepEqual(complaints, []);
});

test('the console offers no components if the node has none enabled', async (t) => {
  const node = await startNode(t, { SVC_COMPONENTS_USED: '' });
  await node.api.post('/room', { roomId: 'plain' });
  const { page } = await openConsole(await launch(t), `${node.url}/#/room/plain`);
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
  await enter(page, 'Ada');
  await page.click(byId('components'));
  await page.waitForSelector(byId('components-disabled'));
  assert.equal(await page.locator(byId('add-component')).count(), 0);
});
