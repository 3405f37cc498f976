// HLS composer benchmark: CPU and memory with 1 to 9 participants, and age of a frame when viewers can load it; baseline: one ffmpeg.
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { layoutCells } from '../../node/components/compose/layout.ts';
import { bitratesOf, segmentTimings } from '../../node/components/hls/options.ts';
import { framesAt, packetTimes, startComposer, wholeStream } from '../kit/media/composed-stream.ts';
import { ffmpeg } from '../kit/media/ffmpeg.ts';
import { encodeContent, startPublisher } from '../kit/media/rtp-publisher.ts';
import { runCommand } from '../kit/processes/command.ts';
import { makeResources } from '../kit/processes/resources-folder.ts';
import { engineFor, openRoom } from '../media/kit.ts';
import { benchContext } from './bench-context.ts';
import { watchProcesses } from './processes.ts';
import type { Report, Row } from './report.ts';
import { quantile } from './statistics.ts';

const size = { width: 1280, height: 720 };
const framerate = 24;
const participants = [1, 2, 4, 9];
/** Milliseconds. */
const warmUp = 6_000;
const window = 12_000;
/** Duration of the content in seconds: longer than the longest run. */
const seconds = 30;
const clockRate = 90_000;

/** The frame number is in each frame: bits as black or white fields at its top. */
const bits = 10;
const field = { width: size.width / bits, height: size.height / 8 };

type Content = { video: string; audio: string };
type Result = { cores: number; memory: number; ages: number[]; skipped: number };

export async function benchHls(report: Report): Promise<void> {
  const { t, end } = benchContext();
  const results = new Map<number, Result>();
  let bare: number;
  try {
    const content = { video: await encodeNumbered(t), audio: await encodeContent(t, 'opus', 440) };
    bare = await transcode(content.video);
    for (const count of participants) {
      const run = benchContext();
      try {
        results.set(count, await compose(run.t, count, content));
      } finally {
        await run.end();
      }
    }
  } finally {
    await end();
  }
  const rows = [...results].flatMap(([count, { cores, memory, ages, skipped }]): Row[] => {
    const of = `${count} ${count === 1 ? 'participant' : 'participants'}`;
    return [
      { what: `${of}: CPU`, value: cores, unit: 'cores', baseline: { what: 'ffmpeg with one of them', value: bare } },
      { what: `${of}: memory`, value: memory / 1024 / 1024, unit: 'MiB' },
      { what: `${of}: age of the last frame of a loadable part, median`, value: quantile(ages, 0.5), unit: 'ms' },
      { what: `${of}: age, p99`, value: quantile(ages, 0.99), unit: 'ms' },
      ...(skipped > 0 ? [{ what: `${of}: frames dropped`, value: skipped, unit: '' }] : []),
    ];
  });
  report.print('Streams of 1280x720 at 24 frames per second, composed from H.264 and Opus', rows);
}

async function compose(t: TestContext, count: number, content: Content): Promise<Result> {
  const room = openRoom(await engineFor(t));
  const options = { ...size, framerate };
  const { video, audio } = bitratesOf(options);
  const { times, partDuration } = segmentTimings({ ...options, lowLatency: true, segmentDuration: 2 });
  const composer = await startComposer(
    t,
    { ...options, videoBitrate: video, audioBitrate: audio, segmentDuration: times.target, partDuration },
    room,
  );
  /** Send time of each frame of the first participant, by its number. */
  const sent: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const source = `p${index}`;
    const note = index === 0 ? noting(sent) : undefined;
    await startPublisher(t, {
      codec: 'h264',
      input: room.openInput(),
      trackId: `${source}-v`,
      content: '',
      file: content.video,
      ...(note && { lose: note }),
    });
    await startPublisher(t, { codec: 'opus', input: room.openInput(), trackId: `${source}-a`, content: 0, file: content.audio });
    await composer.add({ id: `${source}-v`, encoding: 'h264', source });
    await composer.add({ id: `${source}-a`, encoding: 'opus', source });
  }
  await sleep(warmUp);
  const first = composer.parts().length;
  const known: number[] = [];
  const watching = watchParts(() => composer.parts(), known);
  const { cores, memory } = await watchProcesses([composer.pid()], window);
  watching.stop();
  const skipped = composer.reports.reduce((sum, report) => sum + (report.type === 'overloaded' ? report.skipped : 0), 0);
  const parts = composer.parts();
  await composer.close();
  const cell = layoutCells(
    'grid',
    Array.from({ length: count }, (_, index) => `p${index}`),
    undefined,
    size,
  ).get('p0') ?? { x: 0, y: 0, ...size };
  const file = await wholeStream(composer.folder);
  const [frames, shown] = [await framesAt(file), await packetTimes(file, 'v')];
  let end = shown[0]?.time ?? 0;
  const ages = parts.flatMap(({ duration }, index) => {
    end += duration;
    // Frames may have been dropped.
    const frame = frames[shown.findLastIndex(({ time }) => time < end - 1)];
    const [at, taken] = [known[index], frame && sent[numberIn(frame, cell)]];
    return index < first || at === undefined || taken === undefined ? [] : [at - taken];
  });
  return { cores: cores[0] ?? Number.NaN, memory: memory[0] ?? Number.NaN, ages, skipped };
}

