// Fake media of components in a room: follows the contract of the interfaces and carries no media.
import { ServiceError } from '../../../api/errors.ts';
import type { Kind } from '../../../api/track.ts';
import type { ComponentMediaListener, EgressTrack, RtpEgress, RtpIngress } from '../../../node/rooms/interfaces.ts';

type FakeRoom = {
  readonly producers: Map<string, { kind: Kind; paused: boolean }>;
  readonly peers: Iterable<{ subscribed: Map<string, unknown> }>;
};

/** Tracks published through it carry no media. */
export class FakeRoomInput implements RtpIngress {
  readonly #room: FakeRoom;
  readonly #published = new Set<string>();
  readonly listener: ComponentMediaListener | undefined;
  readonly #done: () => void;
  #connected = false;
  #closed = false;

  constructor(room: FakeRoom, done: () => void, listener?: ComponentMediaListener) {
    this.#room = room;
    this.#done = done;
    this.listener = listener;
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
  readonly #room: FakeRoom;
  readonly listener: ComponentMediaListener | undefined;
  readonly #done: () => void;
  #connected = false;
  #closed = false;

  constructor(room: FakeRoom, done: () => void, listener?: ComponentMediaListener) {
    this.#room = room;
    this.#done = done;
    this.listener = listener;
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

export function fakeTrack(room: FakeRoom, trackId: string) {
  return { trackId, kind: room.producers.get(trackId)?.kind ?? 'audio', bitrate: 0, loss: null, roundTrip: null, jitter: null };
}

export function fakeStats(room: FakeRoom, trackId: string) {
  return { ...fakeTrack(room, trackId), encodings: [] };
}
