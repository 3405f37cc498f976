// The screenshot of the console in the README, compared with the current console; `npm run screenshot` takes it again.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventuallyIn } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { installPortraits, type Portrait } from '../kit/media/portraits.ts';
import { postWhenIdle } from '../kit/media/sources.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { apiToken, startNode } from '../kit/processes/start-node.ts';
import { assertAccessible, byId, enter, launch, openConsole, tileOf } from './console-kit.ts';

/** True if the screenshot is to be written, otherwise it is only compared. */
const making = process.env.MEDIAROOMS_MAKE_SCREENSHOT !== undefined;
const root = join(import.meta.dirname, '../..');
const path = join(root, 'docs/console.png');
const window = { width: 1440, height: 900 };
const maxBytes = 300_000;

const ada: Portrait = { wall: ['#3b4a5a', '#27313d'], skin: '#e8b894', hair: '#5b3a29', shirt: '#2f9e8f', length: 0.8 };
const others: readonly { peerId: string; name: string; speaks: boolean; muted: boolean; portrait: Portrait }[] = [
  {
    ...{ peerId: 'priya', name: 'Priya Raman', speaks: true, muted: false },
    portrait: { wall: ['#7d5a4f', '#3f2f38'], skin: '#b97f57', hair: '#1d1716', shirt: '#d9a441', length: 1 },
  },
  {
    ...{ peerId: 'jonas', name: 'Jonas Weber', speaks: false, muted: true },
    portrait: { wall: ['#4d6650', '#26352c'], skin: '#f0c6a4', hair: '#c89b5a', shirt: '#4a5d8f', length: 0 },
  },
  {
    ...{ peerId: 'mina', name: 'Mina Okafor', speaks: false, muted: false },
    portrait: { wall: ['#55507a', '#2a2840'], skin: '#7a4f36', hair: '#14100f', shirt: '#c2574f', length: 0.6 },
  },
];

