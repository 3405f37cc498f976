// The tracks of a room on their way to one process: each is subscribed, told to the process, and flows once that is ready for it.
import type { ComponentHost, EgressTrack, RtpAddress, RtpEgress, SubscribableTrack } from '../../rooms/interfaces.ts';

export type TrackFeedOptions<Taken extends SubscribableTrack> = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  /** Whether the process can make something of it; asked once for each that comes. */
  takes: (track: SubscribableTrack) => track is Taken;
  /** The process makes itself ready for RTP of this track. @returns the number that it is told apart by: the process says added() with it */
  add: (track: Taken, rtp: EgressTrack) => number;
  remove: (number: number) => void;
};

/** `number` is undefined while the track is being subscribed, and where it is not taken. */
type Entry = { number: number | undefined };

const loopback = '127.0.0.1';

export class TrackFeed<Taken extends SubscribableTrack> {
  readonly #options: TrackFeedOptions<Taken>;
  readonly #output: RtpEgress;
  /** By track. One that went and came again has another entry, also while the first is still being subscribed. */
  readonly #tracks = new Map<string, Entry>();
  #stopped = false;

  constructor(options: TrackFeedOptions<Taken>) {
    this.#options = options;
    this.#output = options.host.openOutput();
  }

  /** To be called once, before receive(): RTP goes to this port of loopback. @returns where feedback about it goes. @throws ServiceError */
  connect(port: number): Promise<RtpAddress> {
    return this.#output.connect({ ip: loopback, port });
  }

  /** These tracks and no others from here. */
  receive(tracks: readonly SubscribableTrack[]): void {
    if (this.#stopped) return;
    const wanted = new Set(tracks.map(({ id }) => id));
    for (const trackId of [...this.#tracks.keys()]) if (!wanted.has(trackId)) this.#drop(trackId);
    for (const track of tracks) if (!this.#tracks.has(track.id)) void this.#add(track);
  }

  /** The process takes RTP of the track with this number from here. */
  added(number: number): void {
    const [trackId] = [...this.#tracks].find(([, each]) => each.number === number) ?? [];
    if (trackId === undefined) return;
    this.#output
      .resume(trackId)
      .catch((error: unknown) => this.#options.host.log.debug({ err: error, track: trackId }, 'a track ended before it flowed'));
  }

  /** The tracks with these numbers, those of them that are still there. */
  named(numbers: readonly number[]): string[] {
    return [...this.#tracks].filter(([, { number }]) => number !== undefined && numbers.includes(number)).map(([trackId]) => trackId);
  }

  /** Nothing comes or goes from here; what flows goes on. Idempotent. */
  stop(): void {
    this.#stopped = true;
  }

  /** Idempotent. */
  close(): void {
    this.stop();
    this.#output.close();
  }

  async #add(track: SubscribableTrack): Promise<void> {
    const { host, takes, add } = this.#options;
    const entry: Entry = { number: undefined };
    this.#tracks.set(track.id, entry);
    if (!takes(track)) return;
    try {
      const rtp = await this.#output.subscribe(track.id);
      const current = this.#tracks.get(track.id);
      if (current === entry && !this.#stopped) entry.number = add(track, rtp);
      // What came again meanwhile is subscribed for that one.
      else if (current === undefined || this.#stopped) this.#output.unsubscribe(track.id);
    } catch (error) {
      // It ended meanwhile, or the media of the room did.
      if (this.#tracks.get(track.id) === entry) this.#tracks.delete(track.id);
      host.log.debug({ err: error, track: track.id }, 'a track could not be received');
    }
  }

  #drop(trackId: string): void {
    const number = this.#tracks.get(trackId)?.number;
    this.#tracks.delete(trackId);
    this.#output.unsubscribe(trackId);
    if (number !== undefined) this.#options.remove(number);
  }
}
