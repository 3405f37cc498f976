// Playback: opens the source of a player, renews an expired URL, and retries while the server is unreachable.
import { checkAddress, type FileName, openFile, openStream } from '../api/content-files.ts';
import { type Api, ApiError, errorMessage } from '../api/rest.ts';
import type { Scope } from '../hooks/console-context.ts';
import { Store } from '../hooks/store.ts';

/** `authorization`: header for streams whose URL has no token. */
export type Source = { url: string; authorization: string | undefined };
export type PlaybackState =
  | { phase: 'opening'; bytes: number; all: number | undefined }
  | { phase: 'ready'; source: Source; from: number }
  /** The server is unreachable; the source is opened again automatically. */
  | { phase: 'lost' }
  | { phase: 'failed'; message: string };

const retryDelay = 2_000;
/** Milliseconds within which a URL cannot have expired: a new one would not help. */
const tooSoon = 5_000;

type Options = { api: Api; scope: Scope; name: FileName; stream: boolean; cannotPlay: string };

export class Playback extends Store<{ now: PlaybackState }> {
  readonly #options: Options;
  readonly #ending = new AbortController();
  #release: () => void = () => undefined;
  #openedAt = Number.NEGATIVE_INFINITY;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: Options) {
    super({ now: { phase: 'opening', bytes: 0, all: undefined } });
    this.#options = options;
    void this.#open(0);
  }

  /** Handles a failure of the player. `at`: position in seconds. */
  async failed(at: number): Promise<void> {
    const { now } = this.state;
    if (now.phase !== 'ready') return;
    const { source } = now;
    if (source.url.startsWith('blob:')) return this.#tell({ phase: 'failed', message: this.#options.cannotPlay });
    try {
      await checkAddress(source.url, source.authorization, this.#ending.signal);
      if (this.state.now === now) this.#tell({ phase: 'failed', message: this.#options.cannotPlay });
    } catch (error) {
      // A player may report several failures; the first one is already handled.
      if (this.state.now !== now) return;
      const expired = error instanceof ApiError && (error.status === 401 || error.status === 403);
      if (expired && performance.now() - this.#openedAt > tooSoon) void this.#open(at);
      else this.#refused(error, at);
    }
  }

  /** Idempotent. */
  close(): void {
    this.#ending.abort();
    clearTimeout(this.#timer);
    this.#release();
    this.#release = () => undefined;
  }

  async #open(from: number): Promise<void> {
    const { api, scope, name, stream } = this.#options;
    const { signal } = this.#ending;
    this.#release();
    this.#release = () => undefined;
    this.#tell({ phase: 'opening', bytes: 0, all: undefined });
    try {
      if (stream) {
        const source = await openStream(api, scope, name, signal);
        this.#openedAt = performance.now();
        return this.#tell({ phase: 'ready', source, from });
      }
      const { url, close } = await openFile(api, scope, name, signal, (bytes, all) => this.#tell({ phase: 'opening', bytes, all }));
      if (signal.aborted) return close();
      this.#release = close;
      this.#openedAt = performance.now();
      this.#tell({ phase: 'ready', source: { url, authorization: undefined }, from });
    } catch (error) {
      this.#refused(error, from);
    }
  }

  #refused(error: unknown, at: number): void {
    if (this.#ending.signal.aborted) return;
    if (error instanceof ApiError && error.unreachable) {
      this.#tell({ phase: 'lost' });
      this.#timer = setTimeout(() => void this.#open(at), retryDelay);
    } else this.#tell({ phase: 'failed', message: errorMessage(error) });
  }

  #tell(now: PlaybackState): void {
    if (!this.#ending.signal.aborted) this.update({ now });
  }
}
