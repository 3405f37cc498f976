// Console benchmark: the room list in Chromium with 500 rooms and 5,000 peers on a real node: load time, frame rate, memory and requests.
import type { Browser, CDPSession, Page } from 'playwright-core';
import { launch, logIn, openConsole, seeText } from '../browser/console-kit.ts';
import { type ApiClient, apiClient } from '../kit/answers/api-client.ts';
import { PeerSocket } from '../kit/network/peer-socket.ts';
import { startNodeProcess } from '../kit/processes/node-process.ts';
import { apiToken } from '../kit/processes/start-node.ts';
import { benchContext } from './bench-context.ts';
import type { Report } from './report.ts';
import { quantile } from './statistics.ts';

const rooms = 500;
const peersPerRoom = 10;
const churnFor = 5 * 60_000;
/** Peers and rooms that join and leave per second of churn; each is two events. */
const churn = { peers: 20, rooms: 1 };
const scrollFor = 5_000;
const viewport = { width: 1440, height: 900 };

export async function benchConsole(report: Report): Promise<void> {
  const { t, end } = benchContext();
  try {
    const node = await startNodeProcess(t, { SVC_LOG_LEVEL: 'info' });
    const api = apiClient(node.url, apiToken);
    await fill(api);
    const sockets = await connectOnes(node.url, api);
    t.after(() => {
      for (const socket of sockets) socket.webSocket.terminate();
    });
    const browser = await launch(t);
    const bare = await scroll(await bareRows(browser));
    const { page } = await openConsole(browser, node.url, { viewport });
    const cdp = await page.context().newCDPSession(page);
    await cdp.send('Performance.enable');
    const started = performance.now();
    await logIn(page, apiToken);
    await seeText(page, 'facts', `${rooms} rooms · ${rooms} people`);
    const shown = performance.now() - started;
    const still = await scroll(page);
    const before = await measure(cdp);
    let questions = 0;
    page.on('request', () => (questions += 1));
    const churning = churnRooms(api);
    await page.waitForTimeout(3_000);
    const busy = await scroll(page);
    const heaps = [];
    for (const from = Date.now(); Date.now() < from + churnFor; heaps.push((await measure(cdp)).heap)) await page.waitForTimeout(15_000);
    const events = await churning.stop();
    const after = await measure(cdp);
    const baseline = { what: 'a static page with as many lines', value: bare.rate };
    report.print(`Console room list with ${rooms} rooms and ${rooms * peersPerRoom} peers in Chromium`, [
      { what: 'time from login to all rooms shown', value: shown, unit: 'ms' },
      { what: 'frames per second while scrolling', value: still.rate, unit: '', baseline, goal: '60' },
      { what: 'frames per second while scrolling during churn', value: busy.rate, unit: '', baseline, goal: '60' },
      { what: 'frame time p99 while scrolling', value: still.slow, unit: 'ms' },
      { what: 'frame time p99 while scrolling during churn', value: busy.slow, unit: 'ms' },
      { what: 'heap of the page before churn', value: before.heap / 1e6, unit: 'MB' },
      { what: 'heap in the first minute of churn', value: mean(heaps.slice(0, 4)) / 1e6, unit: 'MB' },
      { what: `heap in the last of ${churnFor / 60_000} minutes of churn`, value: mean(heaps.slice(-4)) / 1e6, unit: 'MB', goal: 'flat' },
      { what: 'heap after churn', value: after.heap / 1e6, unit: 'MB' },
      { what: 'highest heap during churn', value: Math.max(...heaps) / 1e6, unit: 'MB' },
      { what: 'DOM nodes before churn', value: before.nodes, unit: '' },
      { what: 'DOM nodes after churn', value: after.nodes, unit: '' },
      { what: 'events during churn', value: events, unit: '' },
      { what: 'requests of the page during churn', value: questions, unit: '' },
    ]);
  } finally {
    await end();
  }
}

const name = (room: number): string => `room-${room}`;

