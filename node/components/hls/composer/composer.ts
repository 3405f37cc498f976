// Composer: builds one continuous stream from the tracks of a room, with frames and audio at a constant rate.

import { AudioMixer } from '../../compose/audio-mixer.ts';
import { DominantSpeakerSelector } from '../../compose/dominant-speaker.ts';
import { layoutCells } from '../../compose/layout.ts';
import { type Cell, VideoCompositor } from '../../compose/video-compositor.ts';
import { AudioEncoder, aacSamples } from '../../ffmpeg/audio-encoder.ts';
import { FragmentMuxer } from '../../ffmpeg/mp4.ts';
import { VideoEncoder } from '../../ffmpeg/video-encoder.ts';
import type { RtpPacket } from '../../rtp/rtp-reader.ts';
import { type EncodedPart, PartSegmenter } from '../playlist/part-segmenter.ts';
import { SegmentFiles } from '../playlist/segment-files.ts';
import { PlayoutDelay, playoutDelay } from '../playout.ts';
import { AudioTrack } from './audio-track.ts';
import type { ComposedTrack, ComposerReport, ComposerStart, ProgrammeDestination } from './composer-messages.ts';
import { FrameWatchdog, type GopTiming, gopTiming, isKeyFrame, nextFrame } from './frame-schedule.ts';
import { PixelBudget } from './pixel-budget.ts';
import { ProgrammeSender } from './programme-sender.ts';
import { VideoTrack } from './video-track.ts';

export type ComposerOptions = {
  start: ComposerStart;
  /** Font of drawn names. */
  font: string | undefined;
  onKeyNeeded: (ssrc: number) => void;
  /** Sends a packet of the programme to its destination. */
  send: (packet: Buffer, destination: ProgrammeDestination) => void;
  onReport: (report: ComposerReport) => void;
  /** The composer cannot continue; called at least once in that case. */
  onFailed: (error: unknown) => void;
  /** No frame is produced any more: native code hangs, so the process must be replaced. Called once. */
  onStuck: () => void;
  /** Marks that work on a track begins; the returned function marks its end. */
  mark: (entry: number) => () => void;
};

type Track = VideoTrack | AudioTrack;
type Source = { name: string; delay: PlayoutDelay; entries: Set<number> };
type Encoders = { video: VideoEncoder; audio: AudioEncoder; muxer: FragmentMuxer };

const samplesPerMillisecond = 48;
/** Milliseconds between two reports of dropped frames. */
const overloadInterval = 1000;
/** Key frames are requested explicitly; this is the maximum of x264. */
const keyInterval = 100_000;

/** Milliseconds since 1970, by a monotonic clock. */
function clock(): number {
  return performance.timeOrigin + performance.now();
}

export class Composer {
  readonly #options: ComposerOptions;
  readonly #rhythm: GopTiming;
  readonly #encoders: Encoders;
  readonly #files: SegmentFiles;
  readonly #partSegmenter: PartSegmenter;
  readonly #videoCompositor: VideoCompositor;
  readonly #mix = new AudioMixer(aacSamples);
  readonly #speakers = new DominantSpeakerSelector();
  readonly #tracks = new Map<number, { track: Track; ssrc: number }>();
  readonly #bySsrc = new Map<number, { entry: number; track: Track }>();
  readonly #pixels: PixelBudget<VideoTrack>;
  readonly #sources = new Map<string, Source>();
  readonly #watch = new FrameWatchdog();
  readonly #began = clock();
  /** Removed tracks, freed when no frame is being composed. */
  #retired: Track[] = [];
  #programme: ProgrammeSender | undefined;
  #arranged = true;
  #speaker: string | undefined;
  #nextNumber = 0;
  #skipped = 0;
  #skippedReported = 0;
  #making: Promise<void> = Promise.resolve();
  #timers: { frame?: NodeJS.Timeout; audio?: NodeJS.Timeout } = {};
  #closing = false;

