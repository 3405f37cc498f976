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

/** Video of 320x180 at 15 frames per second in one color with a moving box, and a tone in stereo. */
const programme = {
  seconds: 4,
  video(colour = '0x1EC81E'): string[] {
    const size = `s=320x180:r=15:d=${this.seconds}`;
    const inputs = [`color=c=${colour}:${size}`, `color=c=white:${size.replace('320', '40')}`].flatMap((source) => [
      '-f',
      'lavfi',
      '-i',
      source,
    ]);
    return [...inputs, '-filter_complex', '[0][1]overlay=x=mod(n*21\\,320):y=0:shortest=1', '-g', '15'];
  },
  audio(frequency: number): string[] {
    return ['-f', 'lavfi', '-i', `sine=frequency=${frequency}:sample_rate=48000:duration=${this.seconds}`];
  },
  opus: ['-c:a', 'libopus', '-ac', '2', '-b:a', '64k'],
};

/** Encodes some seconds and repeats them. */
async function makeRepeated(path: string, args: readonly string[], format: readonly string[], seconds = 60): Promise<void> {
  const once = `${path}.once`;
  await makeFile(once, [...args, ...format]);
  await makeFile(path, ['-stream_loop', String(seconds / programme.seconds), '-i', once, '-c', 'copy', ...format]);
}

export type TracksOptions = { seconds?: number; colour?: string };

/** VP8 without audio (IVF), green by default, and Opus with one packet in each page (Ogg), of a minute by default. */
export async function makeTracks(video: string, audio: string, frequency: number, { seconds, colour }: TracksOptions = {}): Promise<void> {
  const vp8 = ['-c:v', 'libvpx', '-b:v', '200k', '-deadline', 'realtime', '-cpu-used', '8', '-auto-alt-ref', '0'];
  await makeRepeated(video, [...programme.video(colour), ...vp8], ['-f', 'ivf'], seconds);
  await makeRepeated(audio, [...programme.audio(frequency), ...programme.opus], ['-page_duration', '20000', '-f', 'ogg'], seconds);
}

/** H.264 of this profile without B frames, and Opus: an MPEG transport stream of about a minute. */
export async function makeProgramme(path: string, profile: string, frequency: number): Promise<void> {
  const h264 = ['-c:v', 'libx264', '-profile:v', profile, '-pix_fmt', 'yuv420p', '-preset', 'ultrafast', '-bf', '0'];
  const inputs = [...programme.audio(frequency), ...programme.video().map((arg) => arg.replace('[0][1]', '[1][2]'))];
  await makeRepeated(path, [...inputs, ...h264, ...programme.opus], ['-f', 'mpegts']);
}
