// Stream player: plays the low-latency stream of an hls component in a video element and retries after every failure.
import Hls, { type ErrorData, type LevelUpdatedData } from 'hls.js';
import { checkAddress } from '../api/content-files.ts';
import { errorMessage } from '../api/rest.ts';
import { Store } from '../hooks/store.ts';

/** URL of the playlist, and the header of every request if the URL has no token. */
export type Source = { url: string; authorization?: string };

export type PlayerState = {
  /** `retrying`: playback resumes automatically. */
  phase: 'starting' | 'playing' | 'retrying' | 'ended';
  /** Why it does not play. */
  problem: string | undefined;
  /** Muted, because the browser requires a click before audio. */
  silent: boolean;
  /** Milliseconds from the time in the stream to now, by the clocks of server and browser; undefined while nothing is shown. */
  latency: number | undefined;
  /** Recent latencies, the newest last. */
  latencies: readonly (number | null)[];
  resolution: string | undefined;
  /** Buffered seconds. */
  ahead: number | undefined;
  dropped: number | undefined;
};

/** Number of kept latencies, one per second. */
export const keptLatencies = 120;
const tick = 1_000;
const firstRetry = 500;
const maxRetryMs = 5_000;
/** Milliseconds after a decoder recovery within which another decoder error is not recovered again. */
const repairPause = 5_000;

export class StreamPlayer extends Store<PlayerState> {
  readonly #video: HTMLVideoElement;
  readonly #source: () => Promise<Source>;
  readonly #closing = new AbortController();
  readonly #ticks: ReturnType<typeof setInterval>;
  readonly #onEnded = () => this.update({ phase: 'ended', problem: undefined, latency: undefined });
  readonly #onPlaying = () => this.#playing();
  #hls: Hls | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #delay = firstRetry;
  #repairedAt = Number.NEGATIVE_INFINITY;

  constructor(video: HTMLVideoElement, source: () => Promise<Source>) {
    super({
      phase: 'starting',
      problem: undefined,
      silent: false,
      latency: undefined,
      latencies: [],
      resolution: undefined,
      ahead: undefined,
      dropped: undefined,
    });
    this.#video = video;
    this.#source = source;
    video.addEventListener('ended', this.#onEnded);
    video.addEventListener('playing', this.#onPlaying);
    this.#ticks = setInterval(() => this.#measure(), tick);
    void this.#load();
  }

  /** Seeks to the live edge. */
  toNow(): void {
    const position = this.#hls?.liveSyncPosition;
    if (typeof position === 'number') this.#video.currentTime = position;
    void this.#play();
  }

  /** Unmutes, after a click. */
  hear(): void {
    this.#video.muted = false;
    this.update({ silent: false });
    void this.#play();
  }

  /** Ends retries, because the stream has ended: shows the buffered rest. */
  over(): void {
    if (this.state.phase !== 'retrying') return;
    clearTimeout(this.#retry);
    // Keeps the last frame; otherwise the element would show its loading indicator forever.
    this.#video.pause();
    if (this.#video.readyState < HTMLMediaElement.HAVE_CURRENT_DATA) this.#hls?.destroy();
    this.#onEnded();
  }

  /** Idempotent. */
  close(): void {
    this.#closing.abort();
    clearTimeout(this.#retry);
    clearInterval(this.#ticks);
    this.#video.removeEventListener('ended', this.#onEnded);
    this.#video.removeEventListener('playing', this.#onPlaying);
    this.#hls?.destroy();
  }

  async #load(): Promise<void> {
    let source: Source;
    try {
      source = await this.#source();
      // If the playlist is not available, the last frame stays.
      if (this.#hls) await checkAddress(source.url, source.authorization, this.#closing.signal);
    } catch (error) {
      this.#again(errorMessage(error));
      return;
    }
    if (this.#closing.signal.aborted || this.state.phase === 'ended') return;
    this.#hls?.destroy();
    this.#hls = undefined;
    if (!Hls.isSupported()) {
      this.update({ problem: 'This browser cannot play streams (no Media Source Extensions).' });
      return;
    }
    const { authorization } = source;
    const hls = new Hls({
      // Its worker is created from a blob, which the content security policy forbids; fragmented MP4 needs none.
      enableWorker: false,
      lowLatencyMode: true,
      // Catches up by playing slightly faster.
      maxLiveSyncPlaybackRate: 1.1,
      backBufferLength: 30,
      ...(authorization && { xhrSetup: (request: XMLHttpRequest) => request.setRequestHeader('authorization', authorization) }),
    });
    this.#hls = hls;
    hls.on(Hls.Events.MANIFEST_PARSED, () => void this.#play());
    hls.on(Hls.Events.LEVEL_UPDATED, (_event, data) => this.#updated(data));
    hls.on(Hls.Events.ERROR, (_event, data) => this.#failed(data));
    hls.loadSource(source.url);
    hls.attachMedia(this.#video);
  }

  async #play(): Promise<void> {
    try {
      await this.#video.play();
    } catch (error) {
      if (!(error instanceof DOMException && error.name === 'NotAllowedError')) return;
      this.#video.muted = true;
      this.update({ silent: true });
      await this.#video.play().catch(() => undefined);
    }
  }

  #playing(): void {
    this.#delay = firstRetry;
    if (this.state.phase !== 'ended') this.update({ phase: 'playing', problem: undefined });
  }

  /** No `ended` event is fired if the stream ends after its last frame was shown. */
  #updated({ details }: LevelUpdatedData): void {
    if (details.live) return;
    const { currentTime, buffered } = this.#video;
    const end = buffered.length > 0 ? buffered.end(buffered.length - 1) : 0;
    if (this.#video.ended || (end > 0 && end >= details.edge - 0.5 && currentTime >= end - 0.3)) this.#onEnded();
  }

  #failed({ fatal, type, response }: ErrorData): void {
    if (!fatal || this.state.phase === 'ended') return;
    const now = performance.now();
    if (type === Hls.ErrorTypes.MEDIA_ERROR && now - this.#repairedAt > repairPause) {
      this.#repairedAt = now;
      this.#hls?.recoverMediaError();
      return;
    }
    // The next attempt renews an expired token.
    const refused = response?.code === 401 || response?.code === 403;
    const deleted = response?.code === 404;
    this.#again(
      refused ? 'Stream link expired. Renewing…' : deleted ? 'Stream not found. Retrying…' : 'Connection to the stream lost. Retrying…',
    );
  }

  #again(problem: string): void {
    if (this.#closing.signal.aborted || this.state.phase === 'ended') return;
    this.#hls?.stopLoad();
    this.update({ phase: 'retrying', problem, latency: undefined });
    clearTimeout(this.#retry);
    this.#retry = setTimeout(() => void this.#load(), this.#delay * (0.75 + Math.random() / 2));
    this.#delay = Math.min(maxRetryMs, this.#delay * 2);
  }

  #measure(): void {
    const video = this.#video;
    const date = this.#hls?.playingDate;
    const plays = this.state.phase === 'playing' && date;
    const latency = plays ? Date.now() - date.getTime() : undefined;
    const { buffered, currentTime } = video;
    this.update({
      latency,
      latencies: [...this.state.latencies, latency ?? null].slice(-keptLatencies),
      resolution: video.videoWidth > 0 ? `${video.videoWidth}×${video.videoHeight}` : undefined,
      ahead: buffered.length > 0 ? Math.max(0, buffered.end(buffered.length - 1) - currentTime) : undefined,
      dropped: video.getVideoPlaybackQuality().droppedVideoFrames,
    });
  }
}
