// Media move: a second media session over another path, and the change to it when its tracks flow.
import type { DataChannel } from '../data-channel.ts';
import type { JoinResponse } from '../generated/protocol.ts';
import type { LocalTracks } from './local-tracks.ts';
import type { MediaSession } from './media-session.ts';
import type { ReceivedData } from './received-data.ts';
import { flowIntervalMs, flowTimeoutMs, type ShownTracks } from './shown-tracks.ts';
import type { PrefetchedTransports, Request } from './transport-requests.ts';

export type MediaMoveOptions = {
  path: string;
  before: MediaSession;
  next: MediaSession;
  shown: ShownTracks;
  localTracks: LocalTracks;
  channels: ReadonlySet<DataChannel>;
  receivedData: ReceivedData;
  request: Request;
  joinResponse: JoinResponse;
  requestTransports: () => PrefetchedTransports;
};

/** Less than the server waits for a request. */
const connectTimeoutMs = 10_000;

export class MediaMove {
  readonly path: string;
  readonly next: MediaSession;
  /** True if the server has closed the former path. */
  left = false;
  readonly #options: MediaMoveOptions;

  constructor(options: MediaMoveOptions) {
    this.path = options.path;
    this.next = options.next;
    this.#options = options;
  }

  /**
   * Resolves when this peer uses the new path. What it publishes is also sent over the former one, until its receivers have changed; over a
   * thin uplink, video changes at once.
   * @throws Error if the new path was closed meanwhile, or the server rejects it
   */
  async run(): Promise<void> {
    const { path, next, shown, localTracks, channels, request, joinResponse, requestTransports } = this.#options;
    await next.load(joinResponse);
    await next.open(joinResponse, requestTransports());
    await Promise.all([localTracks.publishToo(next), ...[...channels].map((channel) => channel.publishToo(next))]);
    await this.#flowing();
    await localTracks.changePath('begin');
    await request('usePath', { path });
    await shown.replace(next, 'all');
    next.isOnlyPath();
  }

  /** Resolves when the new path has what the former one has. @throws Error if it does not connect */
  async #flowing(): Promise<void> {
    const { next, shown } = this.#options;
    const connects = () => next.path === 'connecting' || next.path === 'broken';
    const begins = () => connects() || next.receivesLater;
    let deadline = performance.now() + flowTimeoutMs;
    const last = performance.now() + connectTimeoutMs;
    while ((connects() || !this.#flows()) && performance.now() < deadline && !next.closed) {
      await new Promise((resolve) => setTimeout(resolve, flowIntervalMs));
      // On slow devices, and among many peers that move, it may take longer. The former path is of use until then.
      if (begins()) deadline = Math.min(last, performance.now() + flowTimeoutMs);
      await shown.replace(next, 'flowing');
    }
    if (connects()) throw new Error('The new media path could not connect');
  }

  /** True if everything is received over the new path, and can be sent over it. */
  #flows(): boolean {
    const { before, next, shown, receivedData, channels } = this.#options;
    if (shown.countOver(before) > 0 || receivedData.countOver(before, next) > 0) return false;
    return [...channels].every((channel) => channel.isReadyOver(next));
  }
}
