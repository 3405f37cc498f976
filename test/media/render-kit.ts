// Helpers for tests of rendering: synthetic recordings, the command, and the content of the output.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import type { Report, ReportTrack } from '../../api/recording-report.ts';
import type { RenderView } from '../../api/render.ts';
import { render } from '../../node/components/render/render-runner.ts';
import type { ApiClient } from '../kit/answers/api-client.ts';
import { eventually } from '../kit/eventually.ts';
import { framesAt, packetTimes } from '../kit/media/composed-stream.ts';
import { ffmpeg } from '../kit/media/ffmpeg.ts';
import { assertNear, probeAll, samplesOf } from '../kit/media/recorded-file.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { silentLog } from '../kit/silent-log.ts';

export const root = join(import.meta.dirname, '../..');
export const colours = { red: [200, 30, 30], green: [30, 180, 30], blue: [30, 30, 200], black: [0, 0, 0] } as const;
export type Colour = keyof typeof colours;
export const hex = (name: Colour) => `0x${colours[name].map((value) => value.toString(16).padStart(2, '0')).join('')}`;

/** Renders small frames. @returns the file, its reported duration, and the messages about omitted tracks */
export async function rendered(t: TestContext, folder: string, layout: 'grid' | 'speaker' | 'single' = 'grid') {
  const output = join(await makeResources(t), 'rendered.mp4');
  const problems: string[] = [];
  const duration = await render({
    folder,
    output,
    layout,
    width: 640,
    height: 360,
    framerate: 24,
    log: silentLog(),
    signal: t.signal,
    onProgress: () => {},
    onProblem: (message) => problems.push(message),
  });
  return { path: output, duration, problems };
}

/** Frames by time, and the audio, of a file whose tracks must be complete and without gaps. */
export async function watch(path: string, duration: number) {
  const [video, audio] = (await probeAll(path)).streams;
  assert.deepEqual([video?.codec_name, audio?.codec_name, audio?.sample_rate, audio?.channels], ['h264', 'aac', '48000', 2]);
  const bytes = await readFile(path);
  assert.ok(bytes.indexOf('moov') < bytes.indexOf('mdat'), 'the index is at the start of the file');
  const [frames, times, samples] = await Promise.all([framesAt(path), packetTimes(path, 'v'), samplesOf(path)]);
  assert.equal(frames.length, times.length);
  for (const [index, { time }] of times.entries()) assertNear(time, (index * 1000) / 24, 0.1, `frame ${index}`);
  const blocks = await packetTimes(path, 'a');
  const [first] = blocks;
  for (const [index, { time }] of blocks.entries()) assertNear(time, (first?.time ?? 0) + index * (1024 / 48), 0.1, `audio ${index}`);
  assertNear((times.length * 1000) / 24, duration, 1, 'the video');
  assertNear(samples.length / 48, duration, 50, 'the audio');
  const at = (time: number) => frames[Math.floor((time * 24) / 1000)];
  return { at, times, frames, heard: (from: number, to: number) => samples.subarray(from * 48, to * 48) };
}

export async function renderState(api: ApiClient, id: string): Promise<RenderView> {
  return (await api.get(`/recording/${id}/render`)).body.data;
}

/** The final state of a rendering. */
export async function renderOver(api: ApiClient, id: string): Promise<RenderView> {
  let seen: RenderView | undefined;
  await eventually(
    'rendering has ended',
    async () => {
      seen = await renderState(api, id);
      return !['queued', 'running'].includes(seen.state);
    },
    { within: 90_000 },
  );
  assert.ok(seen);
  return seen;
}

/** Runs the command. @returns its output and exit status */
export async function command(args: readonly string[], more: { cwd?: string; before?: readonly string[]; script?: string } = {}) {
  const { cwd = root, before = [], script = join(root, 'node/render.ts') } = more;
  const child = spawn(process.execPath, [...before, script, ...args], { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const output: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => output.push(line));
  const [code] = await once(child, 'close');
  return { code, lines, output };
}

/** Creates a synthetic recording from files and report entries. */
export async function makeRecording(
  t: TestContext,
  tracks: readonly Partial<ReportTrack>[],
  change: Partial<Record<keyof Report, unknown>> = {},
) {
  const resources = await makeResources(t);
  const folder = join(resources, 'recordings', 'x-20260101T000000000Z');
  await mkdir(folder, { recursive: true });
  const report = {
    id: 'x-20260101T000000000Z',
    roomId: 'x',
    node: 'n',
    state: 'finished',
    startTime: '2026-01-01T00:00:00.000Z',
    endTime: null,
    tracks: tracks.map((track, index) => ({
      trackId: `t${index}`,
      type: 'video',
      encoding: 'vp8',
      origin: { peerId: `p${index}` },
      metadata: null,
      offset: 0,
      ...track,
    })),
    ...change,
  };
  await writeFile(join(folder, 'report.json'), JSON.stringify(report));
  return { resources, folder };
}

const encoders = {
  vp8: ['-c:v', 'libvpx', '-deadline', 'realtime', '-cpu-used', '8', '-g', '15'],
  h264: ['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'ultrafast', '-pix_fmt', 'yuv420p'],
  opus: ['-c:a', 'libopus'],
} as const;

export async function encode(path: string, codec: keyof typeof encoders, source: string, more: readonly string[] = []): Promise<void> {
  await ffmpeg(['-y', '-f', 'lavfi', '-i', source, ...encoders[codec], ...more, path]);
}

export const plainVideo = (colour: Colour, size: string, seconds: number) => `color=c=${hex(colour)}:s=${size}:r=30:d=${seconds}`;
