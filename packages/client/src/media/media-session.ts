// Media session: the send and receive transports of one server session, and their tracks and data channels.
import type { types } from 'mediasoup-client';
import { SessionLostError } from '../errors.ts';
import type {
  EventData,
  IceServer,
  JoinResponse,
  Json,
  RtpCapabilities,
  RtpParameters,
  SctpStreamParameters,
  SubscribedTrack,
  TransportOptions,
} from '../generated/protocol.ts';
import type { Logger, RoomClientOptions, Timing } from '../options.ts';
import { deferred } from '../pending.ts';
import type { DeviceCache } from './device.ts';
import { IceRestarter } from './ice-restarter.ts';
import { isRelay } from './ice-servers.ts';
import { type MediaPath, mediaPathOf } from './media-path.ts';
import type { PrefetchedTransports, Request } from './transport-requests.ts';

type Direction = 'send' | 'recv';
export type MediaSessionOptions = {
  request: Request;
  devices: DeviceCache;
  settings: Pick<RoomClientOptions, 'iceProtocols' | 'iceTransportPolicy' | 'decrypt'>;
  timing: Timing;
  logger: Logger;
  subscribed: (origin: SubscribedTrack, consumer: types.Consumer) => void;
  unsubscribed: (trackId: string, consumer: types.Consumer) => void;
  dataSubscribed: (origin: EventData['dataTrackSubscribed'], consumer: types.DataConsumer) => void;
  pathChanged: () => void;
  /** The second path of the peer, if it is its session. */
  path?: string | undefined;
};

export type ProduceOptions = {
  track: MediaStreamTrack;
  encodings: types.RtpEncodingParameters[] | undefined;
  codec: string | undefined;
  streamId: string;
  codecOptions: types.ProducerCodecOptions;
  metadata: Json;
  paused: boolean;
  /** Stable across sessions. */
  key: string;
  encrypt?: ((sender: RTCRtpSender) => void) | undefined;
};
/** `muted`: muted by the server from the start. */
export type ProducedTrack = { producer: types.Producer; muted: boolean };
/** Data passed along with a publication and its response. */
type Publication = Pick<ProduceOptions, 'metadata' | 'paused' | 'key'> & { encrypted?: true; muted: boolean };

/** A track being received; `consumer` once created, `ended` if it ended before. */
type Received<Consumer> = { consumer: Consumer | undefined; ended: boolean };

/** Lives as long as a server session: load() and open() once, then close(). */
export class MediaSession {
  readonly #options: MediaSessionOptions;
  readonly #recv = deferred<types.Transport>();
  readonly #keepers: IceRestarter[] = [];
  readonly #received = new Map<string, Received<types.Consumer>>();
  /** What `#received` replaces, until that flows. */
  readonly #former = new Map<string, Received<types.Consumer>[]>();
  readonly #receivedData = new Set<Received<types.DataConsumer> & { dataTrackId: string }>();
  #replaced = 0;
  #path: string | undefined;
  #device: types.Device | undefined;
  #sctp = false;
  #iceServers: IceServer[] = [];
  /** Created with the first track or channel to send. */
  #send: Promise<types.Transport> | undefined;
  #sendsData = false;
  readonly #transports = new Map<Direction, types.Transport>();
  #closed = false;

  constructor(options: MediaSessionOptions) {
    this.#options = options;
    this.#path = options.path;
    this.#recv.promise.catch(() => {});
  }

  get closed(): boolean {
    return this.#closed;
  }

