// Script in the page of a viewer: hls.js, and measurement of the played video and audio.
import Hls from 'hls.js';
import { codeSteps, readCode } from '../media/time-code.ts';

export type Watched = {
  /** Seconds of the stream that were shown, and milliseconds of the longest pause between two frames. */
  shown: number;
  maxPause: number;
  /** Minimum seconds of media in the buffer when a frame was shown. */
  minBuffer: number;
  stalls: number;
  errors: string[];
  /** Milliseconds from the time code in the frame to its display. */
  latencies: number[];
};

class Viewer {
  readonly video = document.createElement('video');
  readonly #hls = new Hls({ lowLatencyMode: true });
  readonly #errors: string[] = [];
  readonly #canvas = document.createElement('canvas');
  #latencies: number[] = [];
  #maxPause = 0;
  #minBuffer = Number.POSITIVE_INFINITY;
  #stalls = 0;
  #analyser: AnalyserNode | undefined;

  constructor(address: string) {
    this.video.style.cssText = 'width:640px;height:360px';
    document.body.append(this.video);
    const context = new AudioContext();
    this.#analyser = new AnalyserNode(context, { fftSize: 8192 });
    context.createMediaElementSource(this.video).connect(this.#analyser);
    // Audio only flows if the graph ends at the destination.
    this.#analyser.connect(new GainNode(context, { gain: 0 })).connect(context.destination);
    this.#hls.on(Hls.Events.ERROR, (_, { details, fatal, error }) => {
      if (details === Hls.ErrorDetails.BUFFER_STALLED_ERROR) this.#stalls += 1;
      this.#errors.push(`${details}${fatal ? ' (fatal)' : ''}: ${error.message}`);
    });
    this.#hls.on(Hls.Events.MANIFEST_PARSED, () => void this.video.play());
    this.#hls.loadSource(address);
    this.#hls.attachMedia(this.video);
    this.#watch();
  }

  /** Starts measuring. */
  begin(): void {
    this.#latencies = [];
    this.#maxPause = 0;
    this.#minBuffer = Number.POSITIVE_INFINITY;
    this.#stalls = 0;
    this.#errors.length = 0;
  }

  watched(): Watched {
    const { currentTime } = this.video;
    return {
      shown: currentTime,
      maxPause: this.#maxPause,
      minBuffer: this.#minBuffer,
      stalls: this.#stalls,
      errors: [...this.#errors],
      latencies: [...this.#latencies],
    };
  }

  /** Switches captions on. @returns false if the player does not have the rendition yet */
  showCaptions(): boolean {
    if (this.#hls.subtitleTracks.length === 0) return false;
    this.#hls.subtitleTrack = 0;
    this.#hls.subtitleDisplay = true;
    return true;
  }

  /** Loaded captions with the capture time of the frames at their start, in milliseconds since 1970. */
  captions(): { text: string; time: number }[] {
    const { playingDate } = this.#hls;
    const { textTracks, currentTime } = this.video;
    const cues = [...textTracks].flatMap((track) => [...(track.cues ?? [])] as VTTCue[]);
    return cues.map(({ text, startTime }) => ({ text, time: (playingDate?.getTime() ?? 0) + (startTime - currentTime) * 1000 }));
  }

  /** Color at a position of the frame. */
  colourAt(x: number, y: number): [red: number, green: number, blue: number] {
    const [red = 0, green = 0, blue = 0] = this.#pixels().getImageData(Math.round(x), Math.round(y), 1, 1).data;
    return [red, green, blue];
  }

  /** Loudest frequency in hertz; 0 for silence. */
  loudest(): number {
    const analyser = this.#analyser;
    if (!analyser) return 0;
    const levels = new Float32Array(analyser.frequencyBinCount);
    analyser.getFloatFrequencyData(levels);
    const best = levels.reduce((top, level, index) => (level > (levels[top] ?? -200) ? index : top), 0);
    return (levels[best] ?? -200) > -70 ? (best * analyser.context.sampleRate) / analyser.fftSize : 0;
  }

  #watch(): void {
    let last: number | undefined;
    const step = (now: number) => {
      if (last !== undefined) this.#maxPause = Math.max(this.#maxPause, now - last);
      last = now;
      const { buffered, currentTime } = this.video;
      if (buffered.length > 0) this.#minBuffer = Math.min(this.#minBuffer, buffered.end(buffered.length - 1) - currentTime);
      const code = readCode(this.#pixels(), this.video.videoWidth, this.video.videoHeight);
      if (code !== undefined) this.#latencies.push(codeSteps(code, Date.now()));
      this.video.requestVideoFrameCallback(step);
    };
    this.video.requestVideoFrameCallback(step);
  }

  #pixels(): CanvasRenderingContext2D {
    const { videoWidth: width, videoHeight: height } = this.video;
    // Resizing reallocates memory. Doing so for each frame would block the page during garbage collection.
    if (this.#canvas.width !== width || this.#canvas.height !== height) Object.assign(this.#canvas, { width, height });
    const context = this.#canvas.getContext('2d', { willReadFrequently: true }) as CanvasRenderingContext2D;
    context.drawImage(this.video, 0, 0);
    return context;
  }
}

const viewerKit = { Viewer, viewer: undefined as Viewer | undefined };
export type ViewerKit = typeof viewerKit;
declare global {
  var viewing: ViewerKit;
}
globalThis.viewing = viewerKit;
