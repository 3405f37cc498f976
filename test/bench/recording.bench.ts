// Recording benchmark: load of a recording of 50 tracks without packet loss, compared with a process that writes packets to files.
import { createSocket } from 'node:dgram';
import { createReadStream, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { reportSchema } from '../../api/recording-report.ts';
import { type MediaSample, opusClockRate, readH264Samples, readOpusSamples, videoClockRate } from '../../node/components/file/samples.ts';
import { apiClient } from '../kit/answers/api-client.ts';
import { makeTone, makeVideo } from '../kit/media/media-files.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { benchContext } from './bench-context.ts';
import { benchToken, childRunning, startPinned, startPinnedNode, watchProcesses } from './processes.ts';
import type { Report } from './report.ts';

/** Number of video tracks, and of audio tracks. */
const pairs = 25;
/** Milliseconds. */
const warmUp = 5_000;
const window = 20_000;
const seconds = 45;
const framerate = 30;

type Result = { cores: number; memory: number; bytesPerSecond: number };
type Recorded = Result & { lost: number; tracks: number; frames: number };

export async function benchRecording(report: Report): Promise<void> {
  const { t, end } = benchContext();
  let ours: Recorded;
  let bare: Result;
  try {
    const resources = await makeResources(t);
    const sources = join(resources, 'file_component_sources');
    const [video, audio] = [join(sources, 'video.h264'), join(sources, 'tone.ogg')];
    await Promise.all([makeVideo(video, '0x1EC81E', seconds), makeTone(audio, 440, seconds)]);
    ours = await record(t, resources);
    bare = await recordBare(t, video, audio);
  } finally {
    await end();
  }
  const row = (what: string, value: (result: Result) => number, unit: string) => ({
    what,
    value: value(ours),
    unit,
    baseline: { what: 'packets written to files', value: value(bare) },
  });
  report.print(`Recording of ${ours.tracks} tracks: ${pairs} video of 640x360 at ${framerate} frames per second, ${pairs} audio`, [
    row('CPU of the recorder', ({ cores }) => cores, 'cores'),
    row('memory of the recorder', ({ memory }) => memory / 1024 / 1024, 'MiB'),
    row('disk writes', ({ bytesPerSecond }) => bytesPerSecond / 1000, 'kB/s'),
    { what: 'frames', value: ours.frames, unit: '' },
    { what: 'packets lost', value: ours.lost, unit: '', goal: '0' },
  ]);
}

async function record(t: TestContext, resources: string): Promise<Recorded> {
  const node = await startPinnedNode({ SVC_RESOURCES_BASE_PATH: resources, SVC_COMPONENTS_USED: 'file recording' });
  t.after(node.stop);
  const api = apiClient(node.url, benchToken);
  await api.post('/room', { roomId: 'recorded' });
  const add = async (type: string, options: object = {}): Promise<string> =>
    (await api.post('/room/recorded/component', { type, options })).body.data.id;
  const recorder = await add('recording');
  for (let index = 0; index < pairs; index += 1) {
    await add('file', { filePath: 'video.h264', framerate });
    await add('file', { filePath: 'tone.ogg' });
  }
  await sleep(warmUp);
  const [id = ''] = (await api.get('/recording')).body.data as string[];
  const used = await watch(childRunning(node.pid, 'main.ts\0record'), join(resources, 'recordings', id));
  await api.delete(`/room/recorded/component/${recorder}`);
  const { tracks } = reportSchema.parse((await api.get(`/recording/${id}`)).body);
  await node.stop();
  const sum = (name: 'lostPackets' | 'frames') => tracks.reduce((total, track) => total + (track[name] ?? Number.NaN), 0);
  return { ...used, tracks: tracks.length, lost: sum('lostPackets'), frames: sum('frames') };
}

async function recordBare(t: TestContext, video: string, audio: string): Promise<Result> {
  const folder = join(await makeResources(t), 'bare');
  mkdirSync(folder, { recursive: true });
  const bare = await startPinned([join(import.meta.dirname, 'bare-recorder.mjs'), folder], /"url":"udp:\/\/127.0.0.1:([^"]+)"/);
  t.after(bare.stop);
  const sender = sendTo(Number(bare.url), [
    { samples: await all(readH264Samples(createReadStream(video), framerate)), clockRate: videoClockRate },
    { samples: await all(readOpusSamples(createReadStream(audio))), clockRate: opusClockRate },
  ]);
  t.after(sender.stop);
  await sleep(warmUp);
  return watch(bare.pid, folder);
}

async function watch(pid: number, folder: string): Promise<Result> {
  const [before, start] = [bytesIn(folder), performance.now()];
  const { cores, memory } = await watchProcesses([pid], window);
  const bytesPerSecond = ((bytesIn(folder) - before) * 1000) / (performance.now() - start);
  return { cores: cores[0] ?? Number.NaN, memory: memory[0] ?? Number.NaN, bytesPerSecond };
}

async function all(samples: AsyncIterable<MediaSample>): Promise<MediaSample[]> {
  const taken: MediaSample[] = [];
  for await (const mediaSample of samples) taken.push(mediaSample);
  return taken;
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

/** RTP of the same media at the same pace as from the node. */
function sendTo(port: number, kinds: readonly { samples: readonly MediaSample[]; clockRate: number }[]): { stop: () => void } {
  const socket = createSocket('udp4');
  const tracks = Array.from({ length: pairs }, (_, index) =>
    kinds.map((kind, number) => ({ ...kind, ssrc: index * 2 + number, sent: 0 })),
  ).flat();
  const start = performance.now();
  const timer = setInterval(() => {
    const elapsed = performance.now() - start;
    for (const track of tracks) {
      for (let next = track.samples[track.sent]; next; next = track.samples[track.sent]) {
        if ((next.timestamp * 1000) / track.clockRate > elapsed) break;
        track.sent += 1;
        for (const payload of next.payloads) socket.send([header(track.ssrc, next.timestamp), payload], port, '127.0.0.1');
      }
    }
  }, 5);
  return {
    stop: () => {
      clearInterval(timer);
      socket.close();
    },
  };
}

/** The RTP header fields (RFC 3550, section 5.1) that are used here. */
function header(ssrc: number, timestamp: number): Buffer {
  const bytes = Buffer.alloc(12);
  bytes[0] = 0x80;
  bytes.writeUInt32BE(timestamp, 4);
  bytes.writeUInt32BE(ssrc, 8);
  return bytes;
}
