// A track that this client publishes: it stays the same object while connections, and its ids, come and go.
import type { types } from 'mediasoup-client';
import { RequestError, SessionLostError } from '../errors.ts';
import { type Deferred, deferred } from '../pending.ts';
import type { Json, Kind } from '../protocol.ts';
import { defaultEncodings, isScreen, startBitrate, videoSize } from './encodings.ts';
import type { MediaSession, ProducedTrack, Request } from './media-session.ts';

export type PublishOptions = {
  /** Shown to the other peers: any JSON of at most 16 KiB. */
  metadata?: Json;
  paused?: boolean;
  /** Several sizes at once, of which each receiver gets the one that fits; on by default for video that is no screen. */
  simulcast?: boolean;
  /** In place of the encodings chosen by size: the smallest first. */
  encodings?: types.RtpEncodingParameters[];
  /** `vp8`, `h264`, `vp9`, `av1`, `opus`: by default the first that room and browser have in common. */
  codec?: string;
  codecOptions?: types.ProducerCodecOptions;
};

/** Why a local track ended: its source ended, the server removed it, the server refused it after a reconnect. */
export type LocalTrackEnd = 'ended' | 'removed' | 'refused';

/** A published track as the application has it. */
export interface LocalTrack {
  /** The id that the others know it by; another one after a reconnect that made a new session. */
  readonly id: string;
  readonly kind: Kind;
  readonly mediaStreamTrack: MediaStreamTrack;
  readonly metadata: Json;
  readonly paused: boolean;
  /** Muted by the server. */
  readonly muted: boolean;
  /** Stops sending: black and silence locally, nothing at the others. */
  pause(): Promise<void>;
  resume(): Promise<void>;
  /** Sends another source, e.g. another camera. The old one is not stopped. */
  replaceTrack(track: MediaStreamTrack): Promise<void>;
  setMetadata(metadata: Json): Promise<void>;
  /** Takes it away from the others. The MediaStreamTrack is not stopped. */
  unpublish(): Promise<void>;
  getStats(): Promise<RTCStatsReport | undefined>;
}

export type LocalTrackHost = {
  request: Request;
  /** It is over, by whatever cause but unpublish(). */
  ended: (track: PublishedTrack, reason: LocalTrackEnd) => void;
  unpublished: (track: PublishedTrack) => void;
  /** It has another id; `muted`: whether the server mutes it from the start. */
  renewed: (track: PublishedTrack, muted: boolean) => void;
};

type Binding = { session: MediaSession; producer: types.Producer };

/** Tells the tracks of this page from those of the same peer after a reload. */
const page = Math.random().toString(36).slice(2);
let count = 0;
const sourceEnded = 'The source of the track ended';

export class PublishedTrack implements LocalTrack {
  readonly kind: Kind;
  readonly #options: PublishOptions;
  readonly #host: LocalTrackHost;
  /** By which the server knows it again in another session. */
  readonly #key: string;
  readonly #first: Deferred<void> = deferred();
  #track: MediaStreamTrack;
  #metadata: Json;
  #paused: boolean;
  #muted = false;
  #id = '';
  #binding: Binding | undefined;
  #over = false;

  constructor(track: MediaStreamTrack, options: PublishOptions, host: LocalTrackHost) {
    this.#track = track;
    this.kind = track.kind === 'audio' ? 'audio' : 'video';
    this.#options = options;
    this.#metadata = options.metadata ?? null;
    this.#paused = options.paused ?? false;
    this.#host = host;
    count += 1;
    this.#key = `${page}-${count}`;
  }

  get id(): string {
    return this.#id;
  }

  get mediaStreamTrack(): MediaStreamTrack {
    return this.#track;
  }

  get metadata(): Json {
    return this.#metadata;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get muted(): boolean {
    return this.#muted;
  }

  /** Resolves when the others can have it for the first time. */
  get published(): Promise<void> {
    return this.#first.promise;
  }

  pause(): Promise<void> {
    return this.#setPaused(true);
  }

  resume(): Promise<void> {
    return this.#setPaused(false);
  }

  async replaceTrack(track: MediaStreamTrack): Promise<void> {
    if (track.kind !== this.kind) throw new TypeError(`Expected a track of kind ${this.kind}, got: ${track.kind}`);
    this.#assertPublished();
    this.#track = track;
    track.enabled = !this.#paused;
    await this.#binding?.producer.replaceTrack({ track });
  }

