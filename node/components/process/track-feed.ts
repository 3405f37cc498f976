// Track feed of a component process: subscribes the process to tracks of the room, and starts RTP when the process is ready.
import type { ComponentHost, EgressTrack, RtpAddress, RtpEgress, SubscribableTrack } from '../../rooms/interfaces.ts';

export type TrackFeedOptions<Taken extends SubscribableTrack> = {
  host: Pick<ComponentHost, 'log' | 'openOutput'>;
  /** True if the process supports the track; called once per track. */
  takes: (track: SubscribableTrack) => track is Taken;
  /** Announces RTP of this track to the process, which responds with added(). @returns the number that identifies the track */
  add: (track: Taken, rtp: EgressTrack) => number;
  remove: (number: number) => void;
};

/** `number` is undefined while subscribing, and for unsupported tracks. */
type Entry = { number: number | undefined };

const loopback = '127.0.0.1';

export class TrackFeed<Taken extends SubscribableTrack> {
  readonly #options: TrackFeedOptions<Taken>;
  readonly #output: RtpEgress;
  /** By track. A track that was removed and added again has another entry, also while the first is being subscribed. */
  readonly #tracks = new Map<string, Entry>();
  #stopped = false;

  constructor(options: TrackFeedOptions<Taken>) {
    this.#options = options;
    this.#output = options.host.openOutput();
  }

  /** Call once, before receive(): RTP is sent to this port of loopback. @returns the address for RTCP feedback. @throws ServiceError */
  connect(port: number): Promise<RtpAddress> {
    return this.#output.connect({ ip: loopback, port });
  }

  /** Replaces the set of tracks. */
  receive(tracks: readonly SubscribableTrack[]): void {
    if (this.#stopped) return;
    const wanted = new Set(tracks.map(({ id }) => id));
    for (const trackId of [...this.#tracks.keys()]) if (!wanted.has(trackId)) this.#drop(trackId);
    for (const track of tracks) if (!this.#tracks.has(track.id)) void this.#add(track);
  }

  /** The process is ready for RTP of the track with this number. */
  added(number: number): void {
    const [trackId] = [...this.#tracks].find(([, each]) => each.number === number) ?? [];
    if (trackId === undefined) return;
    this.#output
      .resume(trackId)
      .catch((error: unknown) => this.#options.host.log.debug({ err: error, track: trackId }, 'track ended before its first packet'));
  }

  /** Ids of the tracks with these numbers, if they still exist. */
  named(numbers: readonly number[]): string[] {
    return [...this.#tracks].filter(([, { number }]) => number !== undefined && numbers.includes(number)).map(([trackId]) => trackId);
  }

  /** Ignores further changes; RTP of current tracks continues. Idempotent. */
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
      // A track that was added again meanwhile keeps its subscription.
      else if (current === undefined || this.#stopped) this.#output.unsubscribe(track.id);
    } catch (error) {
      // The track or the room ended meanwhile.
      if (this.#tracks.get(track.id) === entry) this.#tracks.delete(track.id);
      host.log.debug({ err: error, track: track.id }, 'could not subscribe component to track');
    }
  }

  #drop(trackId: string): void {
    const number = this.#tracks.get(trackId)?.number;
    this.#tracks.delete(trackId);
    this.#output.unsubscribe(trackId);
    if (number !== undefined) this.#options.remove(number);
  }
}
