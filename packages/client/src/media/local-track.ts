// Local track: a published track that stays the same object across sessions, while its id changes.
import type { types } from 'mediasoup-client';
import { RequestError, SessionLostError } from '../errors.ts';
import type { Json, Kind } from '../generated/protocol.ts';
import { type Deferred, deferred } from '../pending.ts';
import { activateLayers, defaultEncodings, isScreen, startBitrate, videoSize } from './encodings.ts';
import type { MediaSession, ProducedTrack } from './media-session.ts';
import type { Request } from './transport-requests.ts';

export type PublishOptions = {
  /** Metadata for other peers: any JSON of at most 16 KiB. */
  metadata?: Json;
  /** Publishes the track paused; default false. */
  paused?: boolean;
  /** Publishes several sizes, of which each receiver gets the one that fits; default true for video that is not a screen. */
  simulcast?: boolean;
  /** Replaces the default encodings: smallest first. */
  encodings?: types.RtpEncodingParameters[];
  /** `vp8`, `h264`, `vp9`, `av1`, `opus`; default: the first that room and browser support. */
  codec?: string;
  codecOptions?: types.ProducerCodecOptions;
  /**
   * Encrypts the track end to end: called with its sender in each session, before the first frame, for example to set
   * `sender.transform`. Others see the track as `encrypted`. Nodes before 0.8 do not support it.
   */
  encrypt?: (sender: RTCRtpSender) => void;
};

/** Why a local track ended: its source ended (`ended`), the server removed it (`removed`) or rejected it after a reconnect (`refused`). */
export type LocalTrackEnd = 'ended' | 'removed' | 'refused';

/** A published track. */
export interface LocalTrack {
  /** Id of the track for other peers; changes if a reconnect creates a new session. */
  readonly id: string;
  readonly kind: Kind;
  readonly mediaStreamTrack: MediaStreamTrack;
  readonly metadata: Json;
  readonly paused: boolean;
  /** Muted by the server. */
  readonly muted: boolean;
  /** Pauses the track: local preview is black or silent, and nothing is sent. @throws RequestError */
  pause(): Promise<void>;
  /** Resumes the track. @throws RequestError */
  resume(): Promise<void>;
  /** Replaces the source, for example with another camera, without stopping the old one. @throws TypeError if the media kind differs */
  replaceTrack(track: MediaStreamTrack): Promise<void>;
  /** Sets the metadata for other peers: any JSON of at most 16 KiB. @throws RequestError */
  setMetadata(metadata: Json): Promise<void>;
  /** Unpublishes the track. The MediaStreamTrack is not stopped. */
  unpublish(): Promise<void>;
  /** WebRTC stats of the sender; undefined during an outage. */
  getStats(): Promise<RTCStatsReport | undefined>;
}

export type LocalTrackHost = {
  request: Request;
  /** The track ended other than by unpublish(). */
  ended: (track: PublishedTrack, reason: LocalTrackEnd) => void;
  unpublished: (track: PublishedTrack) => void;
  /** The track has a new id; `muted`: the server muted it from the start. */
  renewed: (track: PublishedTrack, muted: boolean) => void;
};

/** What is sent over one path. `top`: the largest encoding that receivers need, null: none. `limit`: the largest one for now, null: none. */
type Binding = { session: MediaSession; producer: types.Producer; top: number | null; limit: number | null };
const unlimited = Number.POSITIVE_INFINITY;

/** Distinguishes the tracks of this page from those before a reload. */
const page = Math.random().toString(36).slice(2);
let count = 0;
const sourceEnded = 'The source of the track ended';

export class PublishedTrack implements LocalTrack {
  readonly kind: Kind;
  readonly #options: PublishOptions;
  readonly #host: LocalTrackHost;
  /** Key that identifies the track in another session. */
  readonly #key: string;
  readonly #first: Deferred<void> = deferred();
  #track: MediaStreamTrack;
  #metadata: Json;
  #paused: boolean;
  #muted = false;
  #id = '';
  #binding: Binding | undefined;
  /** Over the second path of a peer that moves. */
  #next: Binding | undefined;
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