async function fill(api: ApiClient): Promise<void> {
  for (let room = 0; room < rooms; room += 1) {
    await api.post('/room', { roomId: name(room), maxPeers: 100, videoCodec: room % 2 ? 'h264' : null });
    const peers = Array.from({ length: peersPerRoom - 1 }, (_, index) =>
      api.post(`/room/${name(room)}/peer`, { type: 'webrtc', metadata: { name: `Person ${room}.${index}`, more: 'x'.repeat(200) } }),
    );
    await Promise.all(peers);
  }
}

/** Connects one peer of each room. */
async function connectOnes(url: string, api: ApiClient): Promise<PeerSocket[]> {
  const sockets: PeerSocket[] = [];
  for (let room = 0; room < rooms; room += 1) {
    const { body } = await api.post(`/room/${name(room)}/peer`, { type: 'webrtc', metadata: { name: `Host of ${room}` } });
    sockets.push(await PeerSocket.enter(`${url.replace(/^http/, 'ws')}/socket/peer/websocket`, body.data.token));
  }
  return sockets;
}

/** Adds and removes peers and rooms until it is stopped, and returns the number of events. */
function churnRooms(api: ApiClient): { stop: () => Promise<number> } {
  let stopped = false;
  let events = 0;
  const run = async () => {
    for (let round = 0; !stopped; round += 1) {
      const next = performance.now() + 1_000;
      const peers = Array.from({ length: churn.peers }, async (_, index) => {
        const path = `/room/${name((round * churn.peers + index) % rooms)}/peer`;
        const { body } = await api.post(path, { type: 'webrtc', metadata: { name: `Guest ${round}` } });
        await api.delete(`${path}/${body.data.peer.id}`);
      });
      const made = Array.from({ length: churn.rooms }, async (_, index) => {
        const { body } = await api.post('/room', { roomId: `passing-${round}-${index}` });
        await api.delete(`/room/${body.data.room.id}`);
      });
      await Promise.all([...peers, ...made]);
      events += 2 * (churn.peers + churn.rooms);
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, next - performance.now())));
    }
  };
  const done = run();
  return {
    stop: async () => {
      stopped = true;
      await done;
      return events;
    },
  };
}

/** Baseline: scrolling of plain text in this browser on this machine, because the CPU draws the page without a graphics card. */
async function bareRows(browser: Browser): Promise<Page> {
  const page = await (await browser.newContext({ viewport })).newPage();
  const lines = Array.from({ length: rooms }, (_, room) => `<p>${name(room)} Host of ${room}, and ${peersPerRoom - 1} others</p>`);
  await page.setContent(`<!doctype html><style>p { margin: 0; line-height: 47px }</style>${lines.join('')}`);
  return page;
}

/** Scrolls down and up again, by a step in every frame. */
async function scroll(page: Page): Promise<{ rate: number; slow: number }> {
  const frames = await page.evaluate<number[]>(`new Promise((resolve) => {
    const frames = [];
    const began = performance.now();
    let last = began, step = 30;
    const draw = (now) => {
      frames.push(now - last);
      last = now;
      if (now - began > ${scrollFor}) return resolve(frames.slice(2));
      const { scrollHeight, clientHeight, scrollTop } = document.documentElement;
      if (scrollTop + clientHeight >= scrollHeight - 1) step = -30;
      if (scrollTop <= 0) step = 30;
      window.scrollBy(0, step);
      requestAnimationFrame(draw);
    };
    requestAnimationFrame(draw);
  })`);
  return { rate: 1_000 / mean(frames), slow: quantile(frames, 0.99) };
}

const mean = (values: readonly number[]): number => values.reduce((sum, each) => sum + each, 0) / values.length;

async function measure(cdp: CDPSession): Promise<{ heap: number; nodes: number }> {
  await cdp.send('HeapProfiler.collectGarbage');
  const { metrics } = await cdp.send('Performance.getMetrics');
  const of = (wanted: string) => metrics.find((metric) => metric.name === wanted)?.value ?? Number.NaN;
  return { heap: of('JSHeapUsedSize'), nodes: of('Nodes') };
}
