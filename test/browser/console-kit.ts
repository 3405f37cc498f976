// Console kit: pages of the console in Chromium that record errors of the browser.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { type BrowserOptions, eventuallyIn, startBrowser } from '../kit/browser/browser.ts';
import { eventually } from '../kit/eventually.ts';

export const deadline = 60_000;

export async function launch(t: TestContext, args: readonly string[] = [], wrap?: BrowserOptions['wrap']): Promise<Browser> {
  assert.ok(
    existsSync(join(import.meta.dirname, '../../packages/console/dist/index.html')),
    'Console not built; run npm run build:console',
  );
  return (await startBrowser(t, { args, shared: true, ...(wrap && { wrap }) })).browser;
}

export type ConsolePage = {
  page: Page;
  context: BrowserContext;
  /** Errors of the browser: exceptions and policy violations. Failed requests are not included, because the console shows them. */
  complaints: string[];
};

/** `wholeCamera`: 720p in three layers, as the console requests. Otherwise 360p in two layers, at a quarter of the cost. */
export type ConsoleOptions = BrowserContextOptions & { wholeCamera?: boolean };

/** Reduces the requested size of cameras, and keeps all opened tracks. */
const smallCameras = `(() => {
  const devices = navigator.mediaDevices;
  if (!devices) return;
  const open = devices.getUserMedia.bind(devices);
  const opened = (globalThis.__opened = []);
  devices.getUserMedia = async (constraints) => {
    const small = { width: { ideal: 640 }, height: { ideal: 360 } };
    const video = typeof constraints.video === 'object' ? { ...constraints.video, ...small } : constraints.video;
    const stream = await open({ ...constraints, ...(video === undefined ? {} : { video }) });
    opened.push(...stream.getTracks());
    return stream;
  };
})()`;

/** Resolves when camera and microphone, which the page had opened, are closed. */
export async function releasesDevices(page: Page): Promise<void> {
  await eventuallyIn(page, `__opened.length >= 2 && __opened.every(({ readyState }) => readyState === 'ended')`);
}

/** Opens a page with separate storage. */
export async function openConsole(browser: Browser, url: string, { wholeCamera, ...options }: ConsoleOptions = {}): Promise<ConsolePage> {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  if (!wholeCamera) await context.addInitScript({ content: smallCameras });
  context.setDefaultTimeout(deadline);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    if (message.type() === 'error' && !/Failed to load resource|WebSocket connection/.test(message.text())) complaints.push(message.text());
  });
  await context.exposeBinding('reportViolation', (_source, text: string) => complaints.push(text));
  await context.addInitScript({
    content: `addEventListener('securitypolicyviolation', (event) => {
      reportViolation('policy violated: ' + event.violatedDirective + ' ' + event.blockedURI);
    });`,
  });
  await page.goto(url);
  return { page, context, complaints };
}

export const byId = (name: string): string => `[data-testid="${name}"]`;

/** Resolves when an element with this test id contains the text. */
export async function seeText(page: Page, testId: string, text: string | RegExp): Promise<void> {
  await page.locator(byId(testId)).filter({ hasText: text }).first().waitFor();
}

export async function logIn(page: Page, token: string): Promise<void> {
  await page.fill(byId('login-token'), token);
  await page.click(byId('login-submit'));
  await page.waitForSelector(byId('create-room'));
}

/** Logs in by keyboard on any page that requires it. */
export async function logInByKeys(page: Page, token: string): Promise<void> {
  await page.waitForSelector(byId('login-token'));
  await page.keyboard.type(token);
  await page.keyboard.press('Enter');
}

/** Joins from the lobby. */
export async function enter(page: Page, name: string, guest = false): Promise<void> {
  await page.waitForSelector(byId('tile-video'));
  await page.fill(byId(guest ? 'guest-name' : 'name'), name);
  await page.click(byId(guest ? 'guest-join' : 'join'));
  await page.waitForSelector(`${byId('status')}[data-state="joined"]`);
}

export const tileOf = (name: string): string => `${byId('tile')}[data-name="${name}"][data-screen="false"]`;

/**
 * Fails if axe-core finds a serious or critical violation on the current page. Run it for every page and dialog of the console once its
 * content is loaded, in light and dark (contrasts differ), at 360 and 1440 pixels.
 */
