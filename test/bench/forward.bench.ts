// Forwarding benchmark: CPU time of the server per forwarded packet, of a node with its worker and of a bare worker in the same run.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { build } from 'esbuild';
import type { Page } from 'playwright-core';
import { apiClient } from '../kit/answers/api-client.ts';
import { type StartedBrowser, startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { benchContext } from './bench-context.ts';
import type { Sent } from './forward-page.ts';
import { inTurn } from './node-load.ts';
import { type BenchProcess, benchToken, moveToOtherCore, startPinned, startPinnedNode } from './processes.ts';
import type { Report } from './report.ts';
import { quantile } from './statistics.ts';

const receivers = 8;
const rounds = 3;
/** Milliseconds. V8 collects the garbage of the joins up to 15 s after them. */
const warmUp = 20_000;
const window = 15_000;

const sides = ['ours', 'bare'] as const;
type Side = (typeof sides)[number];
type Pages = { browser: StartedBrowser; url: string; script: string };
type Load = { sent: () => Promise<Sent[]> };
/** Microseconds per forwarded packet, and forwarded packets per second. */
type Result = { perPacket: number; main: number; worker: number; packetRate: number; packetSize: number };

export async function benchForward(report: Report): Promise<void> {
  moveToOtherCore();
  const { t, end } = benchContext();
  let results: Record<Side, Result[]>;
  try {
    const pages = { url: await servePlainPage(t), browser: await startBrowser(t), script: await bundle() };
    results = await inTurn(sides, rounds, (side) => measure(side, pages));
  } finally {
    await end();
  }
  const median = (side: Side, name: keyof Result) =>
    quantile(
      results[side].map((each) => each[name]),
      0.5,
    );
  const row = (what: string, name: keyof Result, unit: string, goal?: string) => ({
    what,
    value: median('ours', name),
    unit,
    baseline: { what: 'a bare worker', value: median('bare', name) },
    ...(goal && { goal }),
  });
  const ratios = results.ours.map(({ perPacket }, round) => perPacket / (results.bare[round]?.perPacket ?? Number.NaN));
  report.print(`Forwarding one publisher to ${receivers} receivers, medians of ${rounds} rounds`, [
    row('CPU per forwarded packet, node and worker', 'perPacket', 'µs', '1.02x'),
    row('part of the worker', 'worker', 'µs'),
    row('part of the node process', 'main', 'µs'),
    { what: 'lowest ratio of a round', value: Math.min(...ratios), unit: 'x' },
    { what: 'highest ratio of a round', value: Math.max(...ratios), unit: 'x' },
    row('load: forwarded packets', 'packetRate', '/s'),
    row('load: size of a packet', 'packetSize', 'bytes'),
  ]);
}

async function measure(side: Side, pages: Pages): Promise<Result> {
  const server =
    side === 'ours' ? await startPinnedNode() : await startPinned([join(import.meta.dirname, 'forward-bare.ts')], /"url":"([^"]+)"/);
  const open: Page[] = [];
  try {
    for (let count = 0; count < 2; count += 1) {
      const page = await pages.browser.newPage(pages.url);
      open.push(page);
      await page.addScriptTag({ content: pages.script });
    }
    const [publisher, audience] = open as [Page, Page];
    const load = await (side === 'ours' ? loadOurs : loadBare)(server, publisher, audience);
    await sleep(warmUp);
    const sentBefore = await load.sent();
    const cpuBefore = cpuTimes(server.pid);
    await sleep(window);
    const cpuAfter = cpuTimes(server.pid);
    const sentAfter = await load.sent();
    return perPacket(cpuBefore, cpuAfter, sentBefore, sentAfter);
  } finally {
    for (const page of open) await page.context().close();
    await server.stop();
  }
}

async function loadOurs(server: BenchProcess, publisher: Page, audience: Page): Promise<Load> {
  const api = apiClient(server.url, benchToken);
  const url = `${server.url.replace('http', 'ws')}/socket/peer/websocket`;
  await api.post('/room', { roomId: 'forward' });
  const enter = async (page: Page) => {
    const { body } = await api.post('/room/forward/peer', { type: 'webrtc' });
    await page.evaluate(([address, token]) => forward.ours.join(address, token), [url, body.data.token as string] as const);
  };
  await enter(publisher);
  await publisher.evaluate(() => forward.ours.publish());
  for (let count = 0; count < receivers; count += 1) await enter(audience);
  return { sent: () => audience.evaluate(() => forward.ours.sent()) };
}

async function loadBare({ url }: BenchProcess, publisher: Page, audience: Page): Promise<Load> {
  await publisher.evaluate((address) => forward.bare.publish(address), url);
  for (let count = 0; count < receivers; count += 1) await audience.evaluate((address) => forward.bare.receive(address), url);
  await audience.evaluate((address) => forward.ask(address, 'resume'), url);
  return { sent: () => audience.evaluate((address) => forward.bare.sent(address), url) };
}

type CpuTimes = { at: number; main: number; children: number };

function perPacket(cpuBefore: CpuTimes, cpuAfter: CpuTimes, sentBefore: readonly Sent[], sentAfter: readonly Sent[]): Result {
  if (sentBefore.length !== 2 * receivers || sentAfter.length !== 2 * receivers)
    throw new Error(`${sentBefore.length}, later ${sentAfter.length} tracks are forwarded, expected ${2 * receivers}`);
  // Counters are read slightly before and after the CPU times. Their rate by the worker's clock corrects for that.
  const rate = (name: 'packets' | 'bytes') =>
    sentAfter.reduce((sum, after, index) => {
      const before = sentBefore[index] ?? after;
      return sum + (after[name] - before[name]) / (after.timestamp - before.timestamp);
    }, 0);
  const packets = rate('packets') * (cpuAfter.at - cpuBefore.at);
  const main = (cpuAfter.main - cpuBefore.main) / packets;
  const children = (cpuAfter.children - cpuBefore.children) / packets;
  return {
    perPacket: main + children,
    main,
    worker: children,
    packetRate: rate('packets') * 1_000,
    packetSize: rate('bytes') / rate('packets'),
  };
}

function cpuTimes(pid: number): CpuTimes {
  const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
  return { at: performance.now(), main: cpuTime(pid), children: pids.reduce((sum, child) => sum + cpuTime(child), 0) };
}

/** User and system time of all threads in microseconds; /proc/<pid>/stat has steps of 10 ms, too coarse for a difference of 2 %. */
function cpuTime(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`);
  const times = threads.map((thread) => Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ')[0]));
  return times.reduce((sum, time) => sum + time, 0) / 1_000;
}

async function bundle(): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(import.meta.dirname, 'forward-page.ts')],
    bundle: true,
    format: 'iife',
    target: 'es2022',
    write: false,
    logLevel: 'silent',
  });
  return outputFiles[0]?.text ?? '';
}
