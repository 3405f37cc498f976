// Composer process without its component, and the content of its stream according to ffmpeg.
import assert from 'node:assert/strict';
import { EventEmitter } from 'node:events';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { z } from 'zod';
import {
  type ComposedTrack as Announced,
  type ComposedEncoding,
  type ComposerStart,
  segmentName,
} from '../../../node/components/hls/composer/composer-messages.ts';
import { type ComposerCommand, composerReportSchema } from '../../../node/components/hls/hls-process.ts';
import { ComponentProcess } from '../../../node/components/process/component-process.ts';
import type { RoomMedia, RtpEgress } from '../../../node/rooms/interfaces.ts';
import { emits, eventually } from '../eventually.ts';
import { makeResources } from '../processes/resources-folder.ts';
import { silentLog } from '../silent-log.ts';
import { allFrames, decode, packetFields } from './recorded-file.ts';
import { ofMost } from './tones.ts';

type Report = z.infer<typeof composerReportSchema>;
type ReportOf<Type extends Report['type']> = Extract<Report, { type: Type }>;
/** A composed track; `name` is that of its source. */
export type ComposedTrack = { id: string; encoding: ComposedEncoding; source: string; name?: string };

const defaults = {
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
} as const;

class TestComposer {
  readonly folder: string;
  readonly reports: Report[] = [];
  readonly exits: string[] = [];
  port = 0;
  codecs = '';
  readonly #process: ComponentProcess<ComposerCommand, Report>;
  readonly #events = new EventEmitter();
  readonly #init: string;
  #output: RtpEgress | undefined;
  #entries = 0;

  private constructor(folder: string, init: string) {
    this.folder = folder;
    this.#init = init;
    this.#process = new ComponentProcess<ComposerCommand, Report>({
      log: silentLog(),
      role: 'compose',
      writes: [folder],
      reportSchema: composerReportSchema,
      onReport: (report) => {
        this.reports.push(report);
        this.#events.emit('reported');
      },
      onExit: (reason) => {
        this.exits.push(reason);
        this.#events.emit('reported');
      },
    });
  }

  static async start(t: TestContext, options: Partial<ComposerStart>, room: RoomMedia | undefined): Promise<TestComposer> {
    const folder = options.folder ?? (await makeResources(t));
    const composer = new TestComposer(folder, options.init ?? defaults.init);
    t.after(() => composer.#process.end(5000));
    composer.#process.send({ type: 'start', folder, ...defaults, ...options });
    const [{ port }, { codecs }] = await Promise.all([composer.heard('listening'), composer.heard('ready')]);
    Object.assign(composer, { port, codecs });
    composer.#output = room?.openOutput();
    if (composer.#output) composer.#process.send({ type: 'connect', ...(await composer.#output.connect({ ip: '127.0.0.1', port })) });
    return composer;
  }

  pid(): number {
    return this.#process.pid ?? assert.fail('no process runs');
  }

  parts() {
    return this.reports.filter((report) => report.type === 'part');
  }

  /** The first matching report, past or future. */
  heard<Type extends Report['type']>(type: Type, holds: (report: ReportOf<Type>) => boolean = () => true): Promise<ReportOf<Type>> {
    const check = () => {
      const found = this.reports.find((report): report is ReportOf<Type> => report.type === type && holds(report as ReportOf<Type>));
      if (!found && this.exits.length > 0) throw new Error(`It ended: ${this.exits[0]}`);
      return found;
    };
    const what = () => `a report ${type} arrives, after ${JSON.stringify(this.reports.slice(-3))}`;
    return eventually<ReportOf<Type> | undefined>(what, check, { wakes: emits(this.#events, 'reported') });
  }

  /** Announces RTP of an external source. @returns its number */
  async announce(track: Omit<Announced, 'type' | 'entry'>): Promise<number> {
    this.#entries += 1;
    const entry = this.#entries;
    this.#process.send({ type: 'add', entry, ...track });
    await this.heard('added', (report) => report.entry === entry);
    return entry;
  }

  /** Composes a track of the room. @returns its number */
  async add({ id, encoding, source, name }: ComposedTrack): Promise<number> {
    assert.ok(this.#output);
    const { ssrc, clockRate, channels } = await this.#output.subscribe(id);
    const entry = await this.announce({ ssrc, encoding, clockRate, channels, source, name: name ?? null });
    await this.#output.resume(id);
    return entry;
  }

  remove(entry: number, trackId?: string): void {
    if (trackId !== undefined) this.#output?.unsubscribe(trackId);
    this.#process.send({ type: 'remove', entry });
  }

  /** Resolves after this number of further parts. */
  async after(parts: number): Promise<void> {
    const wanted = this.parts().length + parts;
    await this.heard('part', () => this.parts().length >= wanted);
  }

  /** Closes the composer. @returns the whole stream as one file */
  async close(): Promise<string> {
    this.#process.send({ type: 'close' });
    await this.heard('closed');
    await this.#process.end(5000);
    return wholeStream(this.folder, this.#init);
  }
}

/** A composer of 640x360 at 24 frames per second by default, for tracks of the room. Closed by the test or by close(). */
export function startComposer(t: TestContext, options: Partial<ComposerStart> = {}, room?: RoomMedia): Promise<TestComposer> {
  return TestComposer.start(t, options, room);
}

/** Concatenates init segment and all segments. */
export async function wholeStream(folder: string, init = 'init-0.mp4'): Promise<string> {
  const numbers = (await readdir(folder)).flatMap((name) => /^segment-(\d+)\.m4s$/.exec(name)?.[1] ?? []).map(Number);
  const files = [init, ...numbers.sort((a, b) => a - b).map((number) => segmentName(number))];
  const path = join(folder, 'whole.mp4');
  await writeFile(path, Buffer.concat(await Promise.all(files.map((name) => readFile(join(folder, name))))));
  return path;
}

/** Start of each packet in milliseconds, and whether it is a key frame. */
export async function packetTimes(path: string, track: 'v' | 'a'): Promise<{ time: number; key: boolean }[]> {
  return (await packetFields(path, 'pts_time,flags', '-select_streams', `${track}:0`)).map((line) => {
    const [time, flags] = line.split(',');
    return { time: Number(time) * 1000, key: flags?.startsWith('K') ?? false };
  });
}

export type FrameProbe = { at: (x: number, y: number) => number[] };

const small = { width: 160, height: 90 } as const;

/** Frames with access to the color (red, green, blue) at relative positions. @throws Error if a decoder reports an error */
export async function framesAt(path: string): Promise<FrameProbe[]> {
  const pixels = await decode(path, ['-vf', `scale=${small.width}:${small.height}:flags=area`, ...allFrames]);
  const size = small.width * small.height * 3;
  return Array.from({ length: pixels.length / size }, (_, frame) => ({
    at: (x, y) => {
      const start = frame * size + (Math.floor(y * small.height) * small.width + Math.floor(x * small.width)) * 3;
      return [...pixels.subarray(start, start + 3)];
    },
  }));
}

/** Share of a frequency in the audio: 1 for a pure tone. */
export function ratioOf(samples: Float32Array, frequency: number): number {
  let [re, im, energy] = [0, 0, 0];
  for (const [index, value] of samples.entries()) {
    const angle = (2 * Math.PI * frequency * index) / 48_000;
    re += value * Math.cos(angle);
    im += value * Math.sin(angle);
    energy += value * value;
  }
  return (2 * (re * re + im * im)) / (samples.length * energy);
}

/** Median share of a frequency in the audio. */
export function steadyShare(samples: Float32Array, frequency: number): number {
  return ofMost(samples, 48_000, (piece) => ratioOf(piece, frequency));
}
