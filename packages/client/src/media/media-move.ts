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
   * Resolves when this peer uses the new path. What it publishes is also sent over the former one, until its receivers have changed.
   * @throws Error if the new path was closed meanwhile, or the server rejects it
   */
  async run(): Promise<void> {
    const { path, next, shown, localTracks, channels, request, joinResponse, requestTransports } = this.#options;
    await next.load(joinResponse);
    await next.open(joinResponse, requestTransports());
    await Promise.all([localTracks.publishToo(next), ...[...channels].map((channel) => channel.publishToo(next))]);
    const deadline = performance.now() + flowTimeoutMs;
    while (!this.#flows() && performance.now() < deadline && !next.closed) {
      await new Promise((resolve) => setTimeout(resolve, flowIntervalMs));
      await shown.replace(next, 'flowing');
    }
    await request('usePath', { path });
    await shown.replace(next, 'all');
    next.isOnlyPath();
  }

  /** True if everything is received over the new path, and can be sent over it. */
  #flows(): boolean {
    const { before, next, shown, receivedData, channels } = this.#options;
    if (shown.countOver(before) > 0 || receivedData.countOver(before, next) > 0 || next.path === 'connecting') return false;
    return [...channels].every((channel) => channel.isReadyOver(next));
  }
}
