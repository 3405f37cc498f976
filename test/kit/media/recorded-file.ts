// Content of a media file according to ffprobe and ffmpeg: streams, duration, color of frames, pitch. Decoder errors fail the test.
import assert from 'node:assert/strict';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { runCommand } from '../processes/command.ts';
import { ffmpeg } from './ffmpeg.ts';

/** Bytes of recordings in a resources folder: about 12 KB a second for `tone.ogg`, about 18 KB for `green.h264`. */
export async function recordedBytes(resources: string, extension: '.webm' | '.mkv'): Promise<number> {
  const folder = join(resources, 'recordings');
  const files = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(extension));
  const sizes = await Promise.all(files.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** `duration` in seconds, from the container; undefined if it has none. */
export type Probed = { codec: string; format: string; duration: number | undefined; width?: number; height?: number };

type ProbedStream = { codec_name: string; width?: number; height?: number; r_frame_rate: string } & Record<string, string | number>;

/** Streams and container of a file according to ffprobe. @throws Error if it reports an error */
export async function probeAll(path: string): Promise<{ streams: ProbedStream[]; format: { format_name: string; duration?: string } }> {
  const { stdout, stderr } = await runCommand(['ffprobe', '-v', 'error', '-show_streams', '-show_format', '-of', 'json', path]);
  assert.equal(stderr, '');
  return JSON.parse(stdout);
}

/** Fields of each packet of a file as CSV, for example `pts_time`. */
export async function packetFields(path: string, fields: string, ...selection: string[]): Promise<string[]> {
  const entries = [...selection, '-show_entries', `packet=${fields}`, '-of', 'csv=p=0'];
  const { stdout } = await runCommand(['ffprobe', '-v', 'error', ...entries, path]);
  return stdout.split('\n').filter(Boolean);
}

/** The only stream of a file. */
export async function probe(path: string): Promise<Probed> {
  const { streams, format } = await probeAll(path);
  assert.equal(streams.length, 1);
  const [{ codec_name: codec, width, height } = assert.fail()] = streams;
  return {
    codec,
    format: format.format_name,
    duration: format.duration === undefined ? undefined : Number(format.duration),
    width,
    height,
  };
}

/** Times of all frames in milliseconds. */
export async function frameTimes(path: string): Promise<number[]> {
  return (await packetFields(path, 'pts_time')).map((line) => Math.round(Number.parseFloat(line) * 1000));
}

/** Options for RGB output with file timestamps, because two unevenly spaced frames may be closer than the frame interval. */
export const allFrames = ['-vsync', 'passthrough', '-enc_time_base', '-1', '-pix_fmt', 'rgb24', '-f', 'rawvideo', '-'];

/** Most frequent color of each frame: red, green, blue. */
export async function colors(path: string): Promise<number[][]> {
  const pixels = await decode(path, ['-vf', 'scale=9:1:flags=area', ...allFrames]);
  return Array.from({ length: pixels.length / 27 }, (_, frame) =>
    [0, 1, 2].map((channel) => {
      const column = Array.from({ length: 9 }, (__, index) => pixels[frame * 27 + index * 3 + channel] ?? 0).sort((a, b) => a - b);
      return column[4] ?? 0;
    }),
  );
}

/** Milliseconds at which audio becomes loud after silence. */
export async function toneTimes(path: string): Promise<number[]> {
  const samples = await samplesOf(path);
  const window = 240;
  const found: number[] = [];
  let loud = false;
  for (let at = 0; at + window <= samples.length; at += window) {
    const peak = samples.subarray(at, at + window).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
    if (peak > 0.2 && !loud) found.push((at * 1000) / 48_000);
    // A beep may fade in: it is loud from 0.2 until it falls below 0.05.
    loud = peak > (loud ? 0.05 : 0.2);
  }
  return found;
}

/** Seconds of audio, and its pitch in hertz from zero crossings. */
export async function audioSamples(path: string): Promise<{ seconds: number; frequency: number }> {
  const samples = await samplesOf(path);
  let crossings = 0;
  for (let index = 1; index < samples.length; index += 1) if ((samples[index] ?? 0) >= 0 !== (samples[index - 1] ?? 0) >= 0) crossings += 1;
  const seconds = samples.length / 48_000;
  return { seconds, frequency: crossings / 2 / seconds };
}

/** Mono samples at 48 kHz. */
export async function samplesOf(path: string): Promise<Float32Array> {
  const bytes = await decode(path, ['-ac', '1', '-ar', '48000', '-f', 'f32le', '-']);
  return new Float32Array(bytes.buffer, bytes.byteOffset, Math.floor(bytes.length / 4));
}

/** Raw output of ffmpeg. @throws Error if a decoder reports an error */
export async function decode(path: string, args: readonly string[]): Promise<Buffer> {
  const { bytes, stderr } = await ffmpeg(['-i', path, ...args]);
  assert.equal(stderr, '');
  return bytes;
}

/** Milliseconds of a recording that kill -9 may lose, on an idle machine. */
export const promisedLoss = 1_000;

export function assertNear(actual: number | undefined, expected: number, within: number, what: string): void {
  assert.ok(actual !== undefined && Math.abs(actual - expected) <= within, `${what}: ${actual} instead of ${expected} (± ${within})`);
}

export function assertColor(actual: readonly number[] | undefined, expected: readonly number[]): void {
  const near = expected.every((value, index) => Math.abs(value - (actual?.[index] ?? -1000)) <= 12);
  assert.ok(near, `the color is ${String(actual)} instead of ${String(expected)}`);
}
