// Fake MediaEngine without media, for all other tests: follows the contract of the interface and lets a test crash a room.
import { ServiceError } from '../../../api/errors.ts';
import type { Kind } from '../../../api/track.ts';
import type {
  ComponentMediaListener,
  DataSubscription,
  Direction,
  FixedStream,
  FixedStreamOptions,
  Layers,
  MediaEngine,
  PeerDataMedia,
  PeerMedia,
  PeerMediaListener,
  PublishDataOptions,
  PublishTrackOptions,
  ReceiverSections,
  RoomMedia,
  RoomMediaOptions,
  Subscription,
  TransportUse,
} from '../../../node/rooms/interfaces.ts';
import { FakeRoomInput, FakeRoomOutput, fakeStats, fakeTrack } from './fake-component-media.ts';
import { FakeTransports } from './fake-transports.ts';

export class FakeMedia implements MediaEngine {
  readonly receiverNumbers = true;
  readonly rooms = new Map<string, FakeRoomMedia>();

  openRoom(options: RoomMediaOptions): RoomMedia {
    const room = new FakeRoomMedia(options, () => this.rooms.delete(options.roomId));
    this.rooms.set(options.roomId, room);
    return room;
  }

  load(): { forwardedTracks: number } {
    let forwardedTracks = 0;
    for (const room of this.rooms.values()) for (const peer of room.peers) forwardedTracks += peer.subscribed.size;
    return { forwardedTracks };
  }

  room(roomId: string): FakeRoomMedia {
    const room = this.rooms.get(roomId);
    if (!room) throw new Error(`no media of room ${roomId}`);
    return room;
  }
}

class FakeRoomMedia implements RoomMedia {
  readonly peers = new Set<FakePeerMedia>();
  readonly losses = new Map<string, () => void>();
  readonly inputs = new Set<FakeRoomInput>();
  readonly outputs = new Set<FakeRoomOutput>();
  readonly fixedStreams: { peerId: string; stream: FixedStream; options: FixedStreamOptions }[] = [];
  readonly producers = new Map<string, { kind: Kind; paused: boolean; backupOf?: string | undefined; by?: FakePeerMedia }>();
  /** True: receivers can decode tracks in their backup codec only. */
  decodesBackups = false;
  readonly dataProducers = new Map<string, PublishDataOptions>();
  readonly options: RoomMediaOptions;
  readonly #closed: () => void;
  readonly legs = () => [{ worker: 0, peers: this.peers.size, forwardedTracks: 0, pipedTracks: 0 }];

  constructor(options: RoomMediaOptions, closed: () => void) {
    this.options = options;
    this.#closed = closed;
  }

  async rtpCapabilities() {
    return { codecs: [{ mimeType: 'audio/opus' }], headerExtensions: [] };
  }

  decodes(trackId: string): boolean {
    return !this.decodesBackups || [...this.producers.values()].some(({ backupOf }) => backupOf === trackId);
  }

  openPeer(peerId: string, listener: PeerMediaListener): FakePeerMedia {
    const peer: FakePeerMedia = new FakePeerMedia(peerId, this, { listener, done: () => this.peers.delete(peer) });
    this.peers.add(peer);
    return peer;
  }

  openPath(peerId: string, listener: PeerMediaListener): FakePeerMedia {
    return this.openPeer(peerId, listener);
  }

  openInput(listener?: ComponentMediaListener): FakeRoomInput {
    const input: FakeRoomInput = new FakeRoomInput(this, () => this.inputs.delete(input), listener);
    this.inputs.add(input);
    return input;
  }

  openOutput(listener?: ComponentMediaListener): FakeRoomOutput {
    const output: FakeRoomOutput = new FakeRoomOutput(this, () => this.outputs.delete(output), listener);
    this.outputs.add(output);
    return output;
  }

  /** Transports and tracks of these peers end, as with a media worker of a room that has others. */
  lose(...peerIds: string[]): void {
    for (const peerId of peerIds) this.losses.get(peerId)?.();
  }

  crash(reason: string): void {
    this.options.onCrashed(reason);
  }

  close(): void {
    for (const peer of [...this.peers]) peer.close();
    for (const input of [...this.inputs]) input.close();
    for (const output of [...this.outputs]) output.close();
    this.#closed();
  }
}

