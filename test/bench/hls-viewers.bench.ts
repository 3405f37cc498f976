// HLS viewer benchmark: 1,000 viewers of one stream that load each part: load of the node compared with a bare HTTP server.
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { segmentName } from '../../node/components/hls/composer/composer-messages.ts';
import { parseOptions, segmentTimings } from '../../node/components/hls/options.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { ffmpeg } from '../kit/media/ffmpeg.ts';
import { makeTone } from '../kit/media/media-files.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { benchContext } from './bench-context.ts';
import { Viewers, type ViewersOptions, type ViewersResult } from './hls-load.ts';
import { benchToken, childRunning, moveToOtherCore, startPinned, startPinnedNode, usedCpu, watchProcesses } from './processes.ts';
import type { Report, Row } from './report.ts';
import { quantile } from './statistics.ts';

const viewers = 1_000;
/** Milliseconds. */
const warmUp = 5_000;
const window = 12_000;
/** Smaller than the default, because the composer process shares a core with the load. */
const video = { width: 640, height: 360, framerate: 24 };
const options = parseOptions(video, false);
const { times, partDuration } = segmentTimings(options);
const partsPerSegment = Math.round(times.target / partDuration);

/** `cores`: in addition to the load without viewers. */
type Result = ViewersResult & { cores: number };

export async function benchHlsViewers(report: Report): Promise<void> {
  moveToOtherCore();
  const { t, end } = benchContext();
  try {
    const stream = await startStream(t);
    const sharedToken = await stream.makeToken();
    const { cores } = await watchProcesses([stream.pid], warmUp);
    const [idle = 0] = cores;
    const shared = await measure(stream.pid, { ...stream.viewing, query: () => `token=${sharedToken}` }, idle);
    const tokens: string[] = [];
    while (tokens.length < viewers) tokens.push(await stream.makeToken());
    const own = await measure(stream.pid, { ...stream.viewing, query: (viewer) => `token=${tokens[viewer]}` }, idle);
    await stream.stop();
    const sizes = [partDuration, partsPerSegment, shared.playlistBytes, shared.partBytes].map(String);
    const bare = await startPinned([join(import.meta.dirname, 'bare-hls.mjs'), ...sizes], /"url":"([^"]+)"/);
    t.after(bare.stop);
    const least = await measure(bare.pid, { url: bare.url, folder: '', query: () => '' }, 0);
    const rate = Math.round(shared.bytesPerSecond / 1e6);
    report.print(
      `${viewers} viewers of one stream on one core: parts of ${partDuration} ms and ${shared.partBytes} bytes, playlists of ${shared.playlistBytes} and ${own.playlistBytes} bytes, ${rate} MB/s`,
      [
        ...rowsOf('shared token', shared, least),
        ...rowsOf('token per viewer', own, least),
        { what: 'CPU of the node without viewers, without composer', value: idle, unit: 'cores' },
      ],
    );
  } finally {
    await end();
  }
}

function rowsOf(of: string, ours: Result, bare: Result): Row[] {
  const row = (what: string, value: (result: Result) => number, unit: string) => ({
    what: `${of}: ${what}`,
    value: value(ours),
    unit,
    baseline: { what: 'a bare server', value: value(bare) },
  });
  return [
    row('requests', ({ requestsPerSecond }) => requestsPerSecond, '/s'),
    row('CPU of the node', ({ cores }) => cores, 'cores'),
    row('CPU per request', ({ cores, requestsPerSecond }) => (cores * 1e6) / requestsPerSecond, 'µs'),
    row('availability of a part to its playlist, median', ({ delays }) => quantile(delays, 0.5), 'ms'),
    row('availability of a part to its playlist, p99', ({ delays }) => quantile(delays, 0.99), 'ms'),
    ...(ours.missed > 0 ? [{ what: `${of}: parts skipped by late viewers`, value: ours.missed, unit: '' }] : []),
  ];
}

async function measure(pid: number, viewing: Omit<ViewersOptions, 'count'>, idle: number): Promise<Result> {
  const all = new Viewers({ ...viewing, count: viewers });
  try {
    await all.start();
    await sleep(warmUp);
    const [before, start] = [usedCpu(pid), performance.now()];
    const result = await all.measure(window);
    return { ...result, cores: (usedCpu(pid) - before) / (performance.now() - start) - idle };
  } finally {
    all.stop();
  }
}

/** A room that streams video and a tone, on a node with one core. */
async function startStream(t: TestContext) {
  const resources = await makeResources(t);
  const sources = join(resources, 'file_component_sources');
  mkdirSync(sources, { recursive: true });
  const seconds = 120;
  await Promise.all([makeVideo(join(sources, 'video.h264'), seconds), makeTone(join(sources, 'tone.ogg'), 440, seconds)]);
  const node = await startPinnedNode({ SVC_RESOURCES_BASE_PATH: resources, SVC_COMPONENTS_USED: 'file hls' });
  t.after(node.stop);
  const api = apiClient(node.url, benchToken);
  await api.post('/room', { roomId: 'watched' });
  const add = (type: string, options: object) => api.post('/room/watched/component', { type, options });
  await add('file', { filePath: 'video.h264', framerate: video.framerate });
  await add('file', { filePath: 'tone.ogg' });
  await add('hls', video);
  moveToOtherCore(childRunning(node.pid, 'main.ts\0compose'));
  const makeToken = async (): Promise<string> => (await api.post('/hls/watched/token')).body.data.token;
  // The response arrives when the first segment exists.
  await fetch(`${node.url}/hls/watched/stream.m3u8?token=${await makeToken()}`);
  const streams = join(resources, 'hls');
  const folder = join(streams, readdirSync(streams)[0] ?? '');
  // Parts are written in order: a segment file changed last when its last part was written.
  const availableAt = (segment: number) => statSync(join(folder, segmentName(segment))).mtimeMs;
  return { pid: node.pid, stop: node.stop, makeToken, viewing: { url: node.url, folder: '/hls/watched', availableAt } };
}

/** Moving video with camera noise. */
async function makeVideo(path: string, seconds: number): Promise<void> {
  const source = `testsrc2=s=${video.width}x${video.height}:r=${video.framerate},noise=alls=6:allf=t`;
  const codec = ['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p', '-b:v', '1M', '-g', '48'];
  await ffmpeg(['-f', 'lavfi', '-i', source, ...codec, '-t', String(seconds), '-f', 'h264', path], 120_000);
}
