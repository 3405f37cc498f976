// Room client: joins a room, publishes tracks and attaches received ones; reconnects automatically.
import { Admission } from './admission.ts';
import { type Closing, closing } from './closing.ts';
import { Connection, type Outage } from './connection.ts';
import type { DataChannel, DataChannelOptions } from './data-channel.ts';
import { Emitter, type Unsubscribe } from './emitter.ts';
import { RoomClosedError, SessionLostError } from './errors.ts';
import type { JoinResponse, Json, Layers, Permissions, ServerEvent } from './generated/protocol.ts';
import type { LocalTrack, PublishOptions } from './media/local-track.ts';
import type { MediaPath } from './media/media-path.ts';
import { type ReceivedLayers, ReceivedTracks } from './media/received-tracks.ts';
import { RoomMedia } from './media/room-media.ts';
import { defaultTiming, pageAddress, type RoomClientOptions, socketUrls, type WebSocketConstructor } from './options.ts';
import { type Attributes, type AttributesPatch, OwnProfile } from './own-profile.ts';
import { pageHide } from './page-hide.ts';
import { PeerRpc } from './peer-rpc.ts';
import { deferred, stateful } from './pending.ts';
import { receivedEvents } from './received-events.ts';
import type { RoomEvents, RoomState, RoomStats } from './room-events.ts';
import { type RemoteComponent, type RemotePeer, type RemoteTrack, Roster } from './roster.ts';

const defaultJoinTimeout = 30_000;

/**
 * One peer in one room. Once the room is closed, all methods except join() and leave() reject with RoomClosedError. They reject with
 * RequestError if the server rejects the request. During a connection outage, requests are queued until it ends.
 */
