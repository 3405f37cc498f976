// Media move: a second media session over another path, and the change to it when its tracks flow.
import type { JoinResponse } from '../generated/protocol.ts';
import type { MediaSession, PrefetchedTransports, Request } from './media-session.ts';
import type { ShownTracks } from './shown-tracks.ts';

/** Time in milliseconds until the tracks are shown over the new path although some do not flow there, and interval of the checks. */
const flowTimeoutMs = 3_000;
const flowIntervalMs = 20;

export type MediaMoveOptions = {
  path: string;
  before: MediaSession;
  next: MediaSession;
  shown: ShownTracks;
  request: Request;
  joinResponse: JoinResponse;
  requestTransports: () => PrefetchedTransports;
};

export class MediaMove {
  readonly path: string;
  readonly next: MediaSession;
  readonly #options: MediaMoveOptions;

  constructor(options: MediaMoveOptions) {
    this.path = options.path;
    this.next = options.next;
    this.#options = options;
  }

  /** Resolves when the server uses the new path only. @throws Error if it was closed meanwhile, or the server rejects it */
  async run(): Promise<void> {
    const { path, next, before, shown, request, joinResponse, requestTransports } = this.#options;
    await next.load(joinResponse);
    await next.open(joinResponse, requestTransports());
    const deadline = performance.now() + flowTimeoutMs;
    while (shown.countOver(before) > 0 && performance.now() < deadline && !next.closed) {
      await new Promise((resolve) => setTimeout(resolve, flowIntervalMs));
      await shown.replace(next, 'flowing');
    }
    await request('usePath', { path });
    await shown.replace(next, 'all');
    next.isOnlyPath();
  }
}
