// Chromium for tests: started with fake devices and closed with the test; console messages of its pages are shown if a test fails.
import { existsSync } from 'node:fs';
import { basename } from 'node:path';
import { after, type TestContext } from 'node:test';
import { type Browser, type BrowserContext, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { testFileVariable } from '../../../tools/paths.mjs';
import { eventually } from '../eventually.ts';
import { freePort } from '../network/free-ports.ts';
import { findConnectionsOf, type ScriptedPage, stateOfPages } from './page-state.ts';

/** Chromium without its user interface, which costs half a second of a core for each page with separate storage. */
const shell = '/usr/lib/chromium/chromium-headless-shell';
const wholeProgram = '/usr/bin/chromium';

/** Flags for media without hardware, WebRTC over loopback without mDNS names, and no background activity. */
const flags = [
  '--no-sandbox',
  '--disable-gpu',
  // Half of the default frame rate: enough to see motion, and each frame costs an encoder and all decoders.
  '--use-fake-device-for-media-stream=fps=10',
  '--use-fake-ui-for-media-stream',
  '--autoplay-policy=no-user-gesture-required',
  '--allow-loopback-in-peer-connection',
  // Replaces Playwright's own list: preparing for pages that are never opened slows down each page of a test.
  '--disable-features=WebRtcHideLocalIpsWithMdns,PreloadTopChromeWebUI,SpareRendererForSitePerProcess,DestroyProfileOnBrowserClose,MediaRouter',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Parallel pages are all in use. Playwright has these flags too. */
const unthrottled = [
  '--disable-background-timer-throttling',
  '--disable-renderer-backgrounding',
  '--disable-backgrounding-occluded-windows',
];

/** Characters of a shown console message. */
const maxLine = 1_000;

/**
 * eventually() for a function or expression that is evaluated in the page. Unlike Playwright's waitForFunction it awaits promises of the
 * function, and works on pages with a strict policy.
 */
export async function eventuallyIn<Arg, Result>(
  page: ScriptedPage,
  ask: string | ((arg: Arg) => Result | Promise<Result>),
  arg?: Arg,
  timeout = 60_000,
): Promise<NonNullable<Result>> {
  // Playwright's argument types are too deep for generics.
  const check = async () => (await page.evaluate(ask as (arg: unknown) => Result, arg)) as Result;
  const what = async () => `${ask} with ${JSON.stringify(arg)}\n${await stateOfPages(page)}`;
  return eventually(what, check, { within: timeout, every: 100 });
}

export type StartedBrowser = {
  browser: Browser;
  /** A page with separate storage. */
  newPage: (url?: string, options?: BrowserContextOptions) => Promise<Page>;
};

/**
 * `args` are additional flags; `wrap` returns a program that runs Chromium elsewhere, for example in a network namespace. `shared`: the
 * tests of a file share one browser per set of flags, because a start costs a second of a core; pages are closed with the test. `whole`:
 * with the user interface, whose profile keeps the ids of devices. `throttled`: hidden pages get less time, as those of users.
 */
export type BrowserOptions = {
  args?: readonly string[];
  wrap?: (program: string) => Promise<string>;
  shared?: boolean;
  whole?: boolean;
  throttled?: boolean;
};

async function start({ args = [], wrap, whole, throttled }: BrowserOptions): Promise<Browser> {
  const program = whole ? wholeProgram : shell;
  if (!existsSync(program)) throw new Error(`${program} is missing: sudo apt-get install -y ${basename(program)}`);
  const executablePath = wrap ? await wrap(program) : program;
  const window = whole ? ['--headless=new'] : [];
  return chromium.launch({
    executablePath,
    args: [...flags, ...(throttled ? [] : unthrottled), ...window, ...args],
    ignoreDefaultArgs: throttled ? unthrottled : [],
    timeout: 90_000,
  });
}

/** Idle browsers by flags. A test takes one out while it uses it. */
const idle = new Map<string, Browser>();
/** Only in the process of a test file: a benchmark has no hook at the end of all tests. */
const hasEnd = process.env[testFileVariable] !== undefined;
if (hasEnd) after(() => Promise.all([...idle.values()].map((browser) => browser.close())));

/** Starts Chromium. */
export async function startBrowser(t: TestContext, options: BrowserOptions = {}): Promise<StartedBrowser> {
  const key = options.shared && hasEnd && !options.wrap ? JSON.stringify([options.whole, options.throttled, options.args]) : undefined;
  const kept = key === undefined ? undefined : idle.get(key);
  if (key !== undefined) idle.delete(key);
  const browser = kept?.isConnected() ? kept : await start(options);
  const said: string[] = [];
  const listen = (context: BrowserContext) => {
    findConnectionsOf(context);
    context.on('console', (message) => said.push(`[${message.type()}] ${message.text()}`));
    context.on('weberror', (error) => said.push(`[exception] ${error.error().stack ?? error.error().message}`));
  };
  browser.on('context', listen);
  t.after(async () => {
    browser.off('context', listen);
    // Node.js has had `passed` since 21.7; its types do not yet.
    const { passed } = t as { passed?: boolean };
    if (!passed) for (const line of said.slice(-50)) t.diagnostic(line.slice(0, maxLine));
    // A failed test may leave a broken browser.
    if (!passed || key === undefined || idle.has(key)) return browser.close();
    await Promise.all(browser.contexts().map((context) => context.close()));
    idle.set(key, browser);
  });
  const newPage: StartedBrowser['newPage'] = async (url, options = {}) => {
    const context = await browser.newContext(options);
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    if (url !== undefined) await page.goto(url);
    return page;
  };
  return { browser, newPage };
}

export type HideablePage = { page: Page; setHidden: (hidden: boolean) => Promise<void> };

/** Opens a page that can be hidden by minimizing its window. Playwright shows pages that it opens itself as visible. */
export async function openHideablePage(t: TestContext, url: string): Promise<HideablePage> {
  const port = await freePort();
  await startBrowser(t, { args: [`--remote-debugging-port=${port}`], throttled: true });
  const browser = await chromium.connectOverCDP(`http://127.0.0.1:${port}`, { noDefaults: true });
  const [context] = browser.contexts();
  if (!context) throw new Error('The browser has no context of its own');
  const page = await context.newPage();
  await page.goto(url);
  const session = await context.newCDPSession(page);
  const { windowId } = await session.send('Browser.getWindowForTarget');
  const setHidden = async (hidden: boolean) => {
    await session.send('Browser.setWindowBounds', { windowId, bounds: { windowState: hidden ? 'minimized' : 'normal' } });
    await eventuallyIn(page, (wanted) => document.hidden === wanted, hidden);
  };
  return { page, setHidden };
}