test('the screenshot in the README matches the current console: a room with its panel open', async (t) => {
  const env = { SVC_COMPONENTS_USED: 'hls recording', SVC_RESOURCES_BASE_PATH: await makeResources(t) };
  const node = await startNode(t, env);
  const { api } = node;
  const roomId = 'design-review';
  await api.post('/room', { roomId });
  const small = { width: 320, height: 180, framerate: 10 };
  for (const [type, options] of [
    ['hls', small],
    ['recording', {}],
  ] as const) {
    const { status, body } = await postWhenIdle(api, `/room/${roomId}/component`, { type, options });
    assert.equal(status, 201, JSON.stringify(body));
  }
  const browser = await launch(t);
  const pageUrl = await servePlainPage(t);
  for (const { portrait, ...person } of others) {
    const { body } = await api.post(`/room/${roomId}/peer`, { type: 'webrtc', peerId: person.peerId, metadata: { name: person.name } });
    const page = await (await browser.newContext()).newPage();
    await page.addInitScript(installPortraits);
    await page.goto(pageUrl);
    await page.evaluate(
      async ([settings, { speaks, muted }, shown]) => {
        const entered = new kit.TestRoom({ fallbackUrls: [], ...settings });
        entered.size = { width: 320, height: 180 };
        kit.rooms.main = entered;
        await entered.room.join();
        await entered.room.publish(portraits.camera(shown), { metadata: { source: 'camera' } });
        const microphone = await entered.room.publish(portraits.microphone(speaks), { metadata: { source: 'microphone' } });
        if (muted) await microphone.pause();
      },
      [{ url: `ws://${body.data.peer_websocket_url}`, token: body.data.token }, person, portrait] as const,
    );
  }

  const { page, context, complaints } = await openConsole(browser, 'about:blank', { viewport: window, colorScheme: 'dark' });
  await context.addInitScript(installPortraits, ada);
  await page.goto(`${node.url}/#/room/${roomId}`);
  await page.fill(byId('login-token'), apiToken);
  await page.click(byId('login-submit'));
  await page.waitForSelector(byId('room-panel'));
  await enter(page, 'Ada Lind');
  await page.waitForSelector(byId('watch-link'));
  const shown = `[...document.querySelectorAll('${byId('tile-video')}')].filter((video) => video.videoWidth > 0 && video.currentTime > 0).length`;
  await eventuallyIn(page, `${shown} === ${others.length + 1}`);
  await page.waitForSelector(`${tileOf('Priya Raman')}.speaking`);
  await page.waitForSelector(`${tileOf('Jonas Weber')} ${byId('tile-muted')}`);
  const card = page.locator(`${byId('peer')}[data-name="Priya Raman"]`);
  await card.locator('summary').first().click();
  const points = `Number(document.querySelector('${byId('chart-up')}')?.dataset.points)`;
  await eventuallyIn(page, `${points} >= ${making ? 12 : 3}`);
  await assertAccessible(page, 'the screenshot');
  // No element is focused or hovered.
  await page.evaluate('document.activeElement?.blur()');
  await page.mouse.move(0, 0);
  const now = await page.screenshot();
  assert.deepEqual(complaints, []);

  if (making) await writeFile(path, withFewColors(now));
  const kept = readFileSync(path);
  assert.ok(kept.length < maxBytes, `docs/console.png has ${kept.length} bytes, more than ${maxBytes}`);
  assert.deepEqual([kept.readUInt32BE(16), kept.readUInt32BE(20)], [window.width, window.height]);
  assert.match(readFileSync(join(root, 'README.md'), 'utf8'), /!\[[^\]]{20,}\]\(docs\/console\.png\)/);
  const blank = await (await browser.newContext()).newPage();
  const differing = await shareThatDiffers(blank, now, kept);
  t.diagnostic(`${(100 * differing).toFixed(1)} % of the screenshot differ`);
  assert.ok(
    differing < 0.15,
    `${Math.round(100 * differing)} % of docs/console.png differ from the current console; run npm run screenshot`,
  );
});

/** Reduces the screenshot to 256 colors, for a small file. */
function withFewColors(png: Buffer): Buffer {
  const filter = 'split[one][other];[one]palettegen=stats_mode=single[palette];[other][palette]paletteuse=dither=none';
  const args = [
    '-v',
    'error',
    '-f',
    'png_pipe',
    '-i',
    'pipe:0',
    '-vf',
    filter,
    '-f',
    'image2pipe',
    '-c:v',
    'png',
    '-pred',
    'mixed',
    'pipe:1',
  ];
  return execFileSync('ffmpeg', args, { input: png, timeout: 30_000, maxBuffer: 64 * 1024 * 1024 });
}

/** Share of two images of the same size that differ in color, from 0 to 1. Coarse, so that fonts and moving participants do not count. */
async function shareThatDiffers(page: Page, one: Buffer, other: Buffer): Promise<number> {
  const urls = [one, other].map((png) => `data:image/png;base64,${png.toString('base64')}`);
  return page.evaluate(async (images) => {
    const [columns, rows] = [36, 24];
    const coarse = async (url: string) => {
      const image = new Image();
      image.src = url;
      await image.decode();
      const context = new OffscreenCanvas(columns, rows).getContext('2d') as OffscreenCanvasRenderingContext2D;
      context.imageSmoothingQuality = 'high';
      context.drawImage(image, 0, 0, columns, rows);
      return context.getImageData(0, 0, columns, rows).data;
    };
    const [first, second] = await Promise.all(images.map(coarse));
    let differing = 0;
    for (let cell = 0; cell < columns * rows; cell += 1) {
      const distances = [0, 1, 2].map((channel) => Math.abs((first?.[4 * cell + channel] ?? 0) - (second?.[4 * cell + channel] ?? 255)));
      if (Math.max(...distances) > 32) differing += 1;
    }
    return differing / (columns * rows);
  }, urls);
}