  private constructor(options: ComposerOptions, encoders: Encoders, files: SegmentFiles) {
    const { start } = options;
    this.#options = options;
    this.#encoders = encoders;
    this.#files = files;
    this.#rhythm = gopTiming(start.framerate, start.partDuration, start.segmentDuration);
    this.#pixels = new PixelBudget(start.maxPixels);
    this.#videoCompositor = new VideoCompositor({
      width: start.width,
      height: start.height,
      font: start.names ? options.font : undefined,
      onBroken: (key, error) => {
        for (const [entry, { track }] of this.#tracks) if (track === key) this.#break(entry, error);
      },
    });
    this.#partSegmenter = new PartSegmenter({
      muxer: encoders.muxer,
      rhythm: this.#rhythm,
      firstSegment: start.firstSegment,
      onPart: (encodedPart) => this.#write(encodedPart),
    });
    this.#scheduleFrame();
    this.#scheduleAudio();
  }

  /** Resolves when the init segment is written and the first frame is in progress. @throws Error, e.g. if the disk write fails */
  static async start(options: ComposerOptions): Promise<Composer> {
    const { width, height, framerate, videoBitrate, audioBitrate, folder, init } = options.start;
    const video = await VideoEncoder.open({ width, height, framerate, bitrate: videoBitrate, keyInterval });
    const audio = new AudioEncoder({ bitrate: audioBitrate });
    const muxer = await FragmentMuxer.open({ video, audio });
    const files = new SegmentFiles({ folder, onFailed: options.onFailed });
    await files.writeInit(init, muxer.init);
    options.onReport({ type: 'ready', codecs: `${video.codec},${audio.codec}` });
    return new Composer(options, { video, audio, muxer }, files);
  }

  /** @throws AvError if this FFmpeg cannot decode it */
  add({ entry, ssrc, encoding, clockRate, source, name }: ComposedTrack): void {
    this.remove(entry);
    const known = this.#sources.get(source) ?? { name: '', delay: new PlayoutDelay(), entries: new Set() };
    const { delay } = known;
    const track =
      encoding === 'opus'
        ? new AudioTrack({ source, clockRate, delay, sampleAt: (time) => this.#sampleAt(time), from: this.#mix.reads })
        : new VideoTrack({
            ...{ source, encoding, clockRate, delay },
            onKeyNeeded: () => this.#options.onKeyNeeded(ssrc),
            mayDecode: (size) => this.#mayDecode(entry, size),
          });
    known.name = name ?? known.name;
    known.entries.add(entry);
    this.#sources.set(source, known);
    this.#tracks.set(entry, { track, ssrc });
    this.#bySsrc.set(ssrc, { entry, track });
    this.#arranged = false;
  }

  remove(entry: number): void {
    const found = this.#tracks.get(entry);
    if (!found) return;
    const { track, ssrc } = found;
    this.#tracks.delete(entry);
    if (this.#bySsrc.get(ssrc)?.track === track) this.#bySsrc.delete(ssrc);
    this.#retired.push(track);
    if (track.kind === 'video') this.#pixels.release(track);
    const source = this.#sources.get(track.source);
    source?.entries.delete(entry);
    if (source?.entries.size === 0) {
      this.#sources.delete(track.source);
      this.#speakers.forget(track.source);
    }
    this.#arranged = false;
  }

  receive(packet: RtpPacket): void {
    const found = this.#bySsrc.get(packet.ssrc);
    if (found) this.#work(found.entry, () => found.track.push(packet, clock()));
  }

  /** From an RTCP sender report; `time` in milliseconds since 1970. */
  reported(ssrc: number, timestamp: number, time: number): void {
    this.#bySsrc.get(ssrc)?.track.reported(timestamp, time);
  }

  /** Sends frames and mix to players, or ends that. @throws AvError if this FFmpeg cannot encode it */
  sendProgramme(destination: ProgrammeDestination | null): void {
    this.#programme?.close();
    this.#programme = undefined;
    if (!destination || this.#closing) return;
    this.#programme = new ProgrammeSender({
      destination,
      parameterSets: this.#encoders.video.parameterSets,
      frameInterval: this.#rhythm.interval,
      began: this.#began,
      send: (packet) => this.#options.send(packet, destination),
    });
  }

  /** A player needs a key frame of the programme. */
  requestKeyFrame(ssrc: number): void {
    this.#programme?.requestKeyFrame(ssrc);
  }

  /** Ends the last part; resolves when it is written. Idempotent; never rejects. */
  async close(): Promise<void> {
    if (this.#closing) return;
    this.#closing = true;
    this.sendProgramme(null);
    clearTimeout(this.#timers.frame);
    clearTimeout(this.#timers.audio);
    await this.#making;
    const { video, audio, muxer } = this.#encoders;
    try {
      this.#makeAudio(this.#nextNumber * this.#rhythm.interval);
      this.#partSegmenter.addAudio(audio.flush());
      for (const frame of await video.flush()) await this.#partSegmenter.addFrame(frame);
      await this.#partSegmenter.finish(this.#nextNumber);
    } catch (error) {
      this.#options.onFailed(error);
    }
    await this.#files.close();
    for (const { track } of this.#tracks.values()) track.close();
    this.#freeRetired();
    this.#videoCompositor.close();
    for (const each of [video, audio, muxer]) each.close();
  }

  #sampleAt(time: number): number {
    return (time - this.#began) * samplesPerMillisecond;
  }

  #scheduleFrame(): void {
    if (this.#closing) return;
    const due = this.#began + this.#nextNumber * this.#rhythm.interval;
    this.#timers.frame = setTimeout(() => {
      this.#making = this.#makeFrame().then(
        () => {
          this.#watch.frameMade();
          this.#scheduleFrame();
        },
        (error: unknown) => {
          clearTimeout(this.#timers.audio);
          this.#options.onFailed(error);
        },
      );
    }, delayUntil(due));
  }

  #scheduleAudio(): void {
    if (this.#closing) return;
    const due = this.#began + (this.#mix.made + aacSamples) / samplesPerMillisecond;
    this.#timers.audio = setTimeout(() => {
      try {
        const before = this.#mix.made;
        this.#makeAudio(clock() - this.#began);
        if (this.#mix.made > before && this.#watch.audioMade()) this.#options.onStuck();
        else this.#scheduleAudio();
      } catch (error) {
        this.#options.onFailed(error);
      }
    }, delayUntil(due));
  }

  /** `until`: milliseconds since the start. */
  #makeAudio(until: number): void {
    const now = clock();
    for (const [entry, { track }] of this.#tracks) if (track.kind === 'audio') this.#work(entry, () => track.drain(now));
    const tracks = [...this.#tracks.values()].flatMap(({ track }) => (track.kind === 'audio' ? [track] : []));
    while (this.#mix.made + aacSamples <= until * samplesPerMillisecond) {
      const at = this.#mix.made;
      const { left, right } = this.#mix.next(tracks, (track, loudness) => this.#speakers.hear(track.source, loudness, now));
      this.#programme?.addAudio(left, right, at);
      this.#partSegmenter.addAudio(this.#encoders.audio.encode(left, right, at));
    }
  }

  async #makeFrame(): Promise<void> {
    this.#freeRetired();
    const { interval, perPart } = this.#rhythm;
    const due = Math.floor((clock() - this.#began) / interval);
    if (this.#nextNumber > due) return;
    const number = nextFrame(this.#nextNumber, due, perPart);
    this.#skipped += number - this.#nextNumber;
    this.#reportOverload();
    this.#nextNumber = number + 1;
    this.#arrange();
    const changed = await this.#decode(this.#began + number * interval);
    await this.#videoCompositor.update((key) => changed.has(key));
    const encoded = await this.#encoders.video.encode(this.#videoCompositor.canvas, {
      timestamp: number,
      key: isKeyFrame(number, this.#rhythm) || this.#programme?.needsKeyFrame(number) === true,
    });
    for (const frame of encoded) {
      this.#programme?.addFrame(frame);
      await this.#partSegmenter.addFrame(frame);
    }
  }

  /** @returns tracks that have a new frame */
  async #decode(time: number): Promise<Set<object>> {
    const now = clock();
    const changed = new Set<object>();
    const decode = async (entry: number, track: VideoTrack) => {
      const done = this.#options.mark(entry);
      try {
        track.drain(now);
        if (await track.decodeUntil(time)) changed.add(track);
      } catch (error) {
        this.#break(entry, error);
      }
      done();
    };
    const tracks = [...this.#tracks].flatMap(([entry, { track }]) => (track.kind === 'video' ? [{ entry, track }] : []));
    if (this.#options.start.careful) for (const { entry, track } of tracks) await decode(entry, track);
    else await Promise.all(tracks.map(({ entry, track }) => decode(entry, track)));
    return changed;
  }

  /** Frees pixels by refusing tracks of the source that uses the most. */
  #mayDecode(entry: number, { width, height }: { width: number; height: number }): boolean {
    const track = this.#tracks.get(entry)?.track;
    if (track?.kind !== 'video') return false;
    const refused = this.#pixels.claim(track, track.source, width * height);
    for (const [each, { track: other }] of this.#tracks) {
      if (other.kind !== 'video' || !refused.includes(other)) continue;
      other.refuse();
      this.#options.onReport({ type: 'refused', entry: each });
    }
    return !refused.includes(track);
  }

  /** An error of a track is reported for that track only; the other tracks continue. */
  #work(entry: number, step: () => void): void {
    const done = this.#options.mark(entry);
    try {
      step();
    } catch (error) {
      this.#break(entry, error);
    }
    done();
  }

  #break(entry: number, error: unknown): void {
    this.remove(entry);
    this.#options.onReport({ type: 'broken', entry, reason: error instanceof Error ? error.message.slice(0, 200) : 'unknown' });
  }

  #arrange(): void {
    const { layout, names, width, height } = this.#options.start;
    const cells = new Map<string, Cell['shown'][number][]>();
    // A source without video is shown by its name.
    if (names) for (const [source, { name }] of this.#sources) if (name !== '') cells.set(source, []);
    for (const { track } of this.#tracks.values()) {
      if (track.kind !== 'video') continue;
      const shown = cells.get(track.source) ?? [];
      shown.push({ key: track, frame: () => track.frame });
      cells.set(track.source, shown);
    }
    const sources = [...this.#sources.keys()].filter((source) => cells.has(source));
    const speaker = layout === 'grid' ? undefined : this.#speakers.choose(sources, clock());
    if (this.#arranged && speaker === this.#speaker) return;
    this.#arranged = true;
    this.#speaker = speaker;
    const seats = layoutCells(layout, sources, speaker, { width, height });
    this.#videoCompositor.arrange(
      [...seats].map(([source, place]) => ({
        place,
        shown: cells.get(source) ?? [],
        name: names ? this.#sources.get(source)?.name : undefined,
      })),
    );
  }

  #write({ bytes, segment, first, duration, independent }: EncodedPart): void {
    const time = this.#began + first * this.#rhythm.interval - playoutDelay;
    this.#files.append(segment, bytes, (writtenSegment) =>
      this.#options.onReport({ type: 'part', ...writtenSegment, duration, independent, time }),
    );
  }

  #reportOverload(): void {
    const now = clock();
    if (this.#skipped === 0 || now - this.#skippedReported < overloadInterval) return;
    this.#options.onReport({ type: 'overloaded', skipped: this.#skipped });
    this.#skipped = 0;
    this.#skippedReported = now;
  }

  #freeRetired(): void {
    for (const track of this.#retired.splice(0)) track.close();
  }
}

/** Milliseconds; 0 if the time has passed. */
function delayUntil(time: number): number {
  return Math.max(0, time - clock());
}
