// Audio level meter: measures the level of a track.

/** Decibels relative to full scale that map to 0 and 1. */
const floor = -60;
const ceiling = -12;
/** Milliseconds between two measurements. */
const interval = 60;

/** Measures until close(). `tell` receives levels from 0 (silence) to 1. */
export class AudioLevelMeter {
  readonly #context = new AudioContext();
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(track: MediaStreamTrack, tell: (level: number) => void) {
    const analyser = this.#context.createAnalyser();
    analyser.fftSize = 1024;
    this.#context.createMediaStreamSource(new MediaStream([track])).connect(analyser);
    this.#context.resume().catch(() => undefined);
    const samples = new Float32Array(analyser.fftSize);
    this.#timer = setInterval(() => {
      analyser.getFloatTimeDomainData(samples);
      tell(levelOf(samples));
    }, interval);
  }

  /** Idempotent. */
  close(): void {
    clearInterval(this.#timer);
    if (this.#context.state !== 'closed') this.#context.close().catch(() => undefined);
  }
}

/** Logarithmic level, as loudness is perceived. */
export function levelOf(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  const decibels = 10 * Math.log10(sum / Math.max(1, samples.length));
  return Math.min(1, Math.max(0, (decibels - floor) / (ceiling - floor)));
}
