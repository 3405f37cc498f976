// Media of one peer: its published and received tracks.
import type { Consumer, Producer, ProducerStat, RtpCapabilities, WebRtcTransport } from 'mediasoup/types';
import { ServiceError } from '../../api/errors.ts';
import type { PeerMediaStats, PublishedTrackStats, ReceivedTrackStats, TransportStats } from '../../api/stats.ts';
import type { Log } from '../common/log.ts';
import type {
  Direction,
  FixedStream,
  FixedStreamOptions,
  Layers,
  PeerMedia,
  PeerMediaListener,
  PublishTrackOptions,
  ReceiverSections,
  Subscription,
  TransportUse,
  WireObject,
} from '../rooms/interfaces.ts';
import { describeTrack } from './codecs.ts';
import { PeerData } from './data/peer-data.ts';
import { hasDependencies, withDependencies } from './dependency-descriptor.ts';
import type { RoomLeg } from './legs/room-leg.ts';
import { producerIdOf, trackIdOf } from './legs/track-id.ts';
import { closeAfterTimeout, mediaClosedError, toClientError, toWorkerError, trackNotFoundError } from './media-error.ts';
import { checkInteger, checkRtpCapabilities, checkRtpParameters } from './parameters.ts';
import { PeerTransports } from './peer-transports.ts';
import { rawStats } from './raw-stats.ts';
import { consumeTrack, receivableId } from './receivers/consume-track.ts';
import { type Interest, maxLayer } from './receivers/demand.ts';
import { ContinuedStream } from './receivers/fixed-stream.ts';
import type { InitialLayerLimiter } from './receivers/initial-layers.ts';
import { ReceivedConsumers } from './receivers/received-consumers.ts';
import { consumeInSection } from './receivers/section.ts';
import { nameStream } from './receivers/stream-name.ts';
import { whenConnected } from './receivers/when-connected.ts';
import { SingleFlight } from './single-flight.ts';
import { linkStats, publishedTrackStats, receivedTrackStats } from './stats.ts';
import { stripUndefined } from './strip-undefined.ts';

export type MediaPeerOptions = {
  /** Log of the peer. */
  log: Log;
  peerId: string;
  listener: PeerMediaListener;
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  relayIp: string | undefined;
  /** True if the media worker can send in the numbers of a receiver. */
  receiverNumbers: boolean;
  onClosed: () => void;
};

/** The events of a producer and of a consumer have no common type. */
type TracedTrack = Pick<Producer, 'kind' | 'closed' | 'enableTraceEvent'> & { once(event: 'trace', report: () => void): unknown };
type Stats = Awaited<ReturnType<PeerMedia['stats']>>;

/** unpublish, unsubscribe and close ignore unknown ids; all other methods throw a ServiceError. */
export class MediaPeer implements PeerMedia {
  readonly #options: MediaPeerOptions;
  #leg: RoomLeg;
  #transports: PeerTransports;
  #data: PeerData;
  readonly #published = new SingleFlight<Producer>(trackNotFoundError);
  /** Ids of those that are another one in a further codec. */
  readonly #backups = new Set<string>();
  readonly #received = new ReceivedConsumers();
  readonly #interests = new WeakMap<Consumer, Interest>();
  /** Receivers that are paused although they are ready. */
  readonly #paused = new WeakSet<Consumer>();
  readonly #fixed = new Set<ContinuedStream>();
  readonly #limiters = new WeakMap<Consumer, InitialLayerLimiter>();
  /** Undefined if the receiver accepts what the node offers. */
  #sections: ReceiverSections | undefined;
  /** Caches validated capabilities: they stay the same object from join on. */
  readonly #capabilities = new WeakMap<WireObject, RtpCapabilities>();
  #closed = false;

  constructor(options: MediaPeerOptions, at: RoomLeg) {
    this.#options = options;
    this.#leg = at;
    this.#transports = new PeerTransports({ ...options, leg: at.leg });
    this.#data = new PeerData({ ...at, transports: this.#transports });
  }

  get data(): PeerData {
    return this.#data;
  }

