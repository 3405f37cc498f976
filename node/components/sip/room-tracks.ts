// What a telephone hears of its room: every track of sound, on its way to one process.
import type { ComponentHost, ReceivableTrack, RoomOutput } from '../../rooms/ports.ts';

export type RoomTracksOptions = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  /** The process makes itself ready for RTP with this SSRC, and says so by added(). */
  add: (ssrc: number) => void;
  remove: (ssrc: number) => void;
};

const loopback = '127.0.0.1';

export class RoomTracks {
  readonly #options: RoomTracksOptions;
  readonly #output: RoomOutput;
  /** By track: its SSRC; undefined while it is being subscribed. */
  readonly #tracks = new Map<string, number | undefined>();
  #closed = false;

  constructor(options: RoomTracksOptions) {
    this.#options = options;
    this.#output = options.host.openOutput();
  }

  /** To be called once, before receive(): RTP goes to this port of loopback. @throws ServiceError */
  async connect(port: number): Promise<void> {
    await this.#output.connect({ ip: loopback, port });
  }

  /** These tracks and no others from here. */
  receive(tracks: readonly ReceivableTrack[]): void {
    if (this.#closed) return;
    const heard = tracks.filter(({ kind, encoding }) => kind === 'audio' && encoding === 'opus');
    const wanted = new Set(heard.map(({ id }) => id));
    for (const trackId of [...this.#tracks.keys()]) if (!wanted.has(trackId)) this.#drop(trackId);
    for (const { id } of heard) if (!this.#tracks.has(id)) void this.#add(id);
  }

  /** The process takes RTP with this SSRC from here. */
  added(ssrc: number): void {
    const [trackId] = [...this.#tracks].find(([, each]) => each === ssrc) ?? [];
    if (trackId === undefined) return;
    this.#output
      .resume(trackId)
      .catch((error: unknown) => this.#options.host.log.debug({ err: error, track: trackId }, 'a track ended before it was heard'));
  }

  /** Idempotent. */
  close(): void {
    this.#closed = true;
    this.#output.close();
  }

  async #add(trackId: string): Promise<void> {
    const { host, add } = this.#options;
    this.#tracks.set(trackId, undefined);
    try {
      const { ssrc } = await this.#output.subscribe(trackId);
      if (!this.#tracks.has(trackId) || this.#closed) {
        this.#output.unsubscribe(trackId);
        return;
      }
      this.#tracks.set(trackId, ssrc);
      add(ssrc);
    } catch (error) {
      // It ended meanwhile, or the media of the room did.
      this.#tracks.delete(trackId);
      host.log.debug({ err: error, track: trackId }, 'a track cannot be heard');
    }
  }

  #drop(trackId: string): void {
    const ssrc = this.#tracks.get(trackId);
    this.#tracks.delete(trackId);
    this.#output.unsubscribe(trackId);
    if (ssrc !== undefined) this.#options.remove(ssrc);
  }
}
