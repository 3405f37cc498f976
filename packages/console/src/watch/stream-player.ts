// Plays the stream of one hls component in a video element: with little delay, through a viewer's token, and again after every loss.
import Hls, { type ErrorData, type LevelUpdatedData } from 'hls.js';
import { checkAddress } from '../api/content-files.ts';
import { errorMessage } from '../api/rest.ts';
import { Store } from '../hooks/store.ts';

/** Where the playlist is, and what has to go with each request where the address does not carry a token. */
export type Source = { url: string; authorization?: string };

export type PlayerState = {
  /** `retrying`: it plays again by itself as soon as it can. */
  phase: 'starting' | 'playing' | 'retrying' | 'ended';
  /** Why it does not play, in a sentence. */
  problem: string | undefined;
  /** The browser wants a click before there is sound. */
  silent: boolean;
  /** Milliseconds from the time in the stream to now, by the clocks of both; undefined while nothing is shown. */
  latency: number | undefined;
  /** Of the last minutes, the newest last. */
  latencies: readonly (number | null)[];
  picture: string | undefined;
  /** Seconds that are loaded and not shown yet. */
  ahead: number | undefined;
  dropped: number | undefined;
};

/** Latencies that are kept: one a second. */
export const keptLatencies = 120;
const tick = 1_000;
const firstRetry = 500;
const maxRetryMs = 5_000;
/** Repairs of the decoder within which the second counts as of no use. */
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
      picture: undefined,
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

  /** To the newest picture. */
  toNow(): void {
    const position = this.#hls?.liveSyncPosition;
    if (typeof position === 'number') this.#video.currentTime = position;
    void this.#play();
  }

  /** After a click, which lets browsers sound. */
  hear(): void {
    this.#video.muted = false;
    this.update({ silent: false });
    void this.#play();
  }

  /** There will be no more of it: what is loaded is shown, and nothing is asked for again. */
  over(): void {
    if (this.state.phase !== 'retrying') return;
    clearTimeout(this.#retry);
    // The last picture stays; else the element would show for ever that it waits for the next one.
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
      // Where there is nothing to load, the last picture stays.
      if (this.#hls) await checkAddress(source.url, source.authorization, this.#closing.signal);
    } catch (error) {
      this.#again(errorMessage(error));
      return;
    }
    if (this.#closing.signal.aborted || this.state.phase === 'ended') return;
    this.#hls?.destroy();
    this.#hls = undefined;
    if (!Hls.isSupported()) {
      this.update({ problem: 'This browser cannot play streams (it has no Media Source Extensions).' });
      return;
    }
    const { authorization } = source;
    const hls = new Hls({
      // Its worker comes from a blob, which the console's policy forbids; fragmented MP4 needs none.
      enableWorker: false,
      lowLatencyMode: true,
      // Who fell behind catches up unnoticed.
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

  /** A stream that has ended and whose last picture is shown already gives no event of its own. */
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
    // A token that is no longer good is replaced with the next attempt.
    const refused = response?.code === 401 || response?.code === 403;
    const gone = response?.code === 404;
    this.#again(
      refused
        ? 'The link to the stream has expired, taking a new one…'
        : gone
          ? 'The stream is not there (any more), looking again…'
          : 'The connection to the stream is lost, trying again…',
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
      picture: video.videoWidth > 0 ? `${video.videoWidth}×${video.videoHeight}` : undefined,
      ahead: buffered.length > 0 ? Math.max(0, buffered.end(buffered.length - 1) - currentTime) : undefined,
      dropped: video.getVideoPlaybackQuality().droppedVideoFrames,
    });
  }
}
