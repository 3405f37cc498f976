// WHEP benchmark: what players of WHEP cost a node next to receivers with our client, and the delay of a picture in a browser, in one run.
import type { Page } from 'playwright-core';
import { ensureLoad } from '../../tools/livekit/build.mjs';
import { apiClient } from '../kit/answers/api-client.ts';
import { startBrowser } from '../kit/browser/browser.ts';
import { servePlainPage } from '../kit/browser/plain-page.ts';
import { benchContext } from './bench-context.ts';
import { inTurn, measureNode } from './node-load.ts';
import { benchToken, moveToOtherCore, startPinnedNode } from './processes.ts';
import type { BenchOptions, Report, Row } from './report.ts';
import { quantile } from './statistics.ts';

const receivers = 50;
const rounds = 3;
/** Milliseconds. */
const watchTime = 6_000;
const warmUp = 4_000;

const sides = ['whep', 'client'] as const;
type Side = (typeof sides)[number];
/** What the load generator prints, as far as it is reported. */
type Cost = { server_us_per_packet: number; out_pps: number; delay_p50_ms: number; delay_p99_ms: number; lost: number };
type Delays = { median: number; p95: number };

export async function benchWhep(report: Report, { quick }: BenchOptions): Promise<void> {
  moveToOtherCore();
  const load = await ensureLoad();
  const size = quick ? ['-receivers', '3', '-warm-up', '1s', '-duration', '2s'] : ['-receivers', String(receivers)];
  const flagsOf = (side: Side) => ['media', ...size, ...(side === 'whep' ? ['-whep'] : [])];
  const costs = await inTurn(sides, quick ? 1 : rounds, (side) => measureNode<Cost>(load, flagsOf(side)));
  report.print(`One publisher with ${receivers} players of WHEP, and with as many receivers with our client, medians of ${rounds} rounds`, [
    row(costs, 'CPU of the node per forwarded packet', ({ server_us_per_packet }) => server_us_per_packet, 'µs', '1.1x'),
    row(costs, 'delay of a packet, median', ({ delay_p50_ms }) => delay_p50_ms, 'ms'),
    row(costs, 'delay of a packet, p99', ({ delay_p99_ms }) => delay_p99_ms, 'ms'),
    row(costs, 'packets lost', ({ lost }) => lost, ''),
    row(costs, 'load: forwarded packets', ({ out_pps }) => out_pps, '/s'),
  ]);
  const delays = await watch(quick);
  report.print('Picture of 640x360 at 30 frames per second, played with WHEP and with our client in Chromium on the same computer', [
    row(delays, 'capture to display, median', ({ median }) => median, 'ms', '250 ms'),
    row(delays, 'capture to display, p95', ({ p95 }) => p95, 'ms'),
  ]);
}

function row<Result>(
  results: Record<Side, readonly Result[]>,
  what: string,
  value: (result: Result) => number,
  unit: string,
  goal?: string,
): Row {
  const baseline = { what: 'our client', value: results.client.map(value) };
  return { what, value: results.whep.map(value), unit, baseline, ...(goal !== undefined && { goal }) };
}

async function watch(quick: boolean): Promise<Record<Side, Delays[]>> {
  const { t, end } = benchContext();
  try {
    const url = await servePlainPage(t);
    const node = await startPinnedNode({ SVC_CORS_ORIGINS: '*' });
    t.after(() => node.stop());
    const browser = await startBrowser(t);
    const api = apiClient(node.url, benchToken);
    await api.post('/room', { roomId: 'watched' });
    const newPage = async () => {
      const { token } = (await api.post('/room/watched/peer', { type: 'webrtc' })).body.data;
      return { page: await browser.newPage(url), token: String(token) };
    };
    const publisher = await newPage();
    await publish(publisher.page, node.url, publisher.token);
    return await inTurn(sides, quick ? 1 : rounds, async (side) => {
      const { page, token } = await newPage();
      try {
        const delays = await (side === 'whep' ? playWithWhep : playWithClient)(page, node.url, token);
        return { median: quantile(delays, 0.5), p95: quantile(delays, 0.95) };
      } finally {
        await page.context().close();
      }
    });
  } finally {
    await end();
  }
}

const socketOf = (nodeUrl: string) => `${nodeUrl.replace('http', 'ws')}/socket/peer/websocket`;

/** A picture with the time in it, over our client without simulcast. */
async function publish(page: Page, nodeUrl: string, token: string): Promise<void> {
  await page.evaluate(
    async ([url, bearer]) => {
      const room = new kit.RoomClient({ url, token: bearer, fallbackUrls: [] });
      await room.join();
      const canvas = Object.assign(document.createElement('canvas'), { width: 640, height: 360 });
      const context = canvas.getContext('2d') as CanvasRenderingContext2D;
      setInterval(() => kit.drawCode(context, canvas.width, canvas.height, Date.now()), 1_000 / 30);
      await room.publish(canvas.captureStream(30).getVideoTracks()[0] as MediaStreamTrack, { simulcast: false });
      await room.publish(kit.tone(440));
    },
    [socketOf(nodeUrl), token] as const,
  );
}

function playWithWhep(page: Page, nodeUrl: string, token: string): Promise<number[]> {
  return page.evaluate(
    async ([url, bearer, settle, time]) => {
      const connection = new RTCPeerConnection();
      const video = Object.assign(document.createElement('video'), { muted: true, autoplay: true, srcObject: new MediaStream() });
      connection.ontrack = ({ track }) => video.srcObject.addTrack(track);
      document.body.append(video);
      for (const kind of ['audio', 'video']) connection.addTransceiver(kind, { direction: 'recvonly' });
      await new kit.WHEPClient().view(connection, url, bearer);
      await new Promise((resolve) => setTimeout(resolve, settle));
      return kit.frameDelays(video, time);
    },
    [`${nodeUrl}/whep/watched`, token, warmUp, watchTime] as const,
  );
}

function playWithClient(page: Page, nodeUrl: string, token: string): Promise<number[]> {
  return page.evaluate(
    async ([url, bearer, settle, time]) => {
      const shown = new kit.TestRoom({ url, token: bearer, fallbackUrls: [] });
      await shown.room.join();
      await new Promise((resolve) => setTimeout(resolve, settle));
      const video = [...shown.elements.values()].find((element) => element instanceof HTMLVideoElement);
      if (!video) throw new Error('no video arrived');
      return kit.frameDelays(video, time);
    },
    [socketOf(nodeUrl), token, warmUp, watchTime] as const,
  );
}