  get path(): MediaPath {
    return mediaPathOf([...this.#transports.values()].map(({ connectionState }) => connectionState));
  }

  /** @returns the receive capabilities for `join` */
  async load({ rtpCapabilities }: JoinResponse): Promise<RtpCapabilities> {
    const device = await this.#options.devices.load(rtpCapabilities);
    if (this.#closed) throw new SessionLostError();
    this.#device = device;
    return device.recvRtpCapabilities as RtpCapabilities;
  }

  /** Opens the requested transports; after load(). */
  async open({ iceServers }: JoinResponse, early: PrefetchedTransports): Promise<void> {
    this.#sctp = early.sctp;
    this.#iceServers = iceServers;
    try {
      const options = this.#transportOptions(await early.recv);
      // Opens relays before the first track arrives: through TLS that takes five round trips.
      const additionalSettings = { iceCandidatePoolSize: iceServers.some(isRelay) ? 1 : 0 };
      this.#recv.resolve(this.#open('recv', this.#live().createRecvTransport({ ...options, additionalSettings })));
      if (early.send) await this.#sender(early.send);
    } catch (error) {
      this.#recv.reject(new SessionLostError());
      throw error;
    }
  }

  /** True if its receive transport has this id. */
  receives(transportId: string | undefined): boolean {
    return transportId !== undefined && this.#transports.get('recv')?.id === transportId;
  }

  /** The peer has no other path any more. */
  isOnlyPath(): void {
    this.#path = undefined;
  }

  async produce(options: ProduceOptions): Promise<ProducedTrack> {
    const { track, encodings, codec, streamId, codecOptions, metadata, paused, key, encrypt } = options;
    const chosen = codec === undefined ? undefined : this.#codec(codec);
    if (codec !== undefined && !chosen) throw new TypeError(`This environment cannot encode ${codec}`);
    const publication: Publication = { metadata, paused, key, ...(encrypt && { encrypted: true }), muted: false };
    const sender = await this.#sender();
    const producer = await sender.produce({
      track,
      streamId,
      codecOptions,
      ...(encodings && { encodings }),
      ...(chosen && { codec: chosen }),
      ...(encrypt && { onRtpSender: encrypt }),
      // The track belongs to the application: it is published again after a reconnect.
      stopTracks: false,
      appData: publication,
    });
    return { producer, muted: publication.muted };
  }

  async produceData(options: types.DataProducerOptions): Promise<types.DataProducer> {
    const sender = await this.#sender();
    if (!this.#sendsData)
      throw new TypeError('Data channels are not available: set the option dataChannels, and the peer needs the permission data');
    return sender.produceData(options);
  }

  /** Nodes before 0.8 send one event for each track, and support only trackReady. */
  async receive(track: SubscribedTrack): Promise<void> {
    await this.#receive([track], (trackIds) => {
      for (const trackId of trackIds) this.#run(this.#options.request('trackReady', { trackId }), 'trackReady');
    });
  }

  async receiveAll(tracks: readonly SubscribedTrack[]): Promise<void> {
    await this.#receive(tracks, (trackIds) => {
      if (trackIds.length > 0) this.#run(this.#options.request('tracksReady', { trackIds, ...this.#pathed }), 'tracksReady');
    });
  }

  async #receive(tracks: readonly SubscribedTrack[], ready: (trackIds: string[]) => void): Promise<void> {
    const entries = tracks.map((track) => {
      const { trackId } = track;
      const entry: Received<types.Consumer> = { consumer: undefined, ended: false };
      const former = this.#received.get(trackId);
      if (track.replaces && former) this.#former.set(trackId, [...(this.#former.get(trackId) ?? []), former]);
      this.#received.set(trackId, entry);
      return { track, entry };
    });
    const made = await Promise.allSettled(entries.map(({ track, entry }) => this.#consume(track, entry)));
    ready(made.flatMap((each) => (each.status === 'fulfilled' ? each.value : [])));
    const failed = made.find((each) => each.status === 'rejected');
    if (failed) throw failed.reason;
  }

  /** @returns the id of the track if it is received */
  async #consume(event: SubscribedTrack, entry: Received<types.Consumer>): Promise<string[]> {
    const transport = await this.#receiver(event.transportId);
    if (!transport || entry.ended) return [];
    const { decrypt } = this.#options.settings;
    const consumer = await transport.consume({
      ...(decrypt && { onRtpReceiver: (receiver) => decrypt(receiver, event.trackId) }),
      id: this.#consumerIdOf(event),
      producerId: event.trackId,
      kind: event.kind,
      rtpParameters: event.rtpParameters as types.RtpParameters,
    });
    if (entry.ended || this.#closed) {
      consumer.close();
      return [];
    }
    entry.consumer = consumer;
    this.#options.subscribed(event, consumer);
    return [event.trackId];
  }

