// Media files of known content, made by ffmpeg.
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

async function ffmpeg(path: string, args: readonly string[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await run('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...args, path], { timeout: 60_000 });
}

/** 640x360 at 30 frames per second, constrained baseline, a picture to begin with every half second: one colour, a white box moves over it. */
export function makeVideo(path: string, colour: string, seconds: number): Promise<void> {
  const source = `color=c=${colour}:s=640x360:r=30:d=${seconds}`;
  const box = `color=c=white:s=80x360:r=30:d=${seconds}`;
  const codec = ['-c:v', 'libx264', '-profile:v', 'baseline', '-pix_fmt', 'yuv420p', '-g', '15', '-preset', 'veryfast'];
  const filter = ['-filter_complex', "[0][1]overlay=x='mod(n*7\\,640)':y=0:shortest=1"];
  return ffmpeg(path, ['-f', 'lavfi', '-i', source, '-f', 'lavfi', '-i', box, ...filter, ...codec, '-f', 'h264']);
}

/** A tone of so many hertz in Opus. */
export function makeTone(path: string, frequency: number, seconds: number): Promise<void> {
  const source = `sine=frequency=${frequency}:sample_rate=48000:duration=${seconds}`;
  return ffmpeg(path, ['-f', 'lavfi', '-i', source, '-c:a', 'libopus', '-b:a', '64k', '-f', 'ogg']);
}
