// Media files with known content, created with ffmpeg.
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ffmpeg } from './ffmpeg.ts';

async function makeFile(path: string, args: readonly string[]): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await ffmpeg(['-y', ...args, path]);
}

/**
 * H.264 of 640x360 at 30 frames per second, constrained baseline, with a key frame every half second: one color with a moving white box.
 * Only one second is encoded and repeated, because such streams can be concatenated.
 */
export async function makeVideo(path: string, colour: string, seconds: number): Promise<void> {
  const source = `color=c=${colour}:s=640x360:r=30:d=1`;
  const box = 'color=c=white:s=80x360:r=30:d=1';
  const codec = ['-c:v', 'libx264', '-profile:v', 'baseline', '-pix_fmt', 'yuv420p', '-preset', 'veryfast'];
  const encoding = ['-g', '15', '-sc_threshold', '0'];
  const filter = ['-filter_complex', '[0][1]overlay=x=n*21:y=0:shortest=1'];
  await makeFile(path, ['-f', 'lavfi', '-i', source, '-f', 'lavfi', '-i', box, ...filter, ...codec, ...encoding, '-f', 'h264']);
  const second = await readFile(path);
  await writeFile(path, Buffer.concat(Array.from({ length: seconds }, () => second)));
}

/** A tone in Opus. */
export function makeTone(path: string, frequency: number, seconds: number): Promise<void> {
  const source = `sine=frequency=${frequency}:sample_rate=48000:duration=${seconds}`;
  return makeFile(path, ['-f', 'lavfi', '-i', source, '-c:a', 'libopus', '-b:a', '64k', '-f', 'ogg']);
}
