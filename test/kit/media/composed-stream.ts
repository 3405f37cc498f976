// Composer process without its component, and the content of its stream according to ffmpeg.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { z } from 'zod';
import { silentLog } from '../../../node/common/log.ts';
import {
  type ComposedTrack as Announced,
  type ComposedEncoding,
  type ComposerStart,
  segmentName,
} from '../../../node/components/hls/composer/composer-messages.ts';
import { type ComposerCommand, composerReportSchema } from '../../../node/components/hls/hls-process.ts';
import { ComponentProcess } from '../../../node/components/process/component-process.ts';
import type { RoomMedia } from '../../../node/rooms/interfaces.ts';
import { makeResources } from '../processes/resources-folder.ts';
import { allFrames } from './recorded-file.ts';
import { ofMost } from './tones.ts';

const run = promisify(execFile);
const limits = { timeout: 60_000, maxBuffer: 1024 * 1024 * 1024 } as const;

type Report = z.infer<typeof composerReportSchema>;
type Start = ComposerStart;
/** A composed track; `name` is that of its source. */
export type ComposedTrack = { id: string; encoding: ComposedEncoding; source: string; name?: string };

/** A composer of 640x360 at 24 frames per second by default. Closed by the test or by close(). */
export async function startComposer(t: TestContext, options: Partial<Start> = {}, room?: RoomMedia) {
  const folder = options.folder ?? (await makeResources(t));
  const reports: Report[] = [];
  const waiting: (() => void)[] = [];
  const exits: string[] = [];
  const tell = () => {
    for (const check of [...waiting]) check();
  };
  const process = new ComponentProcess<ComposerCommand, Report>({
    log: silentLog(),
    role: 'compose',
    writes: [folder],
    reportSchema: composerReportSchema,
    onReport: (report) => {
      reports.push(report);
      tell();
    },
    onExit: (reason) => {
      exits.push(reason);
      tell();
    },
  });
  t.after(() => process.end(5000));
  const heard = async <Type extends Report['type']>(type: Type, holds: (report: Extract<Report, { type: Type }>) => boolean) => {
    const { promise, resolve, reject } = Promise.withResolvers<Extract<Report, { type: Type }>>();
    const timer = setTimeout(() => reject(new Error(`No report ${type} arrived: ${JSON.stringify(reports.slice(-3))}`)), 60_000);
    const check = () => {
      const found = reports.find((report): report is Extract<Report, { type: Type }> => report.type === type && holds(report as never));
      if (found) resolve(found);
      else if (exits.length > 0) reject(new Error(`It ended: ${exits[0]}`));
    };
    waiting.push(check);
    check();
    return promise.finally(() => {
      clearTimeout(timer);
      waiting.splice(waiting.indexOf(check), 1);
    });
  };
  process.send({
    type: 'start',
    folder,
    init: 'init-0.mp4',
    firstSegment: 0,
    width: 640,
    height: 360,
    framerate: 24,
    layout: 'grid',
    names: false,
    videoBitrate: 1_500_000,
    audioBitrate: 128_000,
    segmentDuration: 2000,
    partDuration: 500,
    maxPixels: 40_000_000,
    careful: false,
    ...options,
  });
  const [{ port }, { codecs }] = await Promise.all([heard('listening', () => true), heard('ready', () => true)]);
  const output = room?.openOutput();
  if (output) process.send({ type: 'connect', ...(await output.connect({ ip: '127.0.0.1', port })) });
  let entries = 0;
  /** Announces RTP of an external source. */
  const announce = async (track: Omit<Announced, 'type' | 'entry'>) => {
    entries += 1;
    const entry = entries;
    process.send({ type: 'add', entry, ...track });
    await heard('added', (report) => report.entry === entry);
    return entry;
  };
  return {
    folder,
    codecs,
    port,
    reports,
    exits,
    heard,
    announce,
    pid: () => process.pid ?? assert.fail('no process runs'),
    parts: () => reports.filter((report) => report.type === 'part'),
    /** Composes a track of the room. @returns its number */
    add: async ({ id, encoding, source, name }: ComposedTrack) => {
      assert.ok(output);
      const { ssrc, clockRate, channels } = await output.subscribe(id);
      const entry = await announce({ ssrc, encoding, clockRate, channels, source, name: name ?? null });
      await output.resume(id);
      return entry;
    },
    remove: (entry: number, trackId?: string) => {
      if (trackId !== undefined) output?.unsubscribe(trackId);
      process.send({ type: 'remove', entry });
    },
    /** Resolves after `parts` more complete parts. */
    after: async (parts: number) => {
      const wanted = reports.filter(({ type }) => type === 'part').length + parts;
      await heard('part', () => reports.filter(({ type }) => type === 'part').length >= wanted);
    },
    /** Closes the composer. @returns the whole stream as one file */
    close: async () => {
      process.send({ type: 'close' });
      await heard('closed', () => true);
      await process.end(5000);
      return wholeStream(folder, options.init);
    },
  };
}