  /** By the server. */
  set muted(muted: boolean) {
    this.#muted = muted;
  }

  /** Resolves when the track is published for the first time. */
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
    await Promise.all(this.#producers.map((producer) => producer.replaceTrack({ track })));
  }

  async setMetadata(metadata: Json): Promise<void> {
    this.#assertPublished();
    const before = this.#metadata;
    this.#metadata = metadata;
    if (!this.#binding) return;
    try {
      await this.#tell(() => this.#host.request('setTrackMetadata', { trackId: this.#id, metadata }));
    } catch (error) {
      // Otherwise the next session would reject the track with these metadata.
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

  /** Publishes in this session. If the session is lost meanwhile, that is no failure: the next one publishes again. */
  async publishOver(session: MediaSession): Promise<void> {
    try {
      const [paused, metadata] = [this.#paused, this.#metadata];
      const { producer, muted } = await this.#produce(session);
      if (this.#over || session.closed) {
        producer.close();
        if (!session.closed) await this.#host.request('unpublish', { trackId: producer.id });
        return;
      }
      // mediasoup-client listens for `ended` only from now on.
      if (this.#track.readyState === 'ended') {
        producer.close();
        await this.#host.request('unpublish', { trackId: producer.id });
        throw new RequestError('ended', sourceEnded);
      }
      this.#bind({ session, producer, top: unlimited, limit: unlimited });
      this.#id = producer.id;
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
      // The failure came after publication, so other peers have the track.
      if (bound) void this.#withdraw().catch(() => {});
      if (first) this.#host.unpublished(this);
      else this.#host.ended(this, this.#whyRefused(error));
    }
  }

  #whyRefused(error: unknown): LocalTrackEnd {
    if (this.#track.readyState === 'ended') return 'ended';
    // The server removed it during the outage.
    return error instanceof RequestError && error.code === 'track_not_found' ? 'removed' : 'refused';
  }

  /**
   * Publishes the track over a second path too. It is the same track for other peers. `thin`: the uplink does not carry everything twice, so
   * video is sent over the second path only after changePath().
   */
  async publishToo(session: MediaSession, thin: boolean): Promise<void> {
    if (this.#over || !this.#binding) return;
    const paused = this.#paused;
    const later = thin && this.kind === 'video';
    const { producer } = await this.#produce(session, later);
    if (this.#over || session.closed || this.#track.readyState === 'ended') {
      producer.close();
      return;
    }
    this.#next = { session, producer, top: unlimited, limit: later ? null : unlimited };
    if (this.#paused !== paused) await this.#setPaused(this.#paused);
    if (producer.track !== this.#track) await producer.replaceTrack({ track: this.#track });
  }

  /**
   * `begin`: what is not sent over the second path yet is sent over it instead of the first one: the smallest layer, whose first frame is
   * small. `end`: the receivers have changed too, so all layers are sent.
   */
  async changePath(step: 'begin' | 'end'): Promise<void> {
    const [before, next] = [this.#binding, this.#next];
    if (step === 'end') return this.#sendAll();
    if (!before || !next || next.limit !== null) return;
    before.limit = null;
    next.limit = Math.max(0, this.#options.encodings?.findIndex(({ active }) => active !== false) ?? 0);
    await Promise.all([before, next].map((binding) => this.#activate(binding)));
  }

  /** The second path is the one to use, or is closed if it is undefined. @returns false if the track is to be published */
  moved(session: MediaSession | undefined): boolean {
    const next = this.#next;
    this.#next = undefined;
    // Fails only if the producer was closed.
    if (!session) void this.#sendAll().catch(() => {});
    if (!session || next?.session === session) {
      if (session && next) this.#bind(next);
      return this.#binding !== undefined;
    }
    this.#binding = undefined;
    return false;
  }

  /** The session was lost; the track is published again in the next one. */
  unbind(): void {
    this.#binding = undefined;
    this.#next = undefined;
  }

  /** Sends the encodings up to this one, null: none, until the next session. */
  async sendLayers(top: number | null): Promise<void> {
    const binding = this.#next ?? this.#binding;
    if (!binding) return;
    binding.top = top;
    await this.#activate(binding);
  }

  async #sendAll(): Promise<void> {
    const binding = this.#binding;
    if (!binding || binding.limit === unlimited) return;
    binding.limit = unlimited;
    await this.#activate(binding);
  }

  async #activate({ producer, top, limit }: Binding): Promise<void> {
    const sender = producer.rtpSender;
    if (!sender) return;
    const parameters = sender.getParameters();
    activateLayers(parameters.encodings, top === null || limit === null ? null : Math.min(top, limit), this.#options.encodings);
    await sender.setParameters(parameters);
  }

  /** Ends the track; nothing is sent any more. `why` rejects `published` if it is pending. */
  end(why: Error): void {
    if (this.#over) return;
    this.#over = true;
    this.#first.reject(why);
    this.#first.promise.catch(() => {});
    for (const producer of this.#producers) producer.close();
    this.unbind();
  }

  get #producers(): readonly types.Producer[] {
    return [this.#binding, this.#next].flatMap((binding) => binding?.producer ?? []);
  }

  #bind(binding: Binding): void {
    this.#binding = binding;
    binding.producer.on('trackended', () => this.#sourceEnded());
  }

  async #setPaused(paused: boolean): Promise<void> {
    this.#assertPublished();
    this.#paused = paused;
    this.#track.enabled = !paused;
    const producers = this.#producers;
    if (producers.length === 0) return;
    for (const producer of producers) {
      if (paused) producer.pause();
      else producer.resume();
    }
    await this.#tell(() => this.#host.request(paused ? 'pauseTrack' : 'resumeTrack', { trackId: this.#id }));
  }

  #sourceEnded(): void {
    if (this.#over) return;
    this.end(new RequestError('ended', sourceEnded));
    void this.#withdraw().catch(() => {});
    this.#host.ended(this, 'ended');
  }

  /** `later`: nothing is sent yet. */
  async #produce(session: MediaSession, later = false): Promise<ProducedTrack> {
    const produce = (encodings: types.RtpEncodingParameters[] | undefined) => {
      this.#track.enabled = !this.#paused;
      return session.produce({
        track: this.#track,
        encodings: later ? encodings?.map((encoding) => ({ ...encoding, active: false })) : encodings,
        codec: this.#options.codec,
        streamId: this.kind === 'video' && isScreen(this.#track) ? 'screen' : 'main',
        codecOptions: { ...defaultCodecOptions(this.kind, later ? undefined : encodings), ...this.#options.codecOptions },
        metadata: this.#metadata,
        paused: this.#paused,
        key: this.#key,
        encrypt: this.#options.encrypt,
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
      // Simulcast may be forbidden for a peer; unless requested explicitly, one encoding is enough.
      const refused = error instanceof RequestError && error.code === 'forbidden' && encodings.length > 1;
      if (!refused || this.#options.simulcast !== undefined || session.closed) throw error;
      return produce(defaultEncodings({ ...preferences, simulcast: false }));
    }
  }

  /** Unpublishes the track on the server. */
  #withdraw(): Promise<void> {
    return this.#tell(() => this.#host.request('unpublish', { trackId: this.#id }));
  }

  /** Ignores a lost session: the next publication contains the state. */
  async #tell(request: () => Promise<unknown>): Promise<void> {
    try {
      await request();
    } catch (error) {
      if (!(error instanceof SessionLostError)) throw error;
    }
  }

  #assertPublished(): void {
    if (this.#over) throw new RequestError('track_not_found', 'The track is not published');
  }
}

/**
 * Starts video at a bitrate that includes the large layer, and sends nothing during silence. Without encodings at the default of the browser,
 * whose first frames and probes are small.
 */
function defaultCodecOptions(kind: Kind, encodings: types.RtpEncodingParameters[] | undefined): types.ProducerCodecOptions {
  if (kind === 'audio') return { opusFec: true, opusDtx: true };
  return encodings ? { videoGoogleStartBitrate: startBitrate(encodings) } : {};
}
