// A part of the console as its tests walk through it: in each size of window, in light and dark, with nothing serious for axe-core to find.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { assertAccessible, byId, type ConsolePage, openConsole, overflow, windows } from './console-kit.ts';
import { waitUntil } from './guest-kit.ts';

/** Where to put pictures for people to look at; none are made without it. */
const pictures = process.env.MEDIAROOMS_TEST_PICTURES;

/** Looked at as well where pictures are made: it costs too much time for every run. */
const widest = { width: 3840, height: 2160 };

/** Opens the console at a part (`#/…`) and logs in there. */
export async function openPart(
  browser: Browser,
  { url, token, hash }: { url: string; token: string; hash: string },
  options: BrowserContextOptions = {},
): Promise<ConsolePage> {
  const opened = await openConsole(browser, `${url}/${hash}`, options);
  await opened.page.fill(byId('login-token'), token);
  await opened.page.click(byId('login-submit'));
  await opened.page.waitForSelector(byId('status'));
  return opened;
}

/** Looks at the page as it is: a phone and a screen, light and dark. It is left as a screen in light. */
export async function lookAt(page: Page, name: string): Promise<void> {
  for (const size of pictures ? [widest, ...windows] : windows) {
    await page.setViewportSize(size);
    for (const colorScheme of ['dark', 'light'] as const) {
      // Without motion: else colours are looked at on their way from one scheme to the other.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      if (pictures) {
        mkdirSync(pictures, { recursive: true });
        await page.screenshot({ path: join(pictures, `${name}-${size.width}-${colorScheme}.png`), fullPage: size.width === 360 });
      }
      if ((await overflow(page)) > 0) assert.fail(`${name} is wider than ${size.width} px: ${await tooWide(page)}`);
      await assertAccessible(page, `${name}, ${size.width} px, ${colorScheme}`);
    }
  }
}

/** The innermost elements that stand out of the window. */
function tooWide(page: Page): Promise<string> {
  return page.evaluate(`[...document.querySelectorAll('body *')]
    .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 0.5)
    .filter((each, _, all) => !all.some((other) => other !== each && each.contains(other)))
    .slice(0, 5).map((each) => each.outerHTML.slice(0, 200)).join('\\n')`);
}

/** The rows of the list of rooms that are drawn, with where each says that it stands, from 0. */
export async function drawnRooms(page: Page): Promise<{ room: string; index: number }[]> {
  const rows = await page
    .locator(byId('room-row'))
    .evaluateAll((all) => all.map((row) => [row.getAttribute('data-room'), row.getAttribute('aria-rowindex')]));
  assert.ok(rows.length > 0, 'no room is drawn');
  return rows.map(([room, index]) => ({ room: room ?? '', index: Number(index) - 2 }));
}

/** Every address that the page asks for from now on. */
export function addressesOf(page: Page): string[] {
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  return addresses;
}

export type HeldQuestions = {
  /** Resolves when one waits. */
  asked: () => Promise<void>;
  /** Lets the one that waits go; those after it wait. */
  pass: () => void;
  /** All go from now on. */
  end: () => Promise<void>;
};

/** What the page asks of addresses like this waits from now on: meanwhile it stays as it is, and what is asked of others happens before. */
export async function holdQuestions(page: Page, address: RegExp): Promise<HeldQuestions> {
  const waiting: (() => void)[] = [];
  const hold = async (route: Route) => {
    await new Promise<void>((go) => waiting.push(go));
    // Whoever has asked may be gone.
    await route.continue().catch(() => {});
  };
  await page.route(address, hold);
  return {
    asked: () => waitUntil(async () => waiting.length > 0, `something is asked of ${address}`),
    pass: () => waiting.shift()?.(),
    end: async () => {
      await page.unroute(address, hold);
      for (const go of waiting) go();
    },
  };
}

/** Resolves when a process that was sent SIGSTOP stands still: until then it may still answer. */
export function standsStill(pid: number): Promise<void> {
  return waitUntil(async () => /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')), `process ${pid} is stopped`);
}

/** A file of SVC_CONFIG_FILES with one API token, and a way to put another in its place. */
export async function tokenFile(t: TestContext, token: string): Promise<{ path: string; replace: (token: string) => Promise<void> }> {
  const path = join(await makeResources(t), 'settings.json');
  const replace = (other: string) => writeFile(path, JSON.stringify({ apiTokens: [{ name: 'console', token: other, scope: 'admin' }] }));
  await replace(token);
  return { path, replace };
}
