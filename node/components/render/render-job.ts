// Render job: composes all clips of a recording at their times, like a stream of the room but as fast as possible.

import type { RenderOptions } from '../../../api/render.ts';
import { AudioMixer } from '../compose/audio-mixer.ts';
import { DominantSpeakerSelector } from '../compose/dominant-speaker.ts';
import { layoutCells } from '../compose/layout.ts';
import { VideoCompositor } from '../compose/video-compositor.ts';
import { aacSamples } from '../ffmpeg/audio-encoder.ts';
import type { EncodedPacket } from '../ffmpeg/encoded-packet.ts';
import { mp4Rates } from '../ffmpeg/mp4.ts';
import { bitratesOf } from '../hls/options.ts';
import { AudioClip } from './audio-clip.ts';
import { OutputFile } from './output-file.ts';
import type { Clip, RenderPlan } from './plan.ts';
import { VideoClip } from './video-clip.ts';

export type RenderJobOptions = RenderOptions & {
  /** Absolute paths of the folder of the recording, and of the output file. */
  folder: string;
  output: string;
  plan: RenderPlan;
  /** Milliseconds that are rendered. */
  onProgress: (time: number) => void;
  onProblem: (message: string) => void;
};

type Playing = VideoClip | AudioClip;

const samplesPerMillisecond = mp4Rates.audio / 1000;
/** Milliseconds before its start at which a clip is opened, because its audio is decoded ahead. */
const openAhead = 100;

export class RenderJob {
  readonly #options: RenderJobOptions;
  readonly #interval: number;
  readonly #output: OutputFile;
  readonly #videoCompositor: VideoCompositor;
  readonly #mix = new AudioMixer(aacSamples);
  readonly #speakers = new DominantSpeakerSelector();
  /** By start. */
  readonly #waiting: Clip[];
  readonly #playing = new Set<Playing>();
  readonly #sources: readonly string[];
  /** Clips in the current layout. */
  #shown: readonly VideoClip[] = [];
  #speaker: string | undefined;
  #played = 0;

  private constructor(options: RenderJobOptions, output: OutputFile) {
    const { width, height, framerate, plan } = options;
    this.#options = options;
    this.#interval = 1000 / framerate;
    this.#output = output;
    this.#videoCompositor = new VideoCompositor({ width, height, font: undefined });
    this.#waiting = [...plan.clips];
    this.#sources = [...new Set(plan.clips.map(({ source }) => source))];
  }

  /** @returns rendered milliseconds. @throws Error if no clip is playable, or the disk write fails */
  static async run(options: RenderJobOptions): Promise<number> {
    const { output: path, width, height, framerate } = options;
    const output = await OutputFile.open({ path, width, height, framerate, bitrates: bitratesOf(options) });
    const renderJob = new RenderJob(options, output);
    try {
      return await renderJob.#run();
    } finally {
      renderJob.#close();
    }
  }

  async #run(): Promise<number> {
    let number = 0;
    // A frame is encoded while the next ones are decoded.
    let videoPackets: Promise<EncodedPacket[]> = Promise.resolve([]);
    for (; ; number += 1) {
      const time = number * this.#interval;
      const changed = await this.#playUntil(time);
      const over = this.#playing.size === 0 && this.#waiting.length === 0;
      const audioPackets = over ? [] : await this.#audioUntil(time + this.#interval, time);
      await this.#output.write({ videoPackets: await videoPackets, audioPackets });
      if (over) break;
      this.#arrange(time);
      await this.#videoCompositor.update((key) => changed.has(key));
      videoPackets = this.#output.encodeFrame(this.#videoCompositor.canvas, number);
      // A rejection is handled when the promise is awaited.
      videoPackets.catch(() => {});
      this.#options.onProgress(time);
    }
    if (this.#played === 0) throw new Error('The recording has no playable track');
    await this.#output.finish();
    return number * this.#interval;
  }

  /** @returns clips that have a new frame */
  async #playUntil(time: number): Promise<Set<object>> {
    for (let next = this.#waiting[0]; next && next.start <= time + openAhead; next = this.#waiting[0]) {
      this.#waiting.shift();
      await this.#open(next);
    }
    const changed = new Set<object>();
    await Promise.all(
      [...this.#playing].map(async (each) => {
        if (each.kind === 'video' && (await each.showAt(time))) changed.add(each);
      }),
    );
    for (const each of this.#playing) if (each.hasEnded(time)) this.#end(each);
    return changed;
  }

  async #open(clip: Clip): Promise<void> {
    const { folder } = this.#options;
    try {
      this.#playing.add(clip.kind === 'video' ? await VideoClip.open(folder, clip) : await AudioClip.open(folder, clip, this.#mix.reads));
    } catch (error) {
      this.#options.onProblem(`${clip.file} was omitted: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  #end(ended: Playing): void {
    const { played, problems } = ended.outcome;
    this.#played += played;
    for (const problem of problems) this.#options.onProblem(`${ended.clip.file} is incomplete: ${problem}`);
    this.#playing.delete(ended);
    ended.close();
    const { source } = ended.clip;
    if (![...this.#playing].some(({ clip }) => clip.source === source)) this.#speakers.forget(source);
  }

  /** `now`: milliseconds of the frame that is composed. */
  async #audioUntil(time: number, now: number): Promise<EncodedPacket[]> {
    const encoded: EncodedPacket[] = [];
    while (this.#mix.made < time * samplesPerMillisecond) {
      const at = this.#mix.made;
      const clips = [...this.#playing].filter((each) => each.kind === 'audio');
      await Promise.all(clips.map((each) => each.decodeUntil(this.#mix.reads + aacSamples)));
      const block = this.#mix.next(clips, ({ clip }, loudness) => this.#speakers.hear(clip.source, loudness, now));
      encoded.push(...this.#output.encodeAudio(block, at));
    }
    return encoded;
  }

  /** Arranges the sources that have video now, in the order of their first frame. */
  #arrange(time: number): void {
    const { layout, width, height } = this.#options;
    const shown = [...this.#playing].filter((each) => each.kind === 'video').filter(({ clip }) => clip.start <= time);
    const clipsOf = Map.groupBy(shown, ({ clip }) => clip.source);
    const sources = this.#sources.filter((source) => clipsOf.has(source));
    const speaker = layout === 'grid' ? undefined : this.#speakers.choose(sources, time);
    if (speaker === this.#speaker && shown.length === this.#shown.length && shown.every((each, index) => each === this.#shown[index]))
      return;
    this.#speaker = speaker;
    this.#shown = shown;
    const seats = layoutCells(layout, sources, speaker, { width, height });
    this.#videoCompositor.arrange(
      [...seats].map(([source, place]) => {
        const clips = clipsOf.get(source) ?? [];
        return { place, shown: clips.map((each) => ({ key: each, frame: () => each.frame })), name: undefined };
      }),
    );
  }

  #close(): void {
    for (const each of this.#playing) each.close();
    this.#videoCompositor.close();
    this.#output.close();
  }
}