  async setMetadata(metadata: Json): Promise<void> {
    this.#assertPublished();
    const before = this.#metadata;
    this.#metadata = metadata;
    if (!this.#binding) return;
    try {
      await this.#tell(() => this.#host.request('setTrackMetadata', { trackId: this.#id, metadata }));
    } catch (error) {
      // The next session would refuse it with the track.
      if (this.#metadata === metadata) this.#metadata = before;
      throw error;
    }
  }

  async unpublish(): Promise<void> {
    if (this.#over) return;
    const bound = this.#binding !== undefined;
    this.end(new RequestError('unpublished', 'The track was unpublished'));
    this.#host.unpublished(this);
    if (bound) await this.#withdraw();
  }

  async getStats(): Promise<RTCStatsReport | undefined> {
    return this.#binding?.producer.getStats();
  }

  /** Publishes over this session. A session that goes meanwhile is no failure: the next one comes. */
  async publishOver(session: MediaSession): Promise<void> {
    try {
      const [paused, metadata] = [this.#paused, this.#metadata];
      const { producer, muted } = await this.#produce(session);
      if (this.#over || session.closed) {
        producer.close();
        if (!session.closed) await this.#host.request('unpublish', { trackId: producer.id });
        return;
      }
      // mediasoup-client listens for it from here on.
      if (this.#track.readyState === 'ended') {
        producer.close();
        await this.#host.request('unpublish', { trackId: producer.id });
        throw new RequestError('ended', sourceEnded);
      }
      this.#binding = { session, producer };
      this.#id = producer.id;
      producer.on('trackended', () => this.#sourceEnded());
      this.#first.resolve();
      this.#host.renewed(this, muted);
      if (this.#paused !== paused) await this.#setPaused(this.#paused);
      if (this.#metadata !== metadata) await this.setMetadata(this.#metadata);
      if (producer.track !== this.#track) await producer.replaceTrack({ track: this.#track });
    } catch (error) {
      if (session.closed || this.#over || error instanceof SessionLostError) return;
      const first = this.#id === '';
      const bound = this.#binding !== undefined;
      this.end(error as Error);
      // What failed came behind its publication: the others have it.
      if (bound) void this.#withdraw().catch(() => {});
      if (first) this.#host.unpublished(this);
      else this.#host.ended(this, this.#whyRefused(error));
    }
  }

  #whyRefused(error: unknown): LocalTrackEnd {
    if (this.#track.readyState === 'ended') return 'ended';
    // It was removed while this client was away.
    return error instanceof RequestError && error.code === 'track_not_found' ? 'removed' : 'refused';
  }

  /** The session is gone; what is published stays wanted. */
  unbind(): void {
    this.#binding = undefined;
  }

  /** The server muted or unmuted it. */
  setMuted(muted: boolean): void {
    this.#muted = muted;
  }

  /** It is over; nothing is sent any more. `why` is told to those who wait for its first publication. */
  end(why: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#first.reject(why);
    this.#first.promise.catch(() => {});
    this.#binding?.producer.close();
    this.#binding = undefined;
  }

  async #setPaused(paused: boolean): Promise<void> {
    this.#assertPublished();
    this.#paused = paused;
    this.#track.enabled = !paused;
    const { producer } = this.#binding ?? {};
    if (!producer) return;
    if (paused) producer.pause();
    else producer.resume();
    await this.#tell(() => this.#host.request(paused ? 'pauseTrack' : 'resumeTrack', { trackId: this.#id }));
  }

  #sourceEnded(): void {
    if (this.#over) return;
    this.end(new RequestError('ended', sourceEnded));
    void this.#withdraw().catch(() => {});
    this.#host.ended(this, 'ended');
  }

  async #produce(session: MediaSession): Promise<ProducedTrack> {
    const produce = (encodings: types.RtpEncodingParameters[] | undefined) => {
      this.#track.enabled = !this.#paused;
      return session.produce({
        track: this.#track,
        encodings,
        codec: this.#options.codec,
        streamId: this.kind === 'video' && isScreen(this.#track) ? 'screen' : 'main',
        codecOptions: { ...defaultCodecOptions(this.kind, encodings), ...this.#options.codecOptions },
        metadata: this.#metadata,
        paused: this.#paused,
        key: this.#key,
      });
    };
    if (this.kind === 'audio' || this.#options.encodings) return produce(this.#options.encodings);
    const screen = isScreen(this.#track);
    const preferences = { codec: this.#options.codec?.toLowerCase(), ...videoSize(this.#track), screen };
    const simulcast = this.#options.simulcast ?? !screen;
    const encodings = defaultEncodings({ ...preferences, simulcast });
    try {
      return await produce(encodings);
    } catch (error) {
      // A peer may be kept from simulcast; where nobody insists on it, one encoding does.
      const refused = error instanceof RequestError && error.code === 'forbidden' && encodings.length > 1;
      if (!refused || this.#options.simulcast !== undefined || session.closed) throw error;
      return produce(defaultEncodings({ ...preferences, simulcast: false }));
    }
  }

  /** Takes it away from the others. */
  #withdraw(): Promise<void> {
    return this.#tell(() => this.#host.request('unpublish', { trackId: this.#id }));
  }

  /** What a session that is lost meanwhile does not hear, the next one hears with the publication. */
  async #tell(request: () => Promise<unknown>): Promise<void> {
    try {
      await request();
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
    }
  }

  #assertPublished(): void {
    if (this.#over) throw new RequestError('track_not_found', 'The track is not published any more');
  }
}

/** Starts video at a rate at which the large layer comes at once, and lets silence cost nothing. */
function defaultCodecOptions(kind: Kind, encodings: types.RtpEncodingParameters[] | undefined): types.ProducerCodecOptions {
  return kind === 'audio' ? { opusFec: true, opusDtx: true } : { videoGoogleStartBitrate: startBitrate(encodings ?? []) };
}