  /** Consumers of one transport need ids that differ. */
  #consumerIdOf({ trackId, replaces }: SubscribedTrack): string {
    if (!replaces) return trackId;
    this.#replaced += 1;
    return `${trackId}.${this.#replaced}`;
  }

  unreceive(trackId: string): void {
    const entry = this.#received.get(trackId);
    if (!entry) return;
    this.#received.delete(trackId);
    this.#end(trackId, entry);
    this.#unreceiveFormer(trackId);
  }

  /** Ends what the latest announcement of a track replaces. */
  #unreceiveFormer(trackId: string): void {
    const former = this.#former.get(trackId) ?? [];
    this.#former.delete(trackId);
    for (const entry of former) this.#end(trackId, entry);
  }

  /** Tracks of this session flow that replace others. */
  flowing(trackIds: string[]): void {
    for (const trackId of trackIds) this.#unreceiveFormer(trackId);
    this.#run(this.#options.request('tracksFlowing', { trackIds, ...this.#pathed }), 'tracksFlowing');
  }

  get #pathed(): { path?: string } {
    return this.#path === undefined ? {} : { path: this.#path };
  }

  #end(trackId: string, entry: Received<types.Consumer>): void {
    entry.ended = true;
    if (!entry.consumer) return;
    entry.consumer.close();
    this.#options.unsubscribed(trackId, entry.consumer);
  }

  async receiveData(event: EventData['dataTrackSubscribed']): Promise<void> {
    const entry = { dataTrackId: event.dataTrackId, consumer: undefined as types.DataConsumer | undefined, ended: false };
    this.#receivedData.add(entry);
    const transport = await this.#receiver(event.transportId);
    if (!transport) return;
    const consumer = await transport.consumeData({
      // Those of one transport need ids that differ.
      id: `${event.dataTrackId}.${event.channel ?? 0}`,
      dataProducerId: event.dataTrackId,
      sctpStreamParameters: event.sctpStreamParameters as types.SctpStreamParameters,
      label: event.label,
      protocol: event.protocol,
    });
    if (entry.ended || this.#closed) {
      consumer.close();
      return;
    }
    entry.consumer = consumer;
    consumer.observer.on('close', () => this.#receivedData.delete(entry));
    this.#options.dataSubscribed(event, consumer);
  }

  unreceiveData(dataTrackId?: string): void {
    for (const entry of this.#receivedData) {
      if (dataTrackId !== undefined && entry.dataTrackId !== dataTrackId) continue;
      this.#receivedData.delete(entry);
      entry.ended = true;
      entry.consumer?.close();
    }
  }

  /** Of the latest announcement, or the newest one that exists. */
  consumer(trackId: string, which: 'latest' | 'existing'): types.Consumer | undefined {
    const latest = this.#received.get(trackId)?.consumer;
    return latest || which === 'latest' ? latest : this.#former.get(trackId)?.findLast(({ consumer }) => consumer)?.consumer;
  }

  /** True while an announced track is not received yet. */
  get receivesLater(): boolean {
    return [...this.#received.values()].some(({ consumer }) => !consumer);
  }

  /** The WebSocket reconnected: restarts lost media paths. */
  checkPaths(): void {
    for (const keeper of this.#keepers) keeper.check();
  }

  /** A transport with a path uses them from its next ICE restart on: a browser that gets them earlier restarts ICE with its next offer. */
  updateIceServers(iceServers: IceServer[]): void {
    this.#iceServers = iceServers;
    for (const transport of this.#transports.values()) {
      if (transport.connectionState === 'new') this.#run(transport.updateIceServers({ iceServers }), 'updateIceServers');
    }
  }

  async stats(): Promise<Record<Direction, RTCStatsReport | undefined>> {
    const [recv, send] = await Promise.all([this.#transports.get('recv')?.getStats(), this.#transports.get('send')?.getStats()]);
    return { send, recv };
  }

  /** Ends all media of the session and reports received tracks as unsubscribed. Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#recv.reject(new SessionLostError());
    for (const keeper of this.#keepers) keeper.stop();
    for (const trackId of [...this.#received.keys()]) this.unreceive(trackId);
    this.unreceiveData();
    for (const transport of this.#transports.values()) transport.close();
  }

  #live(): types.Device {
    if (!this.#device || this.#closed) throw new SessionLostError();
    return this.#device;
  }

  /** The send transport: requested on first use, again after a failure. */
  #sender(answer?: Promise<TransportOptions>): Promise<types.Transport> {
    this.#live();
    const { request } = this.#options;
    const options = { sctp: this.#sctp, ...this.#pathed };
    this.#send ??= this.#openSender(answer ?? request('createTransport', { direction: 'send', ...options })).catch((error) => {
      this.#send = undefined;
      throw error;
    });
    return this.#send;
  }

  async #openSender(answer: Promise<TransportOptions>): Promise<types.Transport> {
    const send = await answer;
    this.#sendsData = 'sctpParameters' in send;
    const transport = this.#open('send', this.#live().createSendTransport(this.#transportOptions(send)));
    this.#answerSendTransport(transport);
    return transport;
  }

  async #receiver(transportId: string): Promise<types.Transport | undefined> {
    const transport = await this.#recv.promise;
    return !this.#closed && transport.id === transportId ? transport : undefined;
  }

  #codec(name: string): types.RtpCodecCapability | undefined {
    return this.#device?.sendRtpCapabilities.codecs?.find(({ mimeType }) => mimeType.split('/')[1]?.toLowerCase() === name.toLowerCase());
  }

  #transportOptions(answer: TransportOptions): types.TransportOptions {
    const { iceProtocols, iceTransportPolicy } = this.#options.settings;
    return {
      ...answer,
      iceCandidates: answer.iceCandidates.filter(({ protocol }) => !iceProtocols || iceProtocols.includes(protocol)),
      iceServers: this.#iceServers,
      ...(iceTransportPolicy && { iceTransportPolicy }),
    } as types.TransportOptions;
  }

  #open(direction: Direction, transport: types.Transport): types.Transport {
    const { request, timing, logger } = this.#options;
    this.#transports.set(direction, transport);
    transport.on('connect', ({ dtlsParameters }, callback) => {
      // The server processes requests in order, so there is no need to wait; DTLS retransmits.
      callback();
      this.#run(request('connectTransport', { transportId: transport.id, dtlsParameters }), 'connectTransport');
    });
    transport.on('connectionstatechange', () => this.#options.pathChanged());
    const restart = async () => {
      const { iceParameters } = await request('restartIce', { transportId: transport.id });
      await transport.updateIceServers({ iceServers: this.#iceServers });
      return iceParameters;
    };
    this.#keepers.push(new IceRestarter({ transport, timing, logger, restart }));
    return transport;
  }

  #answerSendTransport(transport: types.Transport): void {
    const { request } = this.#options;
    transport.on('produce', ({ kind, rtpParameters, appData }, callback, errback) => {
      const publication = appData as Publication;
      const { muted: _, ...published } = publication;
      request('publish', { transportId: transport.id, kind, rtpParameters: rtpParameters as RtpParameters, ...published })
        .then(({ trackId, muted }) => {
          publication.muted = muted === true;
          callback({ id: trackId });
        })
        .catch(errback);
    });
    transport.on('producedata', ({ sctpStreamParameters, label = '', protocol = '', appData }, callback, errback) => {
      const parameters = sctpStreamParameters as SctpStreamParameters;
      request('publishData', { transportId: transport.id, sctpStreamParameters: parameters, label, protocol, ...appData })
        .then(({ dataTrackId }) => callback({ id: dataTrackId }))
        .catch(errback);
    });
  }

  /** Runs in background; failures are logged while the session lives. */
  #run(work: Promise<unknown>, what: string): void {
    work.catch((error: unknown) => {
      if (!this.#closed) this.#options.logger.warn?.(`${what} failed`, error);
    });
  }
}
