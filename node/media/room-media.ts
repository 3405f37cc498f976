// The media of one room: a router on one worker, made when it is first needed.
import type { DataProducer, Producer, Router } from 'mediasoup/types';
import type { Log } from '../log.ts';
import type { PeerMedia, PeerMediaListener, RoomInput, RoomMedia, RoomMediaOptions, RoomOutput, WireObject } from '../rooms/ports.ts';
import { clientCapabilities, roomCodecs } from './codecs.ts';
import { failedFor, mediaGone } from './media-error.ts';
import { MediaPeer } from './peer-media.ts';
import { RoomAudio } from './room-audio.ts';
import { MediaInput } from './room-input.ts';
import { MediaOutput } from './room-output.ts';
import type { Place } from './worker-slot.ts';

export type MediaRoomOptions = RoomMediaOptions & {
  log: Log;
  place: Place;
  /** Addresses that clients are told. @throws ServiceError where none is known yet */
  addresses: () => readonly string[];
  maxIncomingBitrate: () => number | undefined;
  relayIp: string | undefined;
  onClosed: () => void;
};

export class MediaRoom implements RoomMedia {
  readonly #options: MediaRoomOptions;
  readonly #audio: RoomAudio;
  readonly #peers = new Set<MediaPeer>();
  readonly #inputs = new Set<MediaInput>();
  readonly #outputs = new Set<MediaOutput>();
  readonly #tracks = new Map<string, Producer>();
  readonly #dataTracks = new Map<string, DataProducer>();
  #router: Promise<Router> | undefined;
  #opened: Router | undefined;
  #closed = false;

  constructor(options: MediaRoomOptions) {
    this.#options = options;
    this.#audio = new RoomAudio(options.place.worker, options.log, (peerId) => {
      if (!this.#closed) options.onActiveSpeaker(peerId);
    });
  }

  async rtpCapabilities(): Promise<WireObject> {
    const router = await this.#getRouter();
    return clientCapabilities(router.rtpCapabilities);
  }

  openPeer(peerId: string, listener: PeerMediaListener): PeerMedia {
    if (this.#closed) throw mediaGone();
    const { log, place, addresses, maxIncomingBitrate, relayIp } = this.#options;
    const peer: MediaPeer = new MediaPeer({
      log: log.child({ peer: peerId }),
      worker: place.worker,
      listener,
      tracks: this.#tracks,
      dataTracks: this.#dataTracks,
      router: () => this.#getRouter(),
      addresses,
      maxIncomingBitrate,
      relayIp,
      countForwarded: place.countForwarded,
      onAudio: (router, producer) => void this.#audio.add(router, producer, peerId),
      onClosed: () => this.#peers.delete(peer),
    });
    this.#peers.add(peer);
    return peer;
  }

  openInput(): RoomInput {
    if (this.#closed) throw mediaGone();
    const input: MediaInput = new MediaInput({
      worker: this.#options.place.worker,
      tracks: this.#tracks,
      router: () => this.#getRouter(),
      onClosed: () => this.#inputs.delete(input),
    });
    this.#inputs.add(input);
    return input;
  }

  openOutput(): RoomOutput {
    if (this.#closed) throw mediaGone();
    const { place } = this.#options;
    const output: MediaOutput = new MediaOutput({
      worker: place.worker,
      tracks: this.#tracks,
      router: () => this.#getRouter(),
      countForwarded: place.countForwarded,
      onClosed: () => this.#outputs.delete(output),
    });
    this.#outputs.add(output);
    return output;
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#audio.close();
    // First the router: that ends all that peers have in one message. One that is still being made closes itself.
    if (this.#opened) this.#options.place.worker.closeRouter(this.#opened);
    for (const peer of [...this.#peers]) peer.close();
    for (const input of [...this.#inputs]) input.close();
    for (const output of [...this.#outputs]) output.close();
    this.#options.place.leave();
    this.#options.onClosed();
  }

  /** Of its router, also of one that is gone; undefined where there was none. */
  get routerId(): string | undefined {
    return this.#opened?.id;
  }

  /** The worker died. */
  crash(reason: string): void {
    if (this.#closed) return;
    this.close();
    this.#options.onCrashed(reason);
  }

  #getRouter(): Promise<Router> {
    if (this.#closed) return Promise.reject(mediaGone());
    if (!this.#router) {
      const router = this.#createRouter();
      // A next call may have more luck.
      router.catch(() => {
        this.#router = undefined;
      });
      this.#router = router;
    }
    return this.#router;
  }

  async #createRouter(): Promise<Router> {
    const { place, videoCodec } = this.#options;
    const router = await place.worker.createRouter(roomCodecs(videoCodec)).catch((error: unknown) => {
      throw failedFor(error, mediaGone);
    });
    if (this.#closed) {
      router.close();
      throw mediaGone();
    }
    this.#opened = router;
    return router;
  }
}