export async function assertAccessible(page: Page, where: string): Promise<void> {
  if (!(await page.evaluate<boolean>('"axe" in window'))) await page.evaluate(axe.source);
  // No preload: the content security policy forbids it, and all styles are same-origin.
  const { violations } = await page.evaluate<axe.AxeResults>("axe.run(document, { preload: false, resultTypes: ['violations'] })");
  const findings = violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(
      ({ id, help, nodes }) =>
        `${id} (${help}): ${nodes.map(({ html, failureSummary }) => `${html}\n      ${failureSummary}`).join('\n    ')}`,
    );
  assert.deepEqual(findings, [], `axe-core on ${where}`);
}

/** Window sizes of the visual checks: a phone and a screen. */
export const windows = [
  { width: 360, height: 740 },
  { width: 1440, height: 900 },
] as const;

/** Presses Tab until the element with this test id has a visible focus. */
export async function tabTo(page: Page, testId: string, most = 60): Promise<void> {
  const seen: string[] = [];
  for (let i = 0; i < most; i += 1) {
    await page.keyboard.press('Tab');
    seen.push(await page.evaluate<string>('document.activeElement?.dataset.testid ?? document.activeElement?.tagName ?? ""'));
    if (seen.at(-1) === testId) {
      assert.equal(await page.evaluate('document.activeElement.matches(":focus-visible")'), true, `${testId} has no visible focus`);
      return;
    }
  }
  assert.fail(`${testId} is not reachable by Tab: ${seen.join(' ')}`);
}

/** Horizontal overflow of the page in CSS pixels, after two frames, because ResizeObserver callbacks run with a frame. */
export async function overflow(page: Page): Promise<number> {
  return page.evaluate(`new Promise((resolve) => {
    const measure = () => resolve(document.documentElement.scrollWidth - window.innerWidth);
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(measure)));
  })`);
}

/** Resolves when the tile shows the fake camera of Chromium (green) and its decoded frames change. */
export async function seesMovingVideo(page: Page, name: string): Promise<void> {
  // A frame of a previous check would differ from a frozen video.
  await page.evaluate(`delete window.__frames?.[${JSON.stringify(name)}]`);
  await eventuallyIn(
    page,
    `(() => {
      const video = document.querySelector(${JSON.stringify(`${tileOf(name)} video`)});
      if (!video || video.videoWidth === 0) return false;
      const canvas = document.createElement('canvas');
      canvas.width = 64;
      canvas.height = 36;
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(video, 0, 0, 64, 36);
      const { data } = context.getImageData(0, 0, 64, 36);
      let red = 0, green = 0, difference = 0;
      const before = window.__frames?.[${JSON.stringify(name)}];
      for (let i = 0; i < data.length; i += 4) {
        red += data[i];
        green += data[i + 1];
        if (before) difference += Math.abs(data[i + 1] - before[i + 1]);
      }
      window.__frames = { ...window.__frames, [${JSON.stringify(name)}]: data };
      const pixels = data.length / 4;
      return before !== undefined && (green - red) / pixels > 60 && difference / pixels > 0.5;
    })()`,
  );
}

/** Resolves after a second of silence. Buffered and concealed audio fades out first. */
export async function hearsNothing(page: Page): Promise<void> {
  await eventually('the page is silent', async () => (await heardFrequency(page, 1_000)) === 0, { within: deadline });
}

/** Loudest frequency in Hz within the time, over all remote audio. 0 is silence. */
export async function heardFrequency(page: Page, milliseconds: number): Promise<number> {
  return page.evaluate(`(async () => {
    const context = new AudioContext();
    await context.resume();
    const analyser = context.createAnalyser();
    analyser.fftSize = 4096;
    analyser.smoothingTimeConstant = 0;
    for (const element of document.querySelectorAll(${JSON.stringify(byId('remote-audio'))})) {
      if (!element.paused && element.srcObject) context.createMediaStreamSource(element.srcObject).connect(analyser);
    }
    const bins = new Float32Array(analyser.frequencyBinCount);
    let loudest = -70, frequency = 0;
    for (const end = performance.now() + ${milliseconds}; performance.now() < end; ) {
      analyser.getFloatFrequencyData(bins);
      for (let i = 4; i < bins.length; i += 1) {
        if (bins[i] > loudest) {
          loudest = bins[i];
          frequency = (i * context.sampleRate) / analyser.fftSize;
        }
      }
      await new Promise((resolve) => setTimeout(resolve, 40));
    }
    await context.close();
    return frequency;
  })()`);
}
