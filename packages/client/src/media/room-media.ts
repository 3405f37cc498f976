// Room media: the media of successive sessions, and the state that outlives them.
import type { types } from 'mediasoup-client';
import type { Connection } from '../connection.ts';
import { DataChannel, type DataChannelOptions, type RemoteDataChannel } from '../data-channel.ts';
import { SessionLostError } from '../errors.ts';
import type { JoinResponse, Json, ServerEvent, SubscribedTrack } from '../generated/protocol.ts';
import type { RoomClientOptions, Timing } from '../options.ts';
import { DeviceCache } from './device.ts';
import type { LocalTrack, LocalTrackEnd } from './local-track.ts';
import { LocalTracks } from './local-tracks.ts';
import { MediaMove } from './media-move.ts';
import type { MediaPath } from './media-path.ts';
import { MediaSession } from './media-session.ts';
import { ReceivedData } from './received-data.ts';
import { ShownTracks, type ShownTracksOptions } from './shown-tracks.ts';
import { type PrefetchedTransports, type Request, requestTransports } from './transport-requests.ts';

export type RoomMediaOptions = {
  settings: RoomClientOptions;
  timing: Timing;
  request: Connection['request'];
  shown: ShownTracksOptions;
  dataChannel: (channel: RemoteDataChannel) => void;
  /** True if the application listens for data channels of other peers. */
  awaitsDataChannels: () => boolean;
  pathChanged: (path: MediaPath) => void;
  localTrackEnded: (track: LocalTrack, reason: LocalTrackEnd) => void;
  localTrackMuted: (track: LocalTrack, muted: boolean) => void;
};

/** Join parameters of one session: metadata of the peer and its subscription mode. */
export type JoinParams = { metadata: Json | undefined; mode: 'auto' | 'manual' };

export class RoomMedia {
  readonly #options: RoomMediaOptions;
  readonly #request: Request;
  readonly #deviceCache: DeviceCache;
  readonly #shown: ShownTracks;
  readonly #channels = new Set<DataChannel>();
  readonly #receivedData: ReceivedData;
  readonly localTracks: LocalTracks;
  /** True if media is supported. */
  readonly supported: boolean;
  #early: PrefetchedTransports | undefined;
  #session: MediaSession | undefined;
  /** The welcome of the session, once its transports are being opened. */
  #joinResponse: JoinResponse | undefined;
  #migration: Promise<void> | undefined;
  #move: MediaMove | undefined;
  /** After a move: what this peer publishes is sent over it too, until its receivers have changed. */
  #former: MediaSession | undefined;
  #path: MediaPath = 'idle';

  constructor(options: RoomMediaOptions) {
    this.#options = options;
    this.#request = options.request;
    this.#deviceCache = new DeviceCache(options.settings.handlerFactory);
    this.supported = this.#deviceCache.supported;
    this.#shown = new ShownTracks(options.shown);
    this.#receivedData = new ReceivedData({ request: options.request, subscribed: options.dataChannel });
    const { request, localTrackEnded: ended, localTrackMuted: muted } = options;
    this.localTracks = new LocalTracks({ request, ended, muted });
  }

  get path(): MediaPath {
    return this.#path;
  }

  /** Prepares what does not need the server. */
  prepare(): void {
    this.#deviceCache.warmUp();
  }

  /** Requests the transports before authentication completes. */
  opening(): void {
    if (this.supported) this.#early = this.#requestTransports();
  }

