// Continuity: the longest interruption of what a page shows and plays of one peer, by content, also if its tracks are replaced.

import { codeDistance, readCode } from '../media/time-code.ts';

/** Size of the copies of frames: enough for their numbers. */
const [width, height] = [64, 36];
/** Loudness (root mean square) below which audio counts as silence. */
const silence = 0.01;

/**
 * `lost`, `repeated`: the largest number of numbered frames between two that were shown, forwards and backwards. Unlike `gap`, the longest time
 * between two of them in milliseconds, they include no time in which a busy computer drew none. `dark`: number of frames that were black or empty.
 */
export type VideoContinuity = { frames: number; lost: number; repeated: number; gap: number; dark: number };

/** Watches the numbered frames of an element. @returns a function that ends it */
export function watchVideo(video: HTMLVideoElement): () => VideoContinuity {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true }) as OffscreenCanvasRenderingContext2D;
  const seen = { frames: 0, lost: 0, repeated: 0, gap: 0, dark: 0 };
  let last = performance.now();
  let number: number | undefined;
  let handle = 0;
  const isDark = () =>
    video.videoWidth === 0 || !context.getImageData(0, 0, width, height).data.some((value, at) => at % 4 < 3 && value >= 60);
  const see = (now: number) => {
    seen.frames += 1;
    seen.gap = Math.max(seen.gap, now - last);
    last = now;
    context.clearRect(0, 0, width, height);
    context.drawImage(video, 0, 0, width, height);
    if (isDark()) seen.dark += 1;
    const next = readCode(context, width, height);
    if (number !== undefined && next !== undefined) {
      const step = codeDistance(number, next);
      seen.lost = Math.max(seen.lost, step - 1);
      seen.repeated = Math.max(seen.repeated, -step);
    }
    number = next ?? number;
    handle = video.requestVideoFrameCallback(see);
  };
  handle = video.requestVideoFrameCallback(see);
  return () => {
    video.cancelVideoFrameCallback(handle);
    return { ...seen, gap: Math.max(seen.gap, performance.now() - last) };
  };
}

/** Listens to a track, and to the one that replaces it. */
export class Ear {
  readonly #context: AudioContext;
  readonly #meter: ScriptProcessorNode;
  #source: MediaStreamAudioSourceNode;
  #heard = 0;
  #silent = 0;
  #longest = 0;

  constructor(context: AudioContext, track: MediaStreamTrack) {
    this.#context = context;
    // Blocks of 5 ms: a worklet would need another script.
    this.#meter = context.createScriptProcessor(256, 1, 1);
    this.#meter.addEventListener('audioprocess', ({ inputBuffer }) => this.#measure(inputBuffer));
    this.#meter.connect(context.destination);
    this.#source = this.#listen(track);
  }

  follow(track: MediaStreamTrack): void {
    this.#source.disconnect();
    this.#source = this.#listen(track);
  }

  /** Milliseconds of audio after the first one that was heard, and the longest silence in it. */
  end(): { heard: number; gap: number } {
    this.#source.disconnect();
    this.#meter.disconnect();
    return { heard: this.#heard, gap: Math.max(this.#longest, this.#silent) };
  }

  #listen(track: MediaStreamTrack): MediaStreamAudioSourceNode {
    const source = this.#context.createMediaStreamSource(new MediaStream([track]));
    source.connect(this.#meter);
    return source;
  }

  #measure(block: AudioBuffer): void {
    const samples = block.getChannelData(0);
    const loudness = Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
    const time = block.duration * 1_000;
    if (loudness >= silence) {
      this.#longest = Math.max(this.#longest, this.#silent);
      this.#silent = 0;
      this.#heard += time;
    } else if (this.#heard > 0) this.#silent += time;
  }
}