  /** Its leg was lost, and with it its transports and tracks: new ones are created at another leg. */
  move(to: RoomLeg): void {
    if (this.#closed) return;
    this.#closeMedia();
    this.#leg = to;
    this.#transports = new PeerTransports({ ...this.#options, leg: to.leg });
    this.#data = new PeerData({ ...to, transports: this.#transports });
    this.#options.listener.lost?.();
  }

  async createTransport(use: TransportUse, options: { sctp: boolean }): Promise<WireObject> {
    this.#assertOpen();
    return this.#transports.create(use, options);
  }

  receiveIn(sections: ReceiverSections): void {
    this.#sections = sections;
  }

  async connectTransport(transportId: string, dtlsParameters: WireObject): Promise<void> {
    this.#assertOpen();
    await this.#transports.connect(transportId, dtlsParameters);
  }

  async restartIce(transportId: string): Promise<WireObject> {
    this.#assertOpen();
    return this.#transports.restartIce(transportId);
  }

  hasTransport(direction: Direction): boolean {
    return this.#transports.get(direction) !== undefined;
  }

  async publish(options: PublishTrackOptions): Promise<{ encoding: string; simulcast: boolean }> {
    this.#assertOpen();
    const { trackId, generation = 0 } = options;
    const transport = this.#transports.byId(options.transportId, 'send');
    if ((generation === 0 && this.#leg.tracks.has(trackId)) || this.#published.has(trackId))
      throw new ServiceError('already_exists', `Track ${trackId} already exists`);
    const producer = await this.#published.getOrMake(trackId, () => this.#produce(transport, options));
    return describeTrack(producer.rtpParameters);
  }

  unpublish(trackId: string): void {
    this.#published.close(trackId);
  }

  async setPaused(trackId: string, paused: boolean): Promise<void> {
    const producer = await this.#found(this.#published.get(trackId), trackId);
    await this.#call(trackId, paused ? 'pause' : 'resume', () => (paused ? producer.pause() : producer.resume()));
  }

  async subscribe(trackId: string, rtpCapabilities: WireObject, generation = 0): Promise<Subscription | undefined> {
    this.#assertOpen();
    const producer = this.#leg.tracks.get(trackId);
    if (!producer) throw trackNotFoundError(trackId);
    const transport = this.#transports.get('recv');
    if (!transport) throw new ServiceError('not_found', 'The peer has no receive transport');
    const capabilities = this.#checkedCapabilities(rtpCapabilities);
    const sentId = this.#received.has(trackId, generation) ? trackId : receivableId(this.#leg.tracks, trackId, capabilities);
    if (sentId === undefined) return undefined;
    const make = () => this.#consume(transport, { trackId, sentId, generation }, capabilities);
    const consumer = await this.#received.getOrMake(trackId, generation, make);
    const rtpParameters = hasDependencies(consumer) ? withDependencies(consumer.rtpParameters) : consumer.rtpParameters;
    return {
      transportId: transport.id,
      kind: consumer.kind,
      rtpParameters: stripUndefined(nameStream(rtpParameters, generation)),
      paused: producer.paused,
    };
  }

  /** mediasoup requests a key frame for a receiver that is resumed. */
  async setSubscriptionPaused(trackId: string, paused: boolean): Promise<void> {
    const consumer = await this.#found(this.#received.latest(trackId), trackId);
    this.#interests.get(consumer)?.pause(paused);
    if (paused) {
      this.#paused.add(consumer);
      await this.#call(trackId, 'pause', () => consumer.pause());
      return;
    }
    this.#paused.delete(consumer);
    const transport = this.#transports.get('recv');
    const resume = async () => {
      if (!this.#paused.has(consumer)) await this.#call(trackId, 'resume', () => consumer.resume());
    };
    await (transport ? whenConnected(transport, consumer, resume) : resume());
  }

  unsubscribe(trackId: string, which: 'all' | 'former' = 'all'): void {
    if (which === 'former') this.#received.closeFormer(trackId);
    else this.#received.close(trackId);
  }

  async setPreferredLayers(trackId: string, { spatialLayer, temporalLayer }: Layers): Promise<void> {
    checkInteger('spatialLayer', spatialLayer, 0, maxLayer);
    if (temporalLayer !== undefined) checkInteger('temporalLayer', temporalLayer, 0, maxLayer);
    const consumer = await this.#found(this.#received.latest(trackId), trackId);
    this.#interests.get(consumer)?.prefer(spatialLayer);
    const layers = { spatialLayer, temporalLayer };
    const limiter = this.#limiters.get(consumer);
    await (limiter ? limiter.prefer(layers) : this.#call(trackId, 'set layers', () => consumer.setPreferredLayers(layers)));
  }

  async openFixedStream(options: FixedStreamOptions): Promise<FixedStream> {
    this.#assertOpen();
    const { log, receiverNumbers } = this.#options;
    if (!receiverNumbers)
      throw new ServiceError('offer_rejected', 'The media worker of this node cannot send to players: it has missing patches');
    const transport = this.#transports.get('recv');
    if (!transport) throw new ServiceError('not_found', 'The peer has no receive transport');
    const { leg, tracks } = this.#leg;
    const stream = new ContinuedStream(options, { log, leg, tracks, transport });
    this.#fixed.add(stream);
    transport.observer.once('close', () => this.#fixed.delete(stream));
    return stream;
  }

  awaitsSuccessor(trackId: string): boolean {
    return [...this.#fixed].some((stream) => stream.awaitsSuccessor(trackId));
  }

  async setPriority(trackId: string, priority: number): Promise<void> {
    checkInteger('priority', priority, 1, 255);
    const consumer = await this.#found(this.#received.latest(trackId), trackId);
    await this.#call(trackId, 'set priority', () => consumer.setPriority(priority));
  }

  async stats(): Promise<Stats> {
    this.#assertOpen();
    const [published, subscribed, send, recv] = await Promise.all([
      this.#publishedStats(),
      this.#receivedStats(),
      this.#transportStats('send'),
      this.#transportStats('recv'),
    ]);
    const stripped = published.map(([producer, stats]): [string, WireObject[]] => [trackIdOf(producer), stats.map(stripUndefined)]);
    return { published: Object.fromEntries(stripped), subscribed, transports: { send, recv } };
  }

  async mediaStats(maxReceived: number): Promise<PeerMediaStats> {
    this.#assertOpen();
    const { worker } = this.#leg.leg;
    const made = this.#allReceived();
    const [sent, received] = await Promise.all([
      this.#publishedStats(),
      all(made.slice(0, maxReceived), async ([trackId, consumer]) => {
        const stats = await rawStats(worker, consumer);
        return stats && receivedTrackStats(trackId, consumer, stats);
      }),
    ]);
    const published = sent.map(([producer, stats]) => publishedTrackStats(producer, stats));
    const [up, down] = await Promise.all([this.#linkStats('send', published), this.#linkStats('recv', received)]);
    return { up, down, published, received, receivedOmitted: Math.max(0, made.length - maxReceived) };
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#closeMedia();
    this.#options.onClosed();
  }

  #closeMedia(): void {
    this.#data.closeMessages();
    // Closing the transports first ends all their tracks with one message each.
    this.#transports.close();
    this.#published.closeAll();
    this.#received.closeAll();
    this.#data.close();
  }

  #allReceived(): [string, Consumer][] {
    return [...this.#received.made(), ...[...this.#fixed].flatMap((stream) => stream.consumers.slice(0, 1))];
  }

  async #produce(transport: WebRtcTransport, options: PublishTrackOptions): Promise<Producer> {
    const { trackId, kind, rtpParameters, paused, backupOf, generation = 0 } = options;
    const { leg, tracks, audio } = this.#leg;
    const router = await leg.router();
    const extensions = new Set(router.rtpCapabilities.headerExtensions?.map(({ uri }) => uri));
    const checked = checkRtpParameters(rtpParameters, kind, extensions);
    // New subscribers need a key frame at once: no delay to merge requests.
    const id = producerIdOf(trackId, generation);
    const call = transport.produce({ id, kind, rtpParameters: checked, paused, keyFrameRequestDelay: 0, appData: { trackId } });
    const producer = await leg.worker.call('publish', call, closeAfterTimeout).catch((error: unknown) => {
      throw transport.closed ? mediaClosedError() : toClientError(error, 'rtpParameters were');
    });
    const needed = (layer: number | undefined) => {
      if (kind === 'video') this.#options.listener.layerNeeded?.(trackId, layer);
    };
    tracks.add(trackId, producer, { needed, backupOf });
    needed(undefined);
    if (backupOf !== undefined) this.#backups.add(trackId);
    producer.observer.once('close', () => {
      this.#backups.delete(trackId);
      this.#published.ended(trackId, producer);
    });
    if (kind === 'audio') void audio.add(router, producer, this.#options.peerId);
    this.#watchFirstFrame('send', producer);
    return producer;
  }

  /** `sentId`: of the track, or of the same in another codec. */
  async #consume(
    transport: WebRtcTransport,
    { trackId, sentId, generation }: { trackId: string; sentId: string; generation: number },
    rtpCapabilities: RtpCapabilities,
  ): Promise<Consumer> {
    const { leg, tracks } = this.#leg;
    const { listener } = this.#options;
    const toError = (error: unknown) => {
      if (transport.closed) return mediaClosedError();
      return tracks.has(trackId) ? toClientError(error, 'rtpCapabilities were') : trackNotFoundError(trackId);
    };
    const onClosed = (consumer: Consumer) => this.#received.ended(trackId, generation, consumer);
    const options = { rtpCapabilities, onClosed, toError };
    const receiver = { leg, tracks, transport };
    const sections = this.#sections;
    const consuming = sections ? consumeInSection(sections, sentId, receiver, options) : consumeTrack(sentId, receiver, options);
    const { consumer, limiter, interest } = await consuming;
    this.#interests.set(consumer, interest);
    if (limiter) this.#limiters.set(consumer, limiter);
    consumer.on('layerschange', (layers) => {
      const changed = layers ? { spatialLayer: layers.spatialLayer, temporalLayer: layers.temporalLayer } : null;
      listener.layersChanged(trackId, changed);
    });
    this.#watchFirstFrame('recv', consumer);
    return consumer;
  }

  /** The worker reports key frames, or packets of audio, until the first one. */
  #watchFirstFrame(direction: Direction, track: TracedTrack): void {
    const { listener } = this.#options;
    const { worker } = this.#leg.leg;
    if (!listener.firstFrame) return;
    const report = (types: ('keyframe' | 'rtp')[]) => {
      // Fails only if the track or the worker has ended, which is reported elsewhere.
      worker.call('trace', track.enableTraceEvent(types)).catch(() => {});
    };
    track.once('trace', () => {
      listener.firstFrame?.(direction, track.kind);
      if (!track.closed) report([]);
    });
    report([track.kind === 'video' ? 'keyframe' : 'rtp']);
  }

  #checkedCapabilities(rtpCapabilities: WireObject): RtpCapabilities {
    const known = this.#capabilities.get(rtpCapabilities);
    if (known) return known;
    const checked = checkRtpCapabilities(rtpCapabilities);
    this.#capabilities.set(rtpCapabilities, checked);
    return checked;
  }

  async #found<Value extends Producer | Consumer>(pending: Promise<Value> | undefined, trackId: string): Promise<Value> {
    this.#assertOpen();
    const found = await pending;
    if (!found) throw trackNotFoundError(trackId);
    return found;
  }

  async #call(trackId: string, what: string, call: () => Promise<void>): Promise<void> {
    await this.#leg.leg.worker.call(what, call()).catch((error: unknown) => {
      throw toWorkerError(error, () => trackNotFoundError(trackId));
    });
  }

  /** Of each track, in all its codecs. Omits tracks that end meanwhile. */
  async #publishedStats(): Promise<[Producer, ProducerStat[]][]> {
    const { tracks, leg } = this.#leg;
    const made = this.#published.made().filter(([trackId]) => !this.#backups.has(trackId));
    return all(made, async ([trackId, producer]) => {
      const stats = await all(tracks.codecsOf(trackId), ([, each]) => rawStats(leg.worker, each));
      return stats.length > 0 ? [producer, stats.flat()] : undefined;
    });
  }