/** Concatenates init segment and all segments. */
export async function wholeStream(folder: string, init = 'init-0.mp4'): Promise<string> {
  const numbers = (await readdir(folder)).flatMap((name) => /^segment-(\d+)\.m4s$/.exec(name)?.[1] ?? []).map(Number);
  const files = [init, ...numbers.sort((a, b) => a - b).map((number) => segmentName(number))];
  const path = join(folder, 'whole.mp4');
  await writeFile(path, Buffer.concat(await Promise.all(files.map((name) => readFile(join(folder, name))))));
  return path;
}

/** The two tracks according to ffprobe. */
export async function probeStreams(path: string) {
  const { stdout, stderr } = await run('ffprobe', ['-v', 'error', '-show_streams', '-of', 'json', path], limits);
  assert.equal(stderr, '');
  const { streams } = JSON.parse(stdout) as { streams: Record<string, string | number>[] };
  return streams;
}

/** Start of each packet in milliseconds, and whether it is a key frame. */
export async function packetTimes(path: string, track: 'v' | 'a'): Promise<{ time: number; key: boolean }[]> {
  const entries = ['-select_streams', `${track}:0`, '-show_entries', 'packet=pts_time,flags', '-of', 'csv=p=0'];
  const { stdout } = await run('ffprobe', ['-v', 'error', ...entries, path], limits);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => {
      const [time, flags] = line.split(',');
      return { time: Number(time) * 1000, key: flags?.startsWith('K') ?? false };
    });
}

export type FrameProbe = { at: (x: number, y: number) => number[] };

const small = { width: 160, height: 90 } as const;

/** Frames with access to the color (red, green, blue) at relative positions. @throws Error if a decoder reports an error */
export async function framesAt(path: string): Promise<FrameProbe[]> {
  const scale = `scale=${small.width}:${small.height}:flags=area`;
  const args = ['-v', 'error', '-nostdin', '-i', path, '-vf', scale, ...allFrames];
  const { stdout, stderr } = await run('ffmpeg', args, { ...limits, encoding: 'buffer' });
  assert.equal(stderr.toString(), '');
  const size = small.width * small.height * 3;
  return Array.from({ length: stdout.length / size }, (_, frame) => ({
    at: (x, y) => {
      const start = frame * size + (Math.floor(y * small.height) * small.width + Math.floor(x * small.width)) * 3;
      return [...stdout.subarray(start, start + 3)];
    },
  }));
}

/** Mono samples at 48 kHz. @throws Error if a decoder reports an error */
export async function samples(path: string): Promise<Float32Array> {
  const args = ['-v', 'error', '-nostdin', '-i', path, '-ac', '1', '-ar', '48000', '-f', 'f32le', '-'];
  const { stdout, stderr } = await run('ffmpeg', args, { ...limits, encoding: 'buffer' });
  assert.equal(stderr.toString(), '');
  return new Float32Array(Uint8Array.from(stdout).buffer);
}

/** Share of a frequency in the audio: 1 for a pure tone. */
export function ratioOf(sound: Float32Array, frequency: number): number {
  let [re, im, energy] = [0, 0, 0];
  for (const [index, value] of sound.entries()) {
    const angle = (2 * Math.PI * frequency * index) / 48_000;
    re += value * Math.cos(angle);
    im += value * Math.sin(angle);
    energy += value * value;
  }
  return (2 * (re * re + im * im)) / (sound.length * energy);
}

/** Median share of a frequency in the audio. */
export function steadyShare(sound: Float32Array, frequency: number): number {
  return ofMost(sound, 48_000, (piece) => ratioOf(piece, frequency));
}