/** Records the announcement time of each part. */
function watchParts(parts: () => readonly unknown[], known: number[]): { stop: () => void } {
  const timer = setInterval(() => {
    const count = parts().length;
    known[count - 1] ??= performance.now();
  }, 2);
  return { stop: () => clearInterval(timer) };
}

/** Records the time of the first packet of each frame, and drops none. */
function noting(sent: number[]): (number: number, packet: Buffer) => boolean {
  let start: number | undefined;
  return (_number, packet) => {
    const timestamp = packet.readUInt32BE(4);
    start ??= timestamp;
    const index = Math.round((((timestamp - start) >>> 0) * framerate) / clockRate);
    sent[index] ??= performance.now();
    return false;
  };
}

function numberIn(
  frame: { at: (x: number, y: number) => number[] },
  cell: { x: number; y: number; width: number; height: number },
): number {
  let number = 0;
  for (let bit = 0; bit < bits; bit += 1) {
    const x = (cell.x + (cell.width * (bit + 0.5)) / bits) / size.width;
    const y = (cell.y + cell.height / 16) / size.height;
    const [red = 0] = frame.at(x, y);
    if (red > 127) number += 2 ** bit;
  }
  return number;
}

/** Moving video with camera noise, encoded like in browsers. */
async function encodeNumbered(t: TestContext): Promise<string> {
  const file = join(await makeResources(t), 'numbered.mkv');
  const boxes = Array.from(
    { length: bits },
    (_, bit) => `drawbox=x=${bit * field.width}:y=0:w=${field.width}:h=${field.height}:c=white:t=fill:enable='mod(floor(n/${2 ** bit}),2)'`,
  );
  const source = [
    `testsrc2=s=${size.width}x${size.height}:r=${framerate}`,
    'noise=alls=6:allf=t',
    `drawbox=x=0:y=0:w=${size.width}:h=${field.height}:c=black:t=fill`,
    ...boxes,
  ].join(',');
  const codec = ['-c:v', 'libx264', '-profile:v', 'baseline', '-preset', 'veryfast', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p'];
  const rate = ['-b:v', '1500k', '-maxrate', '1800k', '-bufsize', '1500k', '-g', String(framerate * 2)];
  const args = ['-f', 'lavfi', '-i', source, ...codec, ...rate, '-t', String(seconds), file];
  await ffmpeg(args, 120_000);
  return file;
}

/** @returns cores that ffmpeg uses to decode one participant and to encode the stream, in real time */
async function transcode(file: string): Promise<number> {
  const time = window / 1000;
  const { video } = bitratesOf({ ...size, framerate });
  const codec = ['-c:v', 'libx264', '-preset', 'veryfast', '-tune', 'zerolatency', '-b:v', String(video), '-g', String(framerate * 2)];
  const args = ['-v', 'info', '-benchmark', '-nostdin', '-re', '-t', String(time), '-i', file, ...codec, '-f', 'null', '-'];
  const { stderr } = await runCommand(['ffmpeg', ...args], { timeoutMs: 120_000 });
  const [, user, system] = /bench: utime=([\d.]+)s stime=([\d.]+)s/.exec(stderr) ?? [];
  return (Number(user) + Number(system)) / time;
}
