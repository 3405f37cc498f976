// Fake MediaEngine without media, for all other tests: follows the contract of the interface and lets a test crash a room.
import { ServiceError } from '../../../api/errors.ts';
import type { Kind } from '../../../api/track.ts';
import type {
  DataSubscription,
  Direction,
  EgressTrack,
  Layers,
  MediaEngine,
  PeerMedia,
  PeerMediaListener,
  PublishDataOptions,
  PublishTrackOptions,
  RoomMedia,
  RoomMediaOptions,
  RtpEgress,
  RtpIngress,
  Subscription,
} from '../../../node/rooms/interfaces.ts';

export class FakeMedia implements MediaEngine {
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

export class FakeRoomMedia implements RoomMedia {
  readonly peers = new Set<FakePeerMedia>();
  readonly inputs = new Set<FakeRoomInput>();
  readonly outputs = new Set<FakeRoomOutput>();
  readonly producers = new Map<string, { kind: Kind; paused: boolean }>();
  readonly dataProducers = new Map<string, PublishDataOptions>();
  readonly options: RoomMediaOptions;
  readonly #closed: () => void;

  constructor(options: RoomMediaOptions, closed: () => void) {
    this.options = options;
    this.#closed = closed;
  }

  async rtpCapabilities() {
    return { codecs: [{ mimeType: 'audio/opus' }], headerExtensions: [] };
  }

  openPeer(peerId: string, listener: PeerMediaListener): FakePeerMedia {
    const peer: FakePeerMedia = new FakePeerMedia(peerId, listener, this, () => this.peers.delete(peer));
    this.peers.add(peer);
    return peer;
  }

  openInput(): FakeRoomInput {
    const input: FakeRoomInput = new FakeRoomInput(this, () => this.inputs.delete(input));
    this.inputs.add(input);
    return input;
  }