  /** Joins with a new session. @throws SessionLostError if it was lost meanwhile: the next welcome joins again. */
  async enter(joinResponse: JoinResponse, { metadata, mode }: JoinParams): Promise<void> {
    this.lost();
    const early = this.#early ?? (this.supported ? this.#requestTransports() : undefined);
    this.#early = undefined;
    const requests: Promise<unknown>[] = [];
    if (mode === 'manual') requests.push(this.#request('setSubscription', { mode }));
    if (!early) {
      if (metadata !== undefined) requests.push(this.#request('setPeerMetadata', { metadata }));
      await Promise.all(requests);
      return;
    }
    const session = this.#createSession();
    this.#session = session;
    // Failures are handled once, at the end.
    for (const request of requests) request.catch(() => {});
    const rtpCapabilities = await session.load(joinResponse);
    // The server processes requests in order: join need not wait for the transport responses.
    // Nodes before 0.8 reject it.
    this.#request('setFeatures', { features: ['layersWanted', 'migrate', 'paths', 'tracksSubscribed'] }).catch(() => {});
    const joined = this.#request('join', { rtpCapabilities, ...(metadata !== undefined && { metadata }) });
    joined.catch(() => {});
    this.#joinResponse = joinResponse;
    await this.#open(session, joinResponse, early);
    await Promise.all([...requests, joined]);
    if (this.#joinResponse !== joinResponse) throw new SessionLostError();
  }

  /** @returns true if the event concerned media and was handled */
  take({ event, data }: ServerEvent): boolean {
    switch (event) {
      case 'tracksSubscribed':
        this.#run(this.#receive(data.tracks), 'could not receive tracks');
        return true;
      case 'trackSubscribed':
        this.#run(this.#session?.receive(data), 'could not receive track');
        return true;
      case 'trackUnsubscribed':
        this.#unreceive(data.trackId);
        return true;
      case 'dataTrackSubscribed':
        this.#run(this.#sessionOf(data.transportId)?.receiveData(data), 'could not receive data channel');
        return true;
      case 'dataTrackUnsubscribed':
        for (const session of this.#sessions) session.unreceiveData(data.dataTrackId);
        return true;
      case 'dataSwitched':
        this.#receivedData.switched(data);
        return true;
      case 'holdData':
        this.#channel(data.dataTrackId)?.hold();
        return true;
      case 'continueData':
        this.#channel(data.dataTrackId)?.continue(data.replaced ?? false);
        return true;
      case 'migrate':
        this.#run(data.path === undefined ? this.#migrate() : this.#moveTo(data.path), 'could not migrate media');
        return true;
      case 'pathUsed':
        if (this.#move?.path === data.path) this.#move.left = true;
        else this.#leave();
        return true;
      case 'pathClosed':
        if (this.#move?.path === data.path) this.#endMove();
        return true;
      case 'layersWanted':
        this.#run(this.localTracks.sendLayers(data.trackId, data.spatialLayer), 'could not set the sent layers');
        return true;
      case 'iceServersUpdated':
        this.#session?.updateIceServers(data.iceServers);
        return true;
      case 'trackRemoved':
        this.#unreceive(data.trackId);
        return this.localTracks.removed(data.trackId);
      case 'trackPaused':
      case 'trackResumed':
        return data.by === 'server' && this.localTracks.muted(data.trackId, event === 'trackPaused');
      default:
        return false;
    }
  }

  async openDataChannel(label: string, options: DataChannelOptions): Promise<DataChannel> {
    const channel = new DataChannel(label, options, this.#request, (closed) => this.#channels.delete(closed));
    this.#channels.add(channel);
    // During a move it is opened after that.
    if (this.#session && !this.#move) void channel.openOver(this.#session);
    await channel.opened;
    return channel;
  }

  consumer(trackId: string): types.Consumer | undefined {
    return this.#shown.consumer(trackId);
  }

  async stats(): Promise<{ send: RTCStatsReport | undefined; recv: RTCStatsReport | undefined }> {
    return (await this.#session?.stats()) ?? { send: undefined, recv: undefined };
  }

  /** The WebSocket reconnected and the session was resumed. */
  resumed(): void {
    this.#session?.checkPaths();
    this.#move?.next.checkPaths();
  }

  /** The session was lost; publications are kept for the next one. */
  lost(): void {
    this.#joinResponse = undefined;
    this.#migration = undefined;
    this.#closeSession();
  }

  close(why: Error): void {
    this.localTracks.close(why);
    for (const channel of this.#channels) channel.end(why);
    this.#channels.clear();
    this.lost();
  }

  get #sessions(): MediaSession[] {
    return [this.#move?.next, this.#former, this.#session].filter((session) => session !== undefined);
  }

  #channel(dataTrackId: string): DataChannel | undefined {
    return [...this.#channels].find((channel) => channel.dataTrackId === dataTrackId);
  }

  /** The session with this receive transport. */
  #sessionOf(transportId: string | undefined): MediaSession | undefined {
    return this.#sessions.find((session) => session.receives(transportId)) ?? this.#session;
  }

  async #receive(tracks: readonly SubscribedTrack[]): Promise<void> {
    const session = this.#sessionOf(tracks[0]?.transportId);
    const successors = tracks.filter(({ replaces }) => replaces).map(({ trackId }) => trackId);
    await session?.receiveAll(tracks);
    if (session && successors.length > 0) await this.#shown.follow(session, successors);
  }

  #unreceive(trackId: string): void {
    this.#shown.ending(trackId);
    for (const session of this.#sessions) session.unreceive(trackId);
  }

  #createSession(path?: string): MediaSession {
    const { settings, timing } = this.#options;
    const session: MediaSession = new MediaSession({
      ...{ request: this.#request, devices: this.#deviceCache, settings, timing, logger: settings.logger ?? {}, path },
      subscribed: (origin, consumer) => this.#shown.subscribed(session, origin, consumer),
      unsubscribed: (trackId, consumer) => this.#shown.unsubscribed(trackId, consumer),
      pathChanged: () => this.#seePath(),
      dataSubscribed: (origin, consumer) => this.#receivedData.subscribed(session, origin, consumer),
    });
    return session;
  }

  /** Opens the transports, and publishes over them. If they are lost meanwhile, waits for the next ones. */
  async #open(session: MediaSession, joinResponse: JoinResponse, early: PrefetchedTransports): Promise<void> {
    try {
      await session.load(joinResponse);
      await session.open(joinResponse, early);
    } catch (error) {
      if (!session.closed || !this.#migration) throw error;
      await this.#migration;
      return;
    }
    this.localTracks.sessionStarted(session);
    for (const channel of this.#channels) void channel.openOver(session);
  }

  /** The server lost the transports: opens new ones in the same session. Tracks keep their ids. */
  async #migrate(): Promise<void> {
    const joinResponse = this.#joinResponse;
    if (!joinResponse) return;
    this.#closeSession();
    const session = this.#createSession();
    this.#session = session;
    this.#migration = this.#open(session, joinResponse, this.#requestTransports());
    await this.#migration;
  }

  /** The server moves this peer: receives and publishes over a second path too, and changes to it without a gap. */
  async #moveTo(path: string): Promise<void> {
    const [joinResponse, before] = [this.#joinResponse, this.#session];
    if (!joinResponse || !before) return;
    this.#endMove();
    const next = this.#createSession(path);
    const { request } = this.#options;
    const requestTransports = () => this.#requestTransports(path);
    const both = { shown: this.#shown, localTracks: this.localTracks, channels: this.#channels, receivedData: this.#receivedData };
    const move = new MediaMove({ path, before, next, ...both, request, joinResponse, requestTransports });
    this.#move = move;
    try {
      await move.run();
    } catch (error) {
      if (this.#move === move) this.#endMove();
      throw error;
    }
    if (this.#move !== move) return;
    this.#move = undefined;
    this.#session = next;
    this.#former = before;
    this.localTracks.moved(next);
    if (move.left) this.#leave();
    this.#seePath();
    for (const channel of this.#channels) if (!channel.uses(next)) void channel.openOver(next);
  }

  #endMove(): void {
    const move = this.#move;
    if (!move) return;
    this.#move = undefined;
    move.next.close();
    this.localTracks.moved(undefined);
    const session = this.#session;
    for (const channel of this.#channels) {
      channel.stay();
      if (session && !channel.uses(session)) void channel.openOver(session);
    }
  }

  /** The server has closed the former path. */
  #leave(): void {
    if (!this.#former) return;
    this.#former.close();
    this.#former = undefined;
    this.#run(this.localTracks.changePath('end'), 'could not send all layers');
  }

  #closeSession(): void {
    this.#endMove();
    this.#leave();
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    this.localTracks.sessionLost();
    for (const channel of this.#channels) channel.unbind();
    session.close();
    this.#seePath();
  }

  #requestTransports(path?: string): PrefetchedTransports {
    const { settings, awaitsDataChannels } = this.#options;
    const sctp = settings.dataChannels ?? (awaitsDataChannels() || this.#channels.size > 0);
    const sends = this.localTracks.all.length > 0 || this.#channels.size > 0;
    return requestTransports(this.#request, { sctp, sends, path });
  }

  #seePath(): void {
    const path = this.#session?.path ?? 'idle';
    if (path === this.#path) return;
    this.#path = path;
    this.#options.pathChanged(path);
  }

  #run(work: Promise<void> | undefined, failure: string): void {
    const session = this.#session;
    work?.catch((error: unknown) => {
      if (session && !session.closed) this.#options.settings.logger?.warn?.(failure, error);
    });
  }
}
