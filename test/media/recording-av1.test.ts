// Recorded AV1, verified by ffmpeg: every frame decodes, and the file header equals the one that ffmpeg writes.
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { TrackRecorder } from '../../node/components/recording/track-recorder.ts';
import { parseRtp } from '../../node/components/rtp/rtp-reader.ts';
import { ffmpeg } from '../kit/media/ffmpeg.ts';
import { assertColor, colors, frameTimes, probe } from '../kit/media/recorded-file.ts';
import { av1Packets } from '../kit/media/rtp-packets.ts';
import { runCommand } from '../kit/processes/command.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';

const encoder = ['-c:v', 'libaom-av1', '-usage', 'realtime', '-cpu-used', '8', '-lag-in-frames', '0'];
const red = [200, 30, 30];

/** @returns the stream as RTP, and as Matroska written by ffmpeg */
async function encode(t: TestContext, size: string, args: readonly string[]): Promise<{ packets: Buffer[]; reference: string }> {
  const folder = await makeResources(t);
  const [ivf, reference] = [join(folder, 'made.ivf'), join(folder, 'made.mkv')];
  const source = ['-f', 'lavfi', '-i', `color=c=0xC81E1E:s=${size}:r=30`, '-t', '1.5', '-g', '15', '-b:v', '500k'];
  await ffmpeg([...source, ...encoder, ...args, ivf]);
  await ffmpeg(['-i', ivf, '-c', 'copy', reference]);
  return { packets: av1Packets(await readFile(ivf)), reference };
}

/** Codec configuration of the file: the record without the sequence header, and the sequence header. */
async function configuration(path: string): Promise<string> {
  const { stdout } = await runCommand(['ffprobe', '-v', 'error', '-show_data', '-show_entries', 'stream=extradata', '-of', 'json', path]);
  const dump: string = JSON.parse(stdout).streams[0].extradata;
  return [...dump.matchAll(/^[0-9a-f]+: ((?:[0-9a-f]+ )+)/gm)].map(([, bytes = '']) => bytes.replaceAll(' ', '')).join('');
}

for (const [what, size, args] of [
  ['8 bits', '320x180', ['-pix_fmt', 'yuv420p']],
  ['10 bits', '322x182', ['-pix_fmt', 'yuv420p10le']],
  ['4:4:4', '640x360', ['-pix_fmt', 'yuv444p']],
  [
    'shades of gray and a color description',
    '320x240',
    ['-pix_fmt', 'gray', '-color_primaries', 'bt709', '-color_trc', 'bt709', '-colorspace', 'bt709'],
  ],
  ['a slow encoder', '320x180', ['-pix_fmt', 'yuv420p', '-usage', 'good', '-cpu-used', '6']],
] as const) {
  test(`AV1 of ${what} is recorded`, async (t) => {
    const { packets, reference } = await encode(t, size, args);
    const path = join(await makeResources(t), 'av1.webm');
    const failures: unknown[] = [];
    let started: { width?: number; height?: number } = {};
    const recorder = new TrackRecorder({
      path,
      encoding: 'av1',
      clockRate: 90_000,
      channels: 1,
      onKeyNeeded: () => failures.push('a key frame was requested'),
      onStarted: ({ width = 0, height = 0 }) => {
        started = { width, height };
      },
      onFailed: (error) => failures.push(error),
    });
    for (const bytes of packets) {
      const packet = parseRtp(bytes);
      assert.ok(packet);
      const at = packet.timestamp / 90;
      recorder.push(packet, at, 1_700_000_000_000 + at);
    }
    const { frames, lostPackets } = await recorder.close();
    assert.deepEqual([failures, lostPackets, frames], [[], 0, 45]);
    const [width, height] = size.split('x').map(Number);
    assert.deepEqual(started, { width, height });
    const probed = await probe(path);
    assert.deepEqual([probed.codec, probed.width, probed.height], ['av1', width, height]);
    const times = await frameTimes(path);
    assert.deepEqual([times.length, times[0]], [45, 0]);
    const videoFrames = await colors(path);
    assert.equal(videoFrames.length, 45);
    if (!what.includes('gray')) for (const frame of [videoFrames[0], videoFrames.at(-1)]) assertColor(frame, red);
    assert.equal(await configuration(path), await configuration(reference));
  });
}
