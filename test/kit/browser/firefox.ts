// Firefox for tests, driven by WebDriver BiDi; closed with the test. Playwright needs commands that releases of Firefox do not have.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Page } from 'playwright-core';
import { WebSocket } from 'ws';
import { z } from 'zod';
import { eventually } from '../eventually.ts';

const program = '/usr/lib/firefox-esr/firefox-esr';
const startTimeoutMs = 240_000;
const commandTimeoutMs = 240_000;
/** Characters of the shown output. */
const maxOutput = 4_000;

/** WebRTC without mDNS names, media that play without a gesture and without devices, and no background activity. */
const preferences = {
  'media.peerconnection.ice.obfuscate_host_addresses': false,
  'media.navigator.streams.fake': true,
  'media.navigator.permission.disabled': true,
  'media.autoplay.default': 0,
  'media.autoplay.blocking_policy': 0,
  // Without an audio device, an AudioContext would not run.
  'media.cubeb.force_mock_context': true,
  // Parallel pages are all in use.
  'dom.min_background_timeout_value': 4,
  'dom.timeout.enable_budget_timer_throttling': false,
  // Codecs that it would download.
  'media.gmp-manager.updateEnabled': false,
  'media.gmp-gmpopenh264.enabled': false,
  'app.update.disabledForTesting': true,
  'browser.startup.page': 0,
  'browser.newtabpage.enabled': false,
  'app.normandy.enabled': false,
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
};

/** Address at which Firefox reaches a node: it uses that of the default route, and no loopback addresses. */
export const firefoxAddress = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

const message = z.object({
  id: z.number().optional(),
  result: z.unknown().optional(),
  error: z.string().optional(),
  message: z.string().optional(),
});
const entryAdded = z.object({ method: z.literal('log.entryAdded'), params: z.object({ level: z.string(), text: z.string().nullable() }) });
const evaluated = z.discriminatedUnion('type', [
  z.object({ type: z.literal('success'), result: z.object({ value: z.string().optional() }) }),
  z.object({ type: z.literal('exception'), exceptionDetails: z.object({ text: z.string() }) }),
]);

/** A connection of WebDriver BiDi. */
class BidiSession {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #lastId = 0;

  private constructor(socket: WebSocket, log: (line: string) => void) {
    this.#socket = socket;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)), log));
    socket.on('close', () => {
      for (const { reject } of this.#waiting.values()) reject(new Error('the connection to Firefox closed'));
    });
  }

  static async open(url: string, log: (line: string) => void): Promise<BidiSession> {
    const socket = new WebSocket(url, { perMessageDeflate: false, handshakeTimeout: commandTimeoutMs });
    await once(socket, 'open');
    const session = new BidiSession(socket, log);
    await session.send('session.new', { capabilities: {} });
    await session.send('session.subscribe', { events: ['log.entryAdded'] });
    return session;
  }

  async send(method: string, params: object): Promise<unknown> {
    const id = ++this.#lastId;
    const answer = Promise.withResolvers<unknown>();
    const timer = setTimeout(() => answer.reject(new Error(`Firefox did not respond to ${method}`)), commandTimeoutMs);
    this.#waiting.set(id, answer);
    this.#socket.send(JSON.stringify({ id, method, params }));
    try {
      return await answer.promise;
    } finally {
      clearTimeout(timer);
      this.#waiting.delete(id);
    }
  }

  #receive(received: unknown, log: (line: string) => void): void {
    const event = entryAdded.safeParse(received).data;
    if (event) log(`[${event.params.level}] ${event.params.text}`);
    const { id, result, error, message: text } = message.parse(received);
    const waiting = this.#waiting.get(id ?? 0);
    if (error === undefined) waiting?.resolve(result);
    else waiting?.reject(new Error(`${error}: ${text}`));
  }
}

/** A value as an argument of a script. */
function asArgument(value: unknown): object {
  if (value === undefined) return { type: 'undefined' };
  if (value === null) return { type: 'null' };
  if (Array.isArray(value)) return { type: 'array', value: value.map(asArgument) };
  if (typeof value === 'object') return { type: 'object', value: Object.entries(value).map(([name, each]) => [name, asArgument(each)]) };
  return { type: typeof value, value };
}

/** Evaluates like a page of Playwright; results are JSON. */
export class FirefoxPage {
  readonly #session: BidiSession;
  readonly #context: string;

  constructor(session: BidiSession, context: string) {
    this.#session = session;
    this.#context = context;
  }

  /** Playwright's argument types are too deep for generics. */
  readonly evaluate = (async (script: unknown, arg?: unknown) => {
    const call = typeof script === 'function' ? `(${script})(arg)` : script;
    const answer = await this.#session.send('script.callFunction', {
      functionDeclaration: `async (arg) => JSON.stringify(await ${call})`,
      arguments: [asArgument(arg)],
      target: { context: this.#context },
      awaitPromise: true,
      userActivation: true,
    });
    const outcome = evaluated.parse(answer);
    if (outcome.type === 'exception') throw new Error(outcome.exceptionDetails.text);
    return outcome.result.value === undefined ? undefined : JSON.parse(outcome.result.value);
  }) as Page['evaluate'];
}

export type StartedFirefox = { newPage: (url: string) => Promise<FirefoxPage> };

/** Starts Firefox. Its pages have windows, because hidden tabs draw no frames. */
export async function startFirefox(t: TestContext): Promise<StartedFirefox> {
  if (!existsSync(program)) throw new Error(`${program} is missing: sudo apt-get install -y firefox-esr`);
  const folder = mkdtempSync(join(tmpdir(), 'mediarooms-firefox-'));
  const lines = Object.entries(preferences).map(([name, value]) => `user_pref(${JSON.stringify(name)}, ${JSON.stringify(value)});`);
  writeFileSync(join(folder, 'user.js'), lines.join('\n'));
  const child = spawn(program, ['--headless', '--no-remote', '--profile', folder, '--remote-debugging-port=0'], {
    // Its files outside of the profile are deleted too.
    env: { ...process.env, HOME: folder, MOZ_CRASHREPORTER_DISABLE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const ended = once(child, 'close');
  let output = '';
  const said: string[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-maxOutput)));
  t.after(async () => {
    const { passed } = t as { passed?: boolean };
    if (!passed) for (const line of [...said.slice(-50), output]) t.diagnostic(line.slice(0, maxOutput));
    // Its group: the processes of its pages end with it.
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  });
  const address = () => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`Firefox exited with code ${child.exitCode}:\n${output}`);
    return /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(output)?.[1];
  };
  const url = await eventually(() => `Firefox listens:\n${output}`, address, { within: startTimeoutMs });
  const session = await BidiSession.open(`${url}/session`, (line) => said.push(line));
  const newPage: StartedFirefox['newPage'] = async (address) => {
    const { context } = z.object({ context: z.string() }).parse(await session.send('browsingContext.create', { type: 'window' }));
    await session.send('browsingContext.navigate', { context, url: address, wait: 'complete' });
    return new FirefoxPage(session, context);
  };
  return { newPage };
}