  /** Omits tracks that end meanwhile. */
  async #receivedStats(): Promise<Record<string, WireObject[]>> {
    const stats = await all(this.#allReceived(), async ([trackId, consumer]): Promise<[string, WireObject[]] | undefined> => {
      const raw: object[] | undefined = await rawStats<object[]>(this.#leg.leg.worker, consumer);
      return raw && [trackId, raw.map(stripUndefined)];
    });
    return Object.fromEntries(stats);
  }

  async #transportStats(direction: Direction): Promise<WireObject | null> {
    const transport = this.#transports.get(direction);
    const [stats] = (transport && (await rawStats(this.#leg.leg.worker, transport))) ?? [];
    return stats ? stripUndefined(stats) : null;
  }

  async #linkStats(direction: Direction, tracks: readonly (PublishedTrackStats | ReceivedTrackStats)[]): Promise<TransportStats | null> {
    const transport = this.#transports.get(direction);
    const [stats] = (transport && (await rawStats(this.#leg.leg.worker, transport))) ?? [];
    return transport && stats ? linkStats(direction, transport, stats, tracks, this.#options.relayIp) : null;
  }

  #assertOpen(): void {
    if (this.#closed) throw mediaClosedError();
  }
}

/** The results of all items, without undefined ones. */
async function all<Item, Value>(items: readonly Item[], work: (item: Item) => Promise<Value | undefined>): Promise<Value[]> {
  return (await Promise.all(items.map(work))).filter((value) => value !== undefined);
}