export class RoomClient extends Emitter<RoomEvents> {
  /** Requests between peers, and of the backend to peers, that the application responds to. */
  readonly rpc: PeerRpc;
  readonly #options: RoomClientOptions;
  readonly #connection: Connection;
  readonly #media: RoomMedia;
  readonly #roster = new Roster((name, data) => this.emit(name, data as RoomEvents[typeof name]));
  readonly #received: ReceivedTracks;
  readonly #profile: OwnProfile;
  readonly #admission = new Admission();
  readonly #joined = deferred<void>();
  readonly #onPageHide = (event: { persisted?: boolean }) => {
    if (!event.persisted) void this.leave();
  };
  #state: RoomState = 'new';
  #hasJoined = false;
  #entering = false;
  #closing: Closing | undefined;
  #welcome: JoinResponse | undefined;
  #permissions: Permissions | undefined;
  #mode: 'auto' | 'manual';
  #outage: Outage | undefined;

  /** @throws TypeError if the URL is invalid, there is no WebSocket, or not exactly one of `token` and `accessToken`. */
  constructor(options: RoomClientOptions) {
    super();
    const webSocket = options.webSocket ?? (globalThis as { WebSocket?: WebSocketConstructor }).WebSocket;
    if (!webSocket) throw new TypeError('This environment has no WebSocket: pass one as the option webSocket');
    const timing = { ...defaultTiming, ...options.timing };
    this.#options = options;
    this.#mode = options.subscribe ?? 'auto';
    this.#joined.promise.catch(() => {});
    this.#connection = new Connection(
      {
        urls: socketUrls(options, pageAddress()),
        token: options.token,
        accessToken: options.accessToken,
        takeover: options.takeover ?? false,
        webSocket,
        timing,
        giveUpAfter: () => (this.#hasJoined ? options.maxRetryTime : (options.joinTimeout ?? defaultJoinTimeout)),
        logger: options.logger ?? {},
      },
      {
        opening: () => this.#media.opening(),
        welcome: (joinResponse) => void this.#enter(joinResponse),
        lost: () => this.#setState(this.#hasJoined ? 'reconnecting' : 'connecting'),
        outage: (outage) => {
          this.#outage = outage;
          this.emit('reconnecting', outage);
        },
        resumed: (joinResponse) => this.#resumed(joinResponse),
        event: (event) => this.#take(event),
        closed: (why) => this.#closed(why),
      },
    );
    const request = this.#connection.request.bind(this.#connection) as Connection['request'];
    this.rpc = new PeerRpc(request);
    this.#profile = new OwnProfile(options.metadata, request, (profile) => this.emit('profileUpdated', profile));
    this.#media = new RoomMedia({
      settings: options,
      timing,
      request,
      shown: receivedEvents({
        received: () => this.#received,
        emit: (name, data) => this.emit(name, data),
        hasListener: (name) => this.hasListener(name),
      }),
      pathChanged: (path) => this.emit('mediaPathChanged', { path }),
      dataChannel: (channel) => this.emit('dataChannel', { channel }),
      awaitsDataChannels: () => this.hasListener('dataChannel'),
      localTrackEnded: (track, reason) => this.emit('localTrackEnded', { track, reason }),
      localTrackMuted: (track, muted) => this.emit('localTrackMuted', { track, muted }),
    });
    this.#received = new ReceivedTracks({
      consumer: (trackId) => this.#media.consumer(trackId),
      setPreferredLayers: (trackId, layers) => {
        request('setPreferredLayers', { trackId, ...layers }).catch((error) => options.logger?.debug?.('could not set layers', error));
      },
    });
  }

  get state(): RoomState {
    return this.#state;
  }

  /** Id of this peer; empty before the first connection. */
  get peerId(): string {
    return this.#welcome?.peerId ?? '';
  }

  get roomId(): string {
    return this.#welcome?.roomId ?? '';
  }

  /** Attributes of this peer, set by the backend or with setAttributes(). */
  get attributes(): Attributes {
    return this.#profile.attributes;
  }

  get roomMetadata(): Json {
    return this.#roster.roomMetadata;
  }

  get permissions(): Permissions | undefined {
    return this.#permissions;
  }

  /** True if media is supported; otherwise only events and messages are available. */
  get canReceiveMedia(): boolean {
    return this.#media.supported;
  }

  /** The other peers, by id. */
  get peers(): ReadonlyMap<string, RemotePeer> {
    return this.#roster.peers;
  }

  get components(): ReadonlyMap<string, RemoteComponent> {
    return this.#roster.components;
  }

  get localTracks(): readonly LocalTrack[] {
    return this.#media.localTracks.all;
  }

  get activeSpeaker(): string | null {
    return this.#roster.activeSpeaker;
  }

  /** The current connection outage; undefined while connected. */
  get outage(): Outage | undefined {
    return this.#state === 'reconnecting' ? this.#outage : undefined;
  }

  /** State of the media path, independent of the connection to the server. */
  get mediaPath(): MediaPath {
    return this.#media.path;
  }

  /** Why the room is closed; undefined while it is open. */
  get closing(): Closing | undefined {
    return this.#closing;
  }

  track(trackId: string): RemoteTrack | undefined {
    return this.#roster.track(trackId);
  }

  /** The MediaStreamTrack of a received track. */
  mediaStreamTrack(trackId: string): MediaStreamTrack | undefined {
    return this.#media.consumer(trackId)?.track;
  }

  /** Layers of a received track; undefined if it has only one. `layersChanged` reports changes. */
  receivedLayers(trackId: string): ReceivedLayers | undefined {
    return this.#received.layers(trackId);
  }

  /** Joins the room. Resolves when media can flow, for a peer that waits after it was admitted. @throws RoomClosedError if joining fails */
  join(): Promise<void> {
    if (this.#state === 'new') {
      this.#setState('connecting');
      if (this.#options.leaveOnPageHide ?? true) pageHide('addEventListener', this.#onPageHide);
      this.#connection.connect();
      this.#media.prepare();
    }
    return this.#joined.promise;
  }

  /** Leaves permanently; other peers are notified at once. Resolves when the connection is closed. */
  leave(): Promise<void> {
    return this.#connection.leave();
  }

  /**
   * Publishes a track, again after every reconnect. Resolves when other peers can receive it. The track is never stopped: call stop()
   * yourself.
   * @throws RoomClosedError; RequestError `forbidden`, `tracks_full`, `ended` if the source ends meanwhile
   */
  publish(track: MediaStreamTrack, options: PublishOptions = {}): Promise<LocalTrack> {
    if (this.#closing) return Promise.reject(new RoomClosedError(this.#closing));
    if (!this.#media.supported) return Promise.reject(new RoomClosedError(closing('unsupported')));
    return this.#media.localTracks.publish(track, options);
  }

  /**
   * Plays a track in a media element, also after a resubscription under the same id, and requests the layer that fits the rendered size of
   * the element.
   * @returns a function that stops it
   */
  attach(trackId: string, element: HTMLMediaElement): Unsubscribe {
    return this.#received.attach(trackId, element);
  }

  /** Only selects layers like attach(), for elements that get their media otherwise. @returns a function that stops it */
  observe(trackId: string, element: HTMLElement): Unsubscribe {
    return this.#received.observe(trackId, element);
  }

  /** Receives a track; needed in manual mode only. @throws RequestError `track_not_found`, `forbidden` */
  async subscribe(trackId: string): Promise<void> {
    await this.#connection.request('subscribe', { trackId });
  }

  /** Stops receiving a track, in auto mode too. @throws RequestError `track_not_found` */
  async unsubscribe(trackId: string): Promise<void> {
    await this.#connection.request('unsubscribe', { trackId });
  }

  /** `auto`: receives all tracks except unsubscribed ones. `manual`: receives only subscribed tracks. */
  async setSubscription(mode: 'auto' | 'manual'): Promise<void> {
    const before = this.#mode;
    this.#mode = mode;
    await stateful(this.#connection.request('setSubscription', { mode }, true), () => {
      if (this.#mode === mode) this.#mode = before;
    });
  }

  /** Sets the preferred layers of a simulcast track, 0 the smallest. attach() and observe() do it automatically. */
  async setPreferredLayers(trackId: string, layers: Layers): Promise<void> {
    await this.#connection.request('setPreferredLayers', { trackId, ...layers });
  }

  /** Sets the bandwidth priority of a received track: 1 (lowest, default) to 255. */
  async setPriority(trackId: string, priority: number): Promise<void> {
    await this.#connection.request('setPriority', { trackId, priority });
  }

  /** Sets the metadata of this peer for the others: any JSON of at most 16 KiB; sent at most once per second. */
  async setMetadata(metadata: Json): Promise<void> {
    await this.#profile.setMetadata(metadata);
  }

  /**
   * Sets attributes of this peer for the others; null deletes one.
   * @throws RequestError `forbidden` if the backend set one of them, `too_large`
   */
  async setAttributes(attributes: AttributesPatch): Promise<void> {
    await this.#profile.setAttributes(attributes);
  }

  /** Sets the metadata of the room for all peers (`roomUpdated`). @throws RequestError `forbidden` without the permission `roomMetadata` */
  async setRoomMetadata(metadata: Json): Promise<void> {
    await this.#connection.request('setRoomMetadata', { metadata }, true);
  }

  /**
   * Sends a JSON message to all other peers, or to those in `to`. For large or frequent messages use data channels.
   * @throws RequestError `forbidden`, `too_large`, `too_many_requests`
   */
  async sendData(label: string, payload: Json, to?: string[]): Promise<void> {
    await this.#connection.request('sendData', { label, payload, ...(to && { to }) }, true);
  }

  /**
   * Opens a data channel (SCTP, RFC 8831) to all other peers, which get `dataChannel`. Resolves when it is open; rejects if the option
   * `dataChannels` was not set in time.
   */
  openDataChannel(label: string, options: DataChannelOptions = {}): Promise<DataChannel> {
    if (this.#closing) return Promise.reject(new RoomClosedError(this.#closing));
    if (!this.#media.supported) return Promise.reject(new RoomClosedError(closing('unsupported')));
    return this.#media.openDataChannel(label, options);
  }

  /** Current stats of server and browser. */
  async getStats(): Promise<RoomStats> {
    const [server, own] = await Promise.all([this.#connection.request('getStats', {}, true), this.#media.stats()]);
    return { server, ...own };
  }

  async #enter(joinResponse: JoinResponse): Promise<void> {
    this.#welcome = joinResponse;
    this.#entering = true;
    this.rpc.sessionLost();
    this.#setPermissions(joinResponse.permissions);
    this.#media.lost();
    this.#roster.replace(joinResponse);
    this.#profile.enter(joinResponse).catch((error) => this.#options.logger?.debug?.('could not set the profile again', error));
    const admitted = this.#admission.enter(joinResponse);
    if (joinResponse.waiting) {
      this.#setState('waiting');
      this.emit('waiting', null);
    }
    try {
      // While it waits, media is prepared: the server holds the requests until it admits this peer.
      await this.#media.enter(joinResponse, { metadata: this.#profile.ofJoin(joinResponse), mode: this.#mode });
      await admitted;
    } catch (error) {
      if (error instanceof SessionLostError || this.#welcome !== joinResponse || this.#closing) return;
      this.#options.logger?.warn?.('could not join room', error);
      this.#connection.close(closing('unsupported', null, error instanceof Error ? error.message : undefined));
      return;
    }
    if (this.#welcome !== joinResponse || this.#closing) return;
    if (this.#options.audioLevels) this.#connection.request('setAudioLevels', { enabled: true }).catch(() => {});
    this.#entering = false;
    this.#hasJoined = true;
    this.#setState(this.#connection.live ? 'joined' : 'reconnecting');
    this.#joined.resolve();
  }

  #resumed(joinResponse: JoinResponse): void {
    this.#setPermissions(joinResponse.permissions);
    this.#media.resumed();
    if (this.#admission.waiting) this.#setState('waiting');
    else if (this.#hasJoined && !this.#entering) this.#setState('joined');
  }

  /** @returns true if the event was handled */
  #admitted({ event, data }: ServerEvent): boolean {
    if (event !== 'admitted' || !this.#admission.admitted()) return event === 'admitted';
    this.#setPermissions(data.permissions);
    this.#profile.admitted(data);
    this.#roster.replace(data);
    this.#setState('connecting');
    this.emit('admitted', null);
    return true;
  }

  #take(event: ServerEvent): void {
    if (this.#admitted(event) || this.#media.take(event) || this.#roster.take(event) || this.#profile.take(event) || this.rpc.take(event))
      return;
    switch (event.event) {
      case 'layersChanged':
        this.#received.layersChanged(event.data.trackId, event.data.layers);
        this.emit('layersChanged', event.data);
        break;
      case 'trackNotSupported':
      case 'audioLevels':
      case 'data':
      case 'transcriptAdded':
      case 'dataDropped':
        this.emit(event.event, event.data as never);
        break;
      case 'permissionsUpdated':
        this.#setPermissions(event.data.permissions);
        break;
      case 'draining':
        this.emit('draining', { deadline: event.data.deadline === null ? null : new Date(event.data.deadline) });
        break;
      default:
    }
  }

  #closed(why: Closing): void {
    this.#closing = why;
    pageHide('removeEventListener', this.#onPageHide);
    const error = new RoomClosedError(why);
    this.#media.close(error);
    this.rpc.sessionLost(error);
    this.#received.close();
    this.#joined.reject(error);
    this.#setState('closed');
    this.emit('closed', why);
    this.removeListeners();
  }

  #setPermissions(permissions: Permissions): void {
    const known = this.#permissions;
    this.#permissions = permissions;
    if (known && JSON.stringify(known) !== JSON.stringify(permissions)) this.emit('permissionsUpdated', { permissions });
  }

  #setState(state: RoomState): void {
    const previous = this.#state;
    if (previous === state || previous === 'closed') return;
    this.#state = state;
    this.emit('stateChanged', { state, previous });
  }
}
