// View kit: checks pages of the console in each window size, light and dark, with axe-core.
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { assertAccessible, byId, type ConsolePage, openConsole, overflow, windows } from './console-kit.ts';
import { waitUntil } from './guest-kit.ts';

/** Folder for screenshots; none are taken without it. */
const screenshots = process.env.MEDIAROOMS_TEST_SCREENSHOTS;

/** Checked only if screenshots are taken, because it is slow. */
const widest = { width: 3840, height: 2160 };

/** Opens a page of the console (`#/…`) and logs in. */
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

/** Checks overflow and accessibility of the current page on a phone and a screen, light and dark. Ends with a light screen. */
export async function checkPage(page: Page, name: string): Promise<void> {
  for (const size of screenshots ? [widest, ...windows] : windows) {
    await page.setViewportSize(size);
    for (const colorScheme of ['dark', 'light'] as const) {
      // Without motion, because colors would be checked during their transition.
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
      if (screenshots) {
        mkdirSync(screenshots, { recursive: true });
        await page.screenshot({ path: join(screenshots, `${name}-${size.width}-${colorScheme}.png`), fullPage: size.width === 360 });
      }
      if ((await overflow(page)) > 0) assert.fail(`${name} is wider than ${size.width} px: ${await tooWide(page)}`);
      await assertAccessible(page, `${name}, ${size.width} px, ${colorScheme}`);
    }
  }
}

/** The innermost elements that overflow the window. */
function tooWide(page: Page): Promise<string> {
  return page.evaluate(`[...document.querySelectorAll('body *')]
    .filter((each) => each.getBoundingClientRect().right > window.innerWidth + 0.5)
    .filter((each, _, all) => !all.some((other) => other !== each && each.contains(other)))
    .slice(0, 5).map((each) => each.outerHTML.slice(0, 200)).join('\\n')`);
}

/** The rendered rows of the list of rooms, with their index from 0. */
export async function drawnRooms(page: Page): Promise<{ room: string; index: number }[]> {
  const rows = await page
    .locator(byId('room-row'))
    .evaluateAll((all) => all.map((row) => [row.getAttribute('data-room'), row.getAttribute('aria-rowindex')]));
  assert.ok(rows.length > 0, 'no room is rendered');
  return rows.map(([room, index]) => ({ room: room ?? '', index: Number(index) - 2 }));
}

/** URLs of all requests of the page from now on. */
export function addressesOf(page: Page): string[] {
  const addresses: string[] = [];
  page.on('request', (request) => addresses.push(request.url()));
  return addresses;
}

export type HeldRequests = {
  /** Resolves when a request is held. */
  arrived: () => Promise<void>;
  /** Releases the held request; later ones are held. */
  pass: () => void;
  /** Releases all requests from now on. */
  end: () => Promise<void>;
};

/** Holds requests of the page to matching URLs. */
export async function holdRequests(page: Page, address: RegExp): Promise<HeldRequests> {
  const waiting: (() => void)[] = [];
  const hold = async (route: Route) => {
    await new Promise<void>((go) => waiting.push(go));
    // The page may be closed.
    await route.continue().catch(() => {});
  };
  await page.route(address, hold);
  return {
    arrived: () => waitUntil(async () => waiting.length > 0, `a request to ${address} is held`),
    pass: () => waiting.shift()?.(),
    end: async () => {
      await page.unroute(address, hold);
      for (const go of waiting) go();
    },
  };
}

/** Resolves when a process has stopped after SIGSTOP; until then it may still respond. */
export function waitUntilStopped(pid: number): Promise<void> {
  return waitUntil(async () => /\) T /.test(await readFile(`/proc/${pid}/stat`, 'utf8')), `process ${pid} is stopped`);
}

/** A file for SVC_CONFIG_FILES with one API token; `replace` writes another one. */
export async function tokenFile(t: TestContext, token: string): Promise<{ path: string; replace: (token: string) => Promise<void> }> {
  const path = join(await makeResources(t), 'settings.json');
  const replace = (other: string) => writeFile(path, JSON.stringify({ apiTokens: [{ name: 'console', token: other, scope: 'admin' }] }));
  await replace(token);
  return { path, replace };
}