class FakePeerMedia implements PeerMedia {
  readonly peerId: string;
  readonly subscribed = new Map<string, { paused: boolean; layers?: Layers; priority?: number }>();
  readonly data: FakePeerData;
  readonly #room: FakeRoomMedia;
  readonly #transports: FakeTransports;
  readonly #published = new Set<string>();
  readonly #done: () => void;
  #sections: ReceiverSections | undefined;
  readonly #releases = new Map<string, () => void>();

  constructor(peerId: string, room: FakeRoomMedia, { listener, done }: { listener: PeerMediaListener; done: () => void }) {
    this.peerId = peerId;
    this.#room = room;
    this.#done = done;
    room.losses.set(peerId, () => this.#lose(listener));
    this.#transports = new FakeTransports(peerId);
    this.data = new FakePeerData(room, this.#transports);
  }

  async createTransport(use: TransportUse, { sctp }: { sctp: boolean }) {
    const id = this.#transports.create(use, sctp);
    return { id, iceParameters: {}, iceCandidates: [], dtlsParameters: {}, ...(sctp && { sctpParameters: {} }) };
  }

  receiveIn(sections: ReceiverSections) {
    this.#sections = sections;
  }

  async connectTransport(transportId: string) {
    this.#transports.directions(transportId);
  }

  async restartIce(transportId: string) {
    this.#transports.directions(transportId);
    return { usernameFragment: 'new', password: 'new' };
  }

  async publish(options: PublishTrackOptions) {
    if (!this.#transports.directions(options.transportId).includes('send'))
      throw new ServiceError('conflict', `Transport ${options.transportId} is not a send transport`);
    this.#published.add(options.trackId);
    const { kind, paused, backupOf } = options;
    this.#room.producers.set(options.trackId, { kind, paused, backupOf, by: this });
    const encodings = options.rtpParameters.encodings;
    return { encoding: options.kind === 'audio' ? 'opus' : 'vp8', simulcast: Array.isArray(encodings) && encodings.length > 1 };
  }

  unpublish(trackId: string) {
    this.#published.delete(trackId);
    // Another path of the peer publishes it.
    if (this.#room.producers.get(trackId)?.by !== this) return;
    this.#room.producers.delete(trackId);
    for (const peer of this.#room.peers) peer.unsubscribe(trackId);
  }

  async setPaused(trackId: string, paused: boolean) {
    const producer = this.#room.producers.get(trackId);
    if (!producer) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    producer.paused = paused;
  }

  async subscribe(trackId: string): Promise<Subscription | undefined> {
    this.#transports.assertOpen();
    const producer = this.#room.producers.get(trackId);
    if (!producer) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    const transportId = this.#transports.id('recv');
    if (!transportId) throw new ServiceError('conflict', 'There is no transport of direction recv');
    if (!this.#room.decodes(trackId)) return undefined;
    const section = await this.#sections?.take(producer.kind);
    if (section) this.#releases.set(trackId, section.release);
    this.subscribed.set(trackId, { paused: true });
    const rtpParameters = section ? { mid: section.stream.mid } : {};
    return { transportId, kind: producer.kind, rtpParameters, paused: producer.paused };
  }

  async setSubscriptionPaused(trackId: string, paused: boolean) {
    this.#subscription(trackId).paused = paused;
  }

  unsubscribe(trackId: string, which?: 'all' | 'former') {
    if (which === 'former') return;
    this.subscribed.delete(trackId);
    this.#releases.get(trackId)?.();
    this.#releases.delete(trackId);
  }

  async setPreferredLayers(trackId: string, layers: Layers) {
    this.#subscription(trackId).layers = layers;
  }

  async setPriority(trackId: string, priority: number) {
    this.#subscription(trackId).priority = priority;
  }

  async openFixedStream(options: FixedStreamOptions): Promise<FixedStream> {
    if (!this.#transports.id('recv')) throw new ServiceError('not_found', 'The peer has no receive transport');
    const room = this.#room;
    const { producers } = room;
    const stream = {
      shown: undefined as string | undefined,
      supports: (trackId: string) => producers.get(trackId)?.kind === options.kind && room.decodes(trackId),
      get trackId(): string | undefined {
        return this.shown !== undefined && producers.has(this.shown) ? this.shown : undefined;
      },
      show(trackId: string | undefined) {
        this.shown = trackId;
      },
    };
    this.#room.fixedStreams.push({ peerId: this.peerId, stream, options });
    return stream;
  }

  hasTransport(direction: Direction) {
    return this.#transports.id(direction) !== undefined;
  }

  async mediaStats(most: number) {
    this.#transports.assertOpen();
    const received = [...this.subscribed.keys()];
    return {
      up: null,
      down: null,
      published: [...this.#published].map((trackId) => fakeStats(this.#room, trackId)),
      received: received.slice(0, most).map((trackId) => ({ ...fakeTrack(this.#room, trackId), layers: null })),
      receivedOmitted: Math.max(0, received.length - most),
    };
  }

  async stats() {
    return { published: {}, subscribed: {}, transports: { send: null, recv: null } };
  }

  #lose(listener: PeerMediaListener) {
    for (const trackId of [...this.#published]) this.unpublish(trackId);
    this.data.close();
    this.#transports.lose();
    this.subscribed.clear();
    listener.lost?.();
  }

  close() {
    if (this.#transports.closed) return;
    for (const trackId of [...this.#published]) this.unpublish(trackId);
    this.data.close();
    this.#transports.close();
    this.subscribed.clear();
    this.#done();
  }

  #subscription(trackId: string): { paused: boolean; layers?: Layers; priority?: number } {
    const subscription = this.subscribed.get(trackId);
    if (!subscription) throw new ServiceError('track_not_found', `Track ${trackId} is not subscribed`);
    return subscription;
  }
}

class FakePeerData implements PeerDataMedia {
  readonly subscribed = new Map<string, { paused: boolean; sent: number }>();
  readonly #room: FakeRoomMedia;
  readonly #transports: FakeTransports;
  readonly #published = new Set<string>();

  constructor(room: FakeRoomMedia, transports: FakeTransports) {
    this.#room = room;
    this.#transports = transports;
  }

  async openMessageChannels() {
    this.#transports.assertOpen();
    return { send: () => false };
  }

  get canReceive() {
    const transportId = this.#transports.id('recv');
    return transportId !== undefined && this.#transports.withSctp.has(transportId);
  }

  async publish(options: PublishDataOptions) {
    const { transportId, dataTrackId } = options;
    this.#transports.directions(transportId);
    if (!this.#transports.withSctp.has(transportId)) throw new ServiceError('conflict', `Transport ${transportId} has no SCTP`);
    this.#published.add(dataTrackId);
    this.#room.dataProducers.set(dataTrackId, options);
    return { reliable: options.sctpStreamParameters.maxRetransmits === undefined };
  }

  unpublish(dataTrackId: string) {
    this.#published.delete(dataTrackId);
    this.#room.dataProducers.delete(dataTrackId);
  }

  async subscribe(dataTrackId: string, { paused } = { paused: false }): Promise<DataSubscription> {
    const producer = this.#room.dataProducers.get(dataTrackId);
    const transportId = this.#transports.id('recv');
    if (!producer || !transportId) throw new ServiceError('track_not_found', `Data track ${dataTrackId} does not exist`);
    this.subscribed.set(dataTrackId, { paused, sent: 0 });
    return { transportId, sctpStreamParameters: { streamId: 1 }, label: producer.label, protocol: producer.protocol };
  }

  async arrived() {}

  async setPaused(dataTrackId: string, paused: boolean) {
    this.#received(dataTrackId).paused = paused;
  }

  async sent(dataTrackId: string) {
    return this.#received(dataTrackId).sent;
  }

  unsubscribe(dataTrackId: string) {
    this.subscribed.delete(dataTrackId);
  }

  #received(dataTrackId: string): { paused: boolean; sent: number } {
    const received = this.subscribed.get(dataTrackId);
    if (!received) throw new ServiceError('track_not_found', `Data track ${dataTrackId} does not exist`);
    return received;
  }

  close() {
    this.subscribed.clear();
    for (const dataTrackId of [...this.#published]) this.unpublish(dataTrackId);
  }
}