  openOutput(): FakeRoomOutput {
    const output: FakeRoomOutput = new FakeRoomOutput(this, () => this.outputs.delete(output));
    this.outputs.add(output);
    return output;
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

/** Tracks published through it carry no media. */
export class FakeRoomInput implements RtpIngress {
  readonly #room: FakeRoomMedia;
  readonly #published = new Set<string>();
  readonly #done: () => void;
  #connected = false;
  #closed = false;

  constructor(room: FakeRoomMedia, done: () => void) {
    this.#room = room;
    this.#done = done;
  }

  async connect() {
    this.#alive();
    if (this.#connected) throw new ServiceError('conflict', 'This ingress is already connected');
    this.#connected = true;
    return { ip: '127.0.0.1', port: 9 };
  }

  async publish({ trackId, kind }: Parameters<RtpIngress['publish']>[0]) {
    this.#alive();
    if (!this.#connected) throw new ServiceError('conflict', 'This ingress is not connected');
    this.#published.add(trackId);
    this.#room.producers.set(trackId, { kind, paused: false });
    return { encoding: kind === 'audio' ? 'opus' : 'h264', simulcast: false };
  }

  unpublish(trackId: string) {
    this.#published.delete(trackId);
    this.#room.producers.delete(trackId);
    for (const peer of this.#room.peers) peer.subscribed.delete(trackId);
  }

  async setPaused(trackId: string, paused: boolean) {
    const producer = this.#room.producers.get(trackId);
    if (!producer) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    producer.paused = paused;
  }

  async trackStats() {
    this.#alive();
    return [...this.#published].map((trackId) => fakeStats(this.#room, trackId));
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    for (const trackId of [...this.#published]) this.unpublish(trackId);
    this.#done();
  }

  #alive(): void {
    if (this.#closed) throw new ServiceError('unavailable', 'The media of this room has ended');
  }
}

/** Subscribed tracks send no media over it. */
export class FakeRoomOutput implements RtpEgress {
  readonly subscribed = new Map<string, { paused: boolean }>();
  readonly #room: FakeRoomMedia;
  readonly #done: () => void;
  #connected = false;
  #closed = false;

  constructor(room: FakeRoomMedia, done: () => void) {
    this.#room = room;
    this.#done = done;
  }

  async connect() {
    this.#alive();
    if (this.#connected) throw new ServiceError('conflict', 'This egress is already connected');
    this.#connected = true;
    return { ip: '127.0.0.1', port: 9 };
  }

  async subscribe(trackId: string): Promise<EgressTrack> {
    this.#alive();
    if (!this.#connected) throw new ServiceError('conflict', 'This egress is not connected');
    const producer = this.#room.producers.get(trackId);
    if (!producer) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    this.subscribed.set(trackId, { paused: true });
    const audio = producer.kind === 'audio';
    return {
      kind: producer.kind,
      ssrc: this.subscribed.size,
      payloadType: 100,
      clockRate: audio ? 48_000 : 90_000,
      channels: audio ? 2 : 1,
    };
  }

  async resume(trackId: string) {
    this.#alive();
    const subscription = this.subscribed.get(trackId);
    if (!subscription) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    subscription.paused = false;
  }

  unsubscribe(trackId: string) {
    this.subscribed.delete(trackId);
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.subscribed.clear();
    this.#done();
  }

  #alive(): void {
    if (this.#closed) throw new ServiceError('unavailable', 'The media of this room has ended');
  }
}

export class FakePeerMedia implements PeerMedia {
  readonly peerId: string;
  readonly listener: PeerMediaListener;
  readonly subscribed = new Map<string, { paused: boolean; layers?: Layers; priority?: number }>();
  readonly #room: FakeRoomMedia;
  readonly #transports = new Map<string, Direction>();
  readonly #withSctp = new Set<string>();
  readonly #published = new Set<string>();
  readonly #publishedData = new Set<string>();
  readonly #done: () => void;
  /** Number of measurements. */
  measured = 0;
  #count = 0;
  #closed = false;

  constructor(peerId: string, listener: PeerMediaListener, room: FakeRoomMedia, done: () => void) {
    this.peerId = peerId;
    this.listener = listener;
    this.#room = room;
    this.#done = done;
  }

  async createTransport(direction: Direction, { sctp }: { sctp: boolean }) {
    this.#alive();
    for (const [id, known] of this.#transports) if (known === direction) this.#transports.delete(id);
    const id = `${this.peerId}-${direction}-${++this.#count}`;
    this.#transports.set(id, direction);
    if (sctp) this.#withSctp.add(id);
    return { id, iceParameters: {}, iceCandidates: [], dtlsParameters: {}, ...(sctp && { sctpParameters: {} }) };
  }

  async connectTransport(transportId: string) {
    this.#transport(transportId);
  }

  async restartIce(transportId: string) {
    this.#transport(transportId);
    return { usernameFragment: 'new', password: 'new' };
  }

  async publish(options: PublishTrackOptions) {
    if (this.#transport(options.transportId) !== 'send')
      throw new ServiceError('conflict', `Transport ${options.transportId} is not a send transport`);
    this.#published.add(options.trackId);
    this.#room.producers.set(options.trackId, { kind: options.kind, paused: options.paused });
    const encodings = options.rtpParameters.encodings;
    return { encoding: options.kind === 'audio' ? 'opus' : 'vp8', simulcast: Array.isArray(encodings) && encodings.length > 1 };
  }

  unpublish(trackId: string) {
    this.#published.delete(trackId);
    this.#room.producers.delete(trackId);
    for (const peer of this.#room.peers) peer.subscribed.delete(trackId);
  }

  async setPaused(trackId: string, paused: boolean) {
    const producer = this.#room.producers.get(trackId);
    if (!producer) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    producer.paused = paused;
  }

  async subscribe(trackId: string): Promise<Subscription | undefined> {
    this.#alive();
    const producer = this.#room.producers.get(trackId);
    if (!producer) throw new ServiceError('track_not_found', `Track ${trackId} does not exist`);
    const transportId = [...this.#transports].find(([, direction]) => direction === 'recv')?.[0];
    if (!transportId) throw new ServiceError('conflict', 'There is no transport of direction recv');
    this.subscribed.set(trackId, { paused: true });
    return { transportId, kind: producer.kind, rtpParameters: {}, paused: producer.paused };
  }

  async resumeSubscription(trackId: string) {
    this.#subscription(trackId).paused = false;
  }

  unsubscribe(trackId: string) {
    this.subscribed.delete(trackId);
  }

  async setPreferredLayers(trackId: string, layers: Layers) {
    this.#subscription(trackId).layers = layers;
  }

  async setPriority(trackId: string, priority: number) {
    this.#subscription(trackId).priority = priority;
  }

  async publishData(options: PublishDataOptions) {
    this.#transport(options.transportId);
    if (!this.#withSctp.has(options.transportId)) throw new ServiceError('conflict', `Transport ${options.transportId} has no SCTP`);
    this.#publishedData.add(options.dataTrackId);
    this.#room.dataProducers.set(options.dataTrackId, options);
  }

  unpublishData(dataTrackId: string) {
    this.#publishedData.delete(dataTrackId);
    this.#room.dataProducers.delete(dataTrackId);
  }

  async subscribeData(dataTrackId: string): Promise<DataSubscription> {
    const producer = this.#room.dataProducers.get(dataTrackId);
    const transportId = [...this.#transports].find(([, direction]) => direction === 'recv')?.[0];
    if (!producer || !transportId) throw new ServiceError('track_not_found', `Data track ${dataTrackId} does not exist`);
    return { transportId, sctpStreamParameters: { streamId: 1 }, label: producer.label, protocol: producer.protocol };
  }

  unsubscribeData() {}

  get receivesData() {
    return [...this.#transports].some(([id, direction]) => direction === 'recv' && this.#withSctp.has(id));
  }

  hasTransport(direction: Direction) {
    return [...this.#transports.values()].includes(direction);
  }

  async mediaStats(most: number) {
    this.#alive();
    this.measured += 1;
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

  close() {
    if (this.#closed) return;
    this.#closed = true;
    for (const trackId of [...this.#published]) this.unpublish(trackId);
    for (const dataTrackId of [...this.#publishedData]) this.unpublishData(dataTrackId);
    this.#transports.clear();
    this.subscribed.clear();
    this.#done();
  }

  #alive(): void {
    if (this.#closed) throw new ServiceError('unavailable', 'Media of this peer has ended');
  }

  #transport(transportId: string): Direction {
    this.#alive();
    const direction = this.#transports.get(transportId);
    if (!direction) throw new ServiceError('not_found', `Transport ${transportId} does not exist`);
    return direction;
  }

  #subscription(trackId: string): { paused: boolean; layers?: Layers; priority?: number } {
    const subscription = this.subscribed.get(trackId);
    if (!subscription) throw new ServiceError('track_not_found', `Track ${trackId} is not subscribed`);
    return subscription;
  }
}

function fakeTrack(room: FakeRoomMedia, trackId: string) {
  return { trackId, kind: room.producers.get(trackId)?.kind ?? 'audio', bitrate: 0, loss: null, roundTrip: null, jitter: null };
}

function fakeStats(room: FakeRoomMedia, trackId: string) {
  return { ...fakeTrack(room, trackId), encodings: [] };
}
